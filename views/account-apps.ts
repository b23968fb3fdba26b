import {
  type AreaView,
  areaConfirmPage,
  areaPage,
  type Pager,
  pager,
  resultNotice,
} from './area.ts'
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

export interface ConnectedAppsPage {
  readonly area: AreaView
  readonly apps: readonly ConnectedAppView[]
  readonly pager: Pager
  readonly done: string | undefined
}

/** Lists the apps that a person connected, with links to remove them. */
export function connectedAppsPage({ area, apps, pager: paging, done }: ConnectedAppsPage): Page {
  return areaPage({
    title: 'Connected apps',
    id: 'apps-page',
    area,
    body: html`<h1>Connected apps</h1>
${resultNotice(done)}
<p>These applications may use your account. None of them knows your password.</p>
${apps.length === 0 && html`<p id="no-apps">No application is connected.</p>`}
<ul class="cards">
${apps.map(app)}</ul>
${pager(paging)}`,
  })
}

function app(view: ConnectedAppView): Html {
  const { name, kind, siteName, removeHref } = view
  return html`<li class="card">
<h2>${foreignName(name)}</h2>
<p class="muted">${kindSentence({ name, kind, host: '', siteName })}</p>
<dl class="facts">
${siteName !== undefined && html`<div><dt>Site</dt><dd><bdi>${siteName}</bdi></dd></div>`}
${grantFacts(view)}
</dl>
<p><a class="button second" href="${removeHref}">Remove <span class="hidden"><bdi>${name}</bdi></span></a></p>
</li>
`
}

export interface RemoveAppPage {
  readonly area: AreaView
  readonly name: string
  readonly siteName: string | undefined
  readonly action: string
  readonly hidden: readonly { readonly name: string; readonly value: string }[]
  readonly cancelHref: string
}

export function removeAppPage({ name, siteName, ...page }: RemoveAppPage): Page {
  return areaConfirmPage({
    ...page,
    title: 'Remove this application?',
    id: 'remove-app-page',
    question: html`Remove <bdi>${name}</bdi>?`,
    consequences: html`<p>${foreignName(name)} loses its access to your account${
      siteName !== undefined && html` at <bdi>${siteName}</bdi>`
    } at once. What it saved elsewhere stays there. To use it again, you connect it again.</p>`,
    confirm: 'Remove access',
  })
}
