import { type AreaPage, cards, type ListView } from './area.ts'
import { avatar } from './avatar.ts'
import { type ClientView, foreignName, kindSentence } from './client-view.ts'
import { type GrantView, grantFacts } from './grant-view.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { logoOf } from './icon.ts'
import { text } from './text.ts'

export interface ConnectedAppView extends GrantView {
  readonly name: string
  readonly kind: ClientView['kind']
  /** The id of the assistant for which an operator created the application. */
  readonly assistant: string | null
  /** The site to which the access is limited. */
  readonly siteName: HtmlValue
  readonly removeHref: string
}

export interface ConnectedAppsPage extends ListView {
  readonly apps: readonly ConnectedAppView[]
  readonly connectHref: string
}

/** Lists the apps that a person connected, with links to disconnect them. */
export function connectedAppsPage(page: ConnectedAppsPage): AreaPage {
  const none = html`<div class="empty" id="no-apps"><p>${text('apps.none')}</p>
<a class="button second" href="${page.connectHref}">${text('account.connect')}</a></div>`
  return {
    title: text('account.apps'),
    id: 'apps-page',
    body: html`<p>${text('apps.intro')}</p>
${cards(page.apps.map(app), none, page.pager)}`,
  }
}

function app(view: ConnectedAppView): Html {
  const { name, kind, assistant, siteName, removeHref } = view
  return html`<h2 class="named">${avatar(name, logoOf(assistant))}<span>${foreignName(name)}</span></h2>
<p class="muted">${kindSentence({ kind, siteName })}</p>
<dl class="facts">
${siteName !== undefined && html`<div><dt>${text('word.site')}</dt><dd><bdi>${siteName}</bdi></dd></div>`}
${grantFacts(view)}
</dl>
<p><a class="button second" href="${removeHref}">${text('word.disconnect')} <span class="hidden"><bdi>${name}</bdi></span></a></p>`
}
