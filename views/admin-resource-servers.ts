import { createdBy, disabledTag, type SharedView, sharedPage } from './admin-secrets.ts'
import { type AreaPage, cards, type ListView } from './area.ts'
import { foreignName } from './client-view.ts'
import { inputField, postForm, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { inCode, text } from './text.ts'

export interface ResourceServersPage extends ListView {
  readonly resourceServers: readonly (Readonly<Record<'name' | 'clientId' | 'href', string>> & {
    readonly disabled: boolean
  })[]
  /** The name as entered, if it was rejected; otherwise empty. */
  readonly typed: string
  readonly problem: HtmlValue
}

/** Lists the resource servers of a site, with the form that registers one. */
export function resourceServersPage(page: ResourceServersPage): AreaPage {
  const { problem } = page
  const resourceServers = page.resourceServers.map(
    (
      server,
    ) => html`<a href="${server.href}">${foreignName(server.name)}</a>${server.disabled && disabledTag}<br>
<code class="muted">client_id</code> <code>${server.clientId}</code>`,
  )
  const none = html`<p class="empty" id="no-resource-servers">${text('resourceServers.none')}</p>`
  const attributes = html` type="text" maxlength="80" autocomplete="off" required value="${page.typed}"`
  const fields = html`${inputField({ id: 'name', label: text('word.name'), problem, attributes })}
${submitButton('register', text('resourceServers.register'))}`
  return {
    title: text('adminNav.resourceServers'),
    id: 'resource-servers-page',
    body: html`<p>${text('resourceServers.intro')}</p>
${cards(resourceServers, none, page.pager)}
<h2>${text('resourceServers.add')}</h2>
${postForm({}, fields)}`,
  }
}

export interface ResourceServerPage extends SharedView {
  readonly siteName: string
  readonly introspection: string
  readonly forwardAuth: string
  /** The issuer, which is also the audience. */
  readonly issuer: string
}

/** Shows a resource server: its settings, its secrets, and links to disable or delete it. */
export function resourceServerPage(page: ResourceServerPage): AreaPage {
  return sharedPage(page, { id: 'resource-server-page', settings: serverSettings(page) })
}

function serverSettings({ app, issuer, siteName, ...page }: ResourceServerPage): Html {
  const claim = (name: string) => text('resourceServers.everyToken', { claim: inCode(name) })
  return html`<h2>${text('applications.settings')}</h2>
<dl class="facts" id="settings">
<div><dt><code>client_id</code></dt><dd><code id="client-id">${app.clientId}</code></dd></div>
<div><dt>${text('resourceServers.introspection')}</dt><dd><code>${page.introspection}</code> <span class="muted">${text('resourceServers.byPost')}</span></dd></div>
<div><dt>${text('resourceServers.forwardAuth')}</dt><dd><code>${page.forwardAuth}</code> <span class="muted">${text('resourceServers.byHeader')}</span></dd></div>
<div><dt>${text('identities.issuer')}</dt><dd><code>${issuer}</code></dd></div>
<div><dt>${claim('aud')}</dt><dd><code>${issuer}</code> <span class="muted">${text('resourceServers.audience')}</span></dd></div>
<div><dt>${claim('org_id')}</dt><dd>${text('resourceServers.orgId', { site: html`<bdi>${siteName}</bdi>` })}</dd></div>
<div><dt>${text('resourceServers.registered')}</dt><dd>${createdBy(app)}</dd></div>
</dl>`
}
