import {
  type ClientFacts,
  type ClientFrame,
  clientPage,
  disabledTag,
  type SharedView,
  sharedPage,
} from './admin-secrets.ts'
import { areaPage, type ListView, plainList } from './area.ts'
import { avatar } from './avatar.ts'
import { type ConnectStepsView, connectSteps } from './connect-steps.ts'
import { searchForm } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { type Column, table } from './table.ts'
import { text, timeOf } from './text.ts'

export interface ApplicationsPage extends ListView {
  readonly siteName: string
  /** The text by which the list is filtered; empty for all. */
  readonly search: string
  readonly applications: readonly ListedApplication[]
  readonly action: string
  readonly newHref: string
  /** The form for an application that acts for an owner; undefined for admins, who may not create one. */
  readonly newOperatorHref: string | undefined
  readonly assistantsHref: string
  readonly resourceServersHref: string
}

interface ListedApplication {
  readonly name: string
  readonly kind: 'assistant' | 'public' | 'confidential' | 'operator'
  readonly disabled: boolean
  readonly people: number
  readonly lastUsedAt: number | undefined
  /** The refusals of the last seven days, as a number or "50+". */
  readonly refusals: string
  readonly href: string
}

/** Lists the OAuth applications of a site, with a search and their use. */
export function applicationsPage(page: ApplicationsPage): Page {
  const { applications, search, action } = page
  const none = html`<div class="empty" id="no-applications"><p>${search === '' ? text('applications.none') : text('applications.noMatch')}</p>
${search === '' && html`<a class="button second" href="${page.assistantsHref}">${text('applications.addAssistant')}</a>`}</div>`
  return areaPage({
    language: 'en',
    ...page,
    title: 'OAuth applications',
    id: 'applications-page',
    body: html`<p>Each member of <bdi>${page.siteName}</bdi> decides whether to connect one of these.
To add Claude, ChatGPT or an editor, use <a href="${page.assistantsHref}">Connect assistants</a>. For your own API, add a
<a id="resource-servers" href="${page.resourceServersHref}">resource server</a>.</p>
<div class="actions"><a id="new-application" class="button" href="${page.newHref}">${text('applications.add')}</a>
${page.newOperatorHref !== undefined && html`<a id="new-operator-application" class="button second" href="${page.newOperatorHref}">${text('applications.addOperator')}</a>`}</div>
${(applications.length > 0 || search !== '') && searchForm({ action, label: text('applications.search'), search })}
${table('OAuth applications', listColumns, applications, { none, paging: page.pager })}`,
  })
}

const listColumns: readonly Column<ListedApplication>[] = [
  {
    heading: 'App',
    cell: ({ name, href }) =>
      html`<span class="named">${avatar(name)}<a href="${href}"><bdi>${name}</bdi></a></span>`,
  },
  { heading: 'Kind', cell: ({ kind }) => text(`applications.kinds.${kind}`) },
  { heading: 'People', cell: ({ people }) => people.toLocaleString('en'), isNumber: true },
  {
    heading: 'Last used',
    cell: ({ lastUsedAt }) => (lastUsedAt ? timeOf(lastUsedAt) : text('applications.unused')),
  },
  { heading: 'Refusals in 7 days', cell: ({ refusals }) => refusals, isNumber: true },
  {
    heading: 'State',
    cell: ({ disabled }) => (disabled ? disabledTag : html`<span class="tag good">on</span>`),
  },
]

export interface ApplicationPage extends SharedView {
  readonly application: ClientFacts & {
    readonly confidential: boolean
    readonly isOperator: boolean
    readonly isEndless: boolean
    readonly authMethod: string
    readonly redirectUris: readonly string[]
    readonly postLogoutRedirectUris: readonly string[]
    readonly scopes: readonly { readonly name: string; readonly words: HtmlValue }[]
  }
  readonly hrefs: SharedView['hrefs'] & {
    readonly edit: string
    /** The page for optional protocols; undefined if none is enabled. */
    readonly security: string | undefined
  }
}

/** The settings that the application's developer enters into an OAuth library. */
export interface SettingsView {
  readonly issuer: string
  readonly discoveryHref: string
  readonly scope: string
  readonly resource: string
  readonly authMethod: string
  /** The pushed authorization request endpoint, if the application must use it. */
  readonly pushesTo: string | undefined
  readonly bindsTokens: boolean
  /** The URL of the MCP endpoint for members. */
  readonly toolAddress: string
}

/** Shows the settings of an application, its secrets, and links to edit, disable or delete it. */
export function applicationPage(page: ApplicationPage): Page {
  return sharedPage(page, {
    id: 'application-page',
    settings: facts(page),
    hasSecrets: page.application.confidential,
  })
}

