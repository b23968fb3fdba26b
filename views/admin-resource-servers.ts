import {
  type ClientFacts,
  disabledTag,
  type ListedClient,
  type SharedView,
  sharedPage,
} from './admin-secrets.ts'
import { areaPage, cards, type ListView } from './area.ts'
import { foreignName } from './client-view.ts'
import { postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './text.ts'

export interface ResourceServersPage extends ListView {
  readonly siteName: string
  readonly resourceServers: readonly ListedClient[]
  readonly action: string
  /** The name as entered, if it was rejected; otherwise empty. */
  readonly typed: string
  readonly problem: HtmlValue
}

/** Lists the resource servers of a site, with the form that registers one. */
export function resourceServersPage(page: ResourceServersPage): Page {
  const { area, problem, action } = page
  const resourceServers = page.resourceServers.map(
    ({
      name,
      clientId,
      disabled,
      href,
    }) => html`<a href="${href}">${foreignName(name)}</a>${disabled && disabledTag}<br>
<span class="muted">client_id</span> <code>${clientId}</code>`,
  )
  const none = html`<p class="empty" id="no-resource-servers">There is no resource server yet.</p>`
  const described = html`aria-describedby="name-hint${problem !== undefined && ' name-problem'}"${problem !== undefined && html` aria-invalid="true"`}`
  const fields = html`<label for="name">Name</label>
<p class="hint" id="name-hint">Members do not see it.</p>
<input id="name" name="name" type="text" maxlength="80" autocomplete="off" required value="${page.typed}" ${described}>
${submitButton('register', 'Register')}`
  return areaPage({
    language: 'en',
    ...page,
    title: 'Resource servers',
    id: 'resource-servers-page',
    body: html`<p>Your own API or proxy that accepts access tokens. It asks this service whether a token for <bdi>${page.siteName}</bdi> is
valid.</p>
${cards(resourceServers, none, page.pager)}
<h2>Register one</h2>
${problemAlert('name-problem', problem)}
${postForm({ action, csrf: area.csrf }, fields)}`,
  })
}

export interface ResourceServerPage extends SharedView {
  readonly siteName: string
  readonly resourceServer: ClientFacts
  readonly settings: Readonly<
    Record<'introspection' | 'forwardAuth' | 'issuer' | 'audience', string>
  >
}

/** Shows a resource server: its settings, its secrets, and links to disable or delete it. */
export function resourceServerPage(page: ResourceServerPage): Page {
  const id = 'resource-server-page'
  return sharedPage(page, {
    id,
    settings: settings(page),
    hasSecrets: true,
  })
}

function settings({ resourceServer, settings: of, siteName }: ResourceServerPage): Html {
  const { clientId, createdAt, createdBy } = resourceServer
  return html`<h2>Settings</h2>
<dl class="facts" id="settings">
<div><dt>client_id</dt><dd><code id="client-id">${clientId}</code></dd></div>
<div><dt>Introspection</dt><dd><code>${of.introspection}</code> <span class="muted">by POST, with <code>client_id</code> and <code>client_secret</code> in the form or as HTTP Basic</span></dd></div>
<div><dt>Forward auth of a proxy</dt><dd><code>${of.forwardAuth}</code> <span class="muted">with the same as HTTP Basic, in <code>X-Forward-Auth-Client</code></span></dd></div>
<div><dt>Issuer</dt><dd><code>${of.issuer}</code></dd></div>
<div><dt>aud of every token</dt><dd><code>${of.audience}</code> <span class="muted">the <code>resource</code> that applications send</span></dd></div>
<div><dt>org_id of every token</dt><dd>that of <bdi>${siteName}</bdi>, told with the scope <code>profile</code></dd></div>
<div><dt>Registered</dt><dd>${timeOf(createdAt)}${createdBy !== undefined && html` by <bdi>${createdBy}</bdi>`}</dd></div>
</dl>`
}
