import { areaConfirmPage, areaPage, type Confirmation, cards, type ListView } from './area.ts'
import { type ClientView, foreignName, kindSentence } from './client-view.ts'
import { type GrantView, grantFacts } from './grant-view.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'

export interface ConnectedAppView extends GrantView {
  readonly name: string
  readonly kind: ClientView['kind']
  /** The site to which the access is limited. */
  readonly siteName: string | undefined
  readonly removeHref: string
}

export interface ConnectedAppsPage extends ListView {
  readonly apps: readonly ConnectedAppView[]
}

/** Lists the apps that a person connected, with links to remove them. */
export function connectedAppsPage(page: ConnectedAppsPage): Page {
  const none = html`<p id="no-apps">No application is connected.</p>`
  return areaPage({
    ...page,
    title: 'Connected apps',
    id: 'apps-page',
    body: html`<p>These applications may use your account. None of them knows your password.</p>
${cards(page.apps.map(app), none, page.pager)}`,
  })
}

function app(view: ConnectedAppView): Html {
  const { name, kind, siteName, removeHref } = view
  return html`<h2>${foreignName(name)}</h2>
<p class="muted">${kindSentence({ name, kind, host: '', siteName })}</p>
<dl class="facts">
${siteName !== undefined && html`<div><dt>Site</dt><dd><bdi>${siteName}</bdi></dd></div>`}
${grantFacts(view)}
</dl>
<p><a class="button second" href="${removeHref}">Remove <span class="hidden"><bdi>${name}</bdi></span></a></p>`
}

export interface RemoveAppPage extends Confirmation {
  readonly name: string
  readonly siteName: string | undefined
}

export function removeAppPage({ name, siteName, ...page }: RemoveAppPage): Page {
  return areaConfirmPage({
    ...page,
    title: 'Remove this application?',
    id: 'remove-app-page',
    heading: html`Remove <bdi>${name}</bdi>?`,
    consequences: html`<p>${foreignName(name)} loses its access to your account${
      siteName !== undefined && html` at <bdi>${siteName}</bdi>`
    } at once. What it saved elsewhere stays there. To use it again, you connect it again.</p>`,
    confirm: 'Remove access',
  })
}