function facts({ application, hrefs }: ApplicationPage): Html {
  const { redirectUris, postLogoutRedirectUris, scopes, createdBy } = application
  const code = (uri: string) => html`<code>${uri}</code>`
  const identity = html`identity: <code>openid</code>, <code>profile</code>, <code>email</code>`
  const allowed = scopes.map(({ name, words }) => html`<code>${name}</code>: ${words}`)
  return html`${application.isOperator && powerNotice()}<dl class="facts">
<div><dt>client_id</dt><dd><code id="client-id">${application.clientId}</code></dd></div>
<div><dt>Kind</dt><dd>${
    application.confidential
      ? html`confidential: ${application.authMethod === 'private_key_jwt' ? 'it proves who it is with a key' : 'it keeps a secret'} (<code>${application.authMethod}</code>)`
      : html`public: it keeps no secret (<code>none</code>)`
  }</dd></div>
<div><dt>Redirects to</dt><dd>${plainList(redirectUris.map(code))}</dd></div>
${postLogoutRedirectUris.length > 0 && html`<div><dt>After sign-out</dt><dd>${plainList(postLogoutRedirectUris.map(code))}</dd></div>`}
<div><dt>May request</dt><dd>${plainList([identity, ...allowed])}</dd></div>
${application.isOperator && html`<div><dt>Access ends</dt><dd>${text(application.isEndless ? 'applications.ends.unused' : 'applications.ends.absolute')}</dd></div>`}
<div><dt>Created</dt><dd>${timeOf(application.createdAt)}${createdBy !== undefined && html` by <bdi>${createdBy}</bdi>`}</dd></div>
</dl>
<div class="actions"><a id="edit" class="button" href="${hrefs.edit}">Edit</a>
${hrefs.security !== undefined && html`<a id="security" class="button second" href="${hrefs.security}">Security</a>`}</div>`
}

/** The warning about an application that acts for an owner. */
export function powerNotice(): Html {
  return html`<div class="notice warning" role="note"><p><strong>${text('applications.power.title')}</strong> ${text('applications.power')}</p></div>\n`
}

export interface SetUpPage extends ClientFrame {
  readonly clientId: string
  readonly settings: SettingsView
  /** The assistants with a callback among the redirect URIs of a public application; undefined for others. */
  readonly assistants: readonly ConnectStepsView[] | undefined
  readonly assistantsHref: string
  readonly local: boolean
}

/** Shows what the developer of an application enters into a library, and how members connect an assistant with it. */
export function setUpPage(page: SetUpPage): Page {
  const body = html`${settings(page)}\n${assistantSection(page)}`
  return clientPage(page, text('applications.setUp'), { id: 'set-up-page', body })
}

function settings({ clientId, settings: of }: SetUpPage): Html {
  return html`<p>Your developer enters these values into an OpenID Connect library.</p>
<dl class="facts" id="settings">
<div><dt>Issuer</dt><dd><code>${of.issuer}</code></dd></div>
<div><dt>Discovery</dt><dd><a href="${of.discoveryHref}">${of.discoveryHref}</a></dd></div>
<div><dt>client_id</dt><dd><code>${clientId}</code></dd></div>
<div><dt>Authentication at the token endpoint</dt><dd><code>${of.authMethod}</code></dd></div>
<div><dt>scope</dt><dd><code>${of.scope}</code></dd></div>
<div><dt>resource</dt><dd><code>${of.resource}</code> <span class="muted">in both requests, when account scopes are requested</span></dd></div>
<div><dt>Flow</dt><dd>authorization code with PKCE, method <code>S256</code></dd></div>
${of.pushesTo !== undefined && html`<div><dt>Pushed requests (PAR)</dt><dd>required, to <code>${of.pushesTo}</code></dd></div>\n`}${
  of.bindsTokens &&
  html`<div><dt>Bound tokens (DPoP)</dt><dd>required: a proof comes with each token request, and with each use of a token</dd></div>\n`
}<div><dt>id_token</dt><dd>signed with <code>ES256</code></dd></div>
<div><dt>Tools (MCP)</dt><dd><code>${of.toolAddress}</code></dd></div>
</dl>`
}

function assistantSection({ assistants, local, assistantsHref }: SetUpPage): Html | undefined {
  if (!assistants) return undefined
  return html`<h2>How members connect an assistant with it</h2>
${
  assistants.length > 0
    ? html`<div class="assistants">
${assistants.map((steps) => connectSteps(steps, { local }))}</div>`
    : html`<p id="no-assistants">No known assistant fits its redirect addresses and permissions.
<a href="${assistantsHref}">Connect assistants</a> adds an application that fits.</p>`
}`
}
