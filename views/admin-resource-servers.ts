import { type SecretView, secretNotice, secretSection, stopSection } from './admin-secrets.ts'
import {
  type AreaView,
  areaConfirmPage,
  areaPage,
  type Pager,
  pager,
  resultNotice,
} from './area.ts'
import { foreignName } from './client-view.ts'
import { csrfField, problemAlert } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './time.ts'

export interface ResourceServersPage {
  readonly area: AreaView
  readonly siteName: string
  readonly resourceServers: readonly {
    readonly name: string
    readonly clientId: string
    readonly disabled: boolean
    readonly href: string
  }[]
  readonly action: string
  /** The name as entered, if it was rejected; otherwise empty. */
  readonly typed: string
  readonly problem: string | undefined
  readonly pager: Pager
  readonly done: string | undefined
}

/** Lists the resource servers of a site, with the form that registers one. */
export function resourceServersPage(page: ResourceServersPage): Page {
  const { area, resourceServers, problem } = page
  return areaPage({
    title: 'Resource servers',
    id: 'resource-servers-page',
    area,
    body: html`<h1>Resource servers</h1>
${resultNotice(page.done)}
<p>An API or a proxy of yours to which applications send your members’ access tokens. It asks this service what a token
is good for, and is told of those that are for <bdi>${page.siteName}</bdi>, of no other.</p>
${resourceServers.length === 0 && html`<p id="no-resource-servers">There is no resource server yet.</p>`}
<ul class="cards">
${resourceServers.map(
  ({ name, clientId, disabled, href }) => html`<li class="card">
<a href="${href}">${foreignName(name)}</a>${disabled && html` <span class="tag">disabled</span>`}<br>
<span class="muted">client_id</span> <code>${clientId}</code>
</li>
`,
)}</ul>
${pager(page.pager)}
<h2>Register one</h2>
${problemAlert('name-problem', problem)}
<form method="post" action="${page.action}">
${csrfField(area.csrf)}
<label for="name">Name</label>
<p class="hint" id="name-hint">For yourself: it is in this list and in the audit trail. Members do not see it.</p>
<input id="name" name="name" type="text" maxlength="80" autocomplete="off" required value="${page.typed}" aria-describedby="name-hint${problem !== undefined && ' name-problem'}"${problem !== undefined && html` aria-invalid="true"`}>
<div class="actions"><button id="register" type="submit">Register</button></div>
</form>`,
  })
}

export interface ResourceServerPage {
  readonly area: AreaView
  readonly siteName: string
  readonly resourceServer: {
    readonly clientId: string
    readonly name: string
    readonly createdAt: number
    readonly createdBy: string | undefined
    readonly disabledAt: number | undefined
  }
  readonly secrets: readonly SecretView[]
  /** Whether another secret can be created: at most two are valid at a time. */
  readonly mayAddSecret: boolean
  /** A secret that was just created. It is shown only once. */
  readonly newSecret: string | undefined
  readonly settings: {
    readonly introspection: string
    readonly forwardAuth: string
    readonly issuer: string
    readonly audience: string
  }
  readonly hrefs: {
    readonly refusals: string
    readonly addSecret: string
    readonly remove: string
    readonly disable: string
    readonly enable: string
  }
  readonly done: string | undefined
}

/** Shows a resource server: its settings, its secrets, and links to disable or delete it. */
export function resourceServerPage(page: ResourceServerPage): Page {
  const { area, resourceServer, newSecret, hrefs } = page
  const { name, disabledAt } = resourceServer
  return areaPage({
    title: name,
    id: 'resource-server-page',
    area,
    body: html`<h1><bdi>${name}</bdi>${disabledAt !== undefined && html` <span class="tag">disabled</span>`}</h1>
${resultNotice(page.done)}
${newSecret !== undefined && secretNotice(newSecret)}
${settings(page)}
${secretSection({ ...page, csrf: area.csrf, action: hrefs.addSecret })}
<h2>Use</h2>
<ul class="links">
<li><a id="refusals" href="${hrefs.refusals}">Refusals</a> <span class="muted">what was refused last, and why</span></li>
</ul>
${stopSection({ ...hrefs, disabledAt, csrf: area.csrf })}`,
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

export interface ResourceServerConfirmPage {
  readonly area: AreaView
  readonly name: string
  readonly action: string
  readonly cancelHref: string
}

export function disableResourceServerPage({ name, ...page }: ResourceServerConfirmPage): Page {
  return areaConfirmPage({
    ...page,
    title: 'Disable this resource server?',
    id: 'disable-page',
    question: html`Disable <bdi>${name}</bdi>?`,
    consequences: html`<p>It is told of no token any more from now on, so that what it protects is closed to everybody.
Tokens are not touched, and its secrets work again when you enable it.</p>`,
    confirm: 'Disable',
  })
}

export function deleteResourceServerPage({ name, ...page }: ResourceServerConfirmPage): Page {
  return areaConfirmPage({
    ...page,
    title: 'Delete this resource server?',
    id: 'delete-page',
    question: html`Delete <bdi>${name}</bdi>?`,
    consequences: html`<p>It is told of no token any more, so that what it protects is closed to everybody, and its
<code>client_id</code> is never used again. This cannot be taken back; to stop it for a while, disable it.</p>`,
    confirm: 'Delete for good',
  })
}
