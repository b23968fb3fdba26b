import {
  type ClientFacts,
  disabledTag,
  type ListedClient,
  type SharedView,
  sharedPage,
} from './admin-secrets.ts'
import { areaPage, cards, type ListView, plainList } from './area.ts'
import { foreignName } from './client-view.ts'
import { type ConnectStepsView, connectSteps } from './connect-steps.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './time.ts'

export interface ApplicationsPage extends ListView {
  readonly siteName: string
  readonly applications: readonly (ListedClient & { readonly confidential: boolean })[]
  readonly newHref: string
  readonly assistantsHref: string
  readonly resourceServersHref: string
}

/** Lists the OAuth applications of a site. */
export function applicationsPage(page: ApplicationsPage): Page {
  const applications = page.applications.map(
    ({
      name,
      clientId,
      confidential,
      disabled,
      href,
    }) => html`<a href="${href}">${foreignName(name)}</a>${disabled && disabledTag}<br>
<span class="muted">${confidential ? 'confidential' : 'public'}, client_id</span> <code>${clientId}</code>`,
  )
  return areaPage({
    ...page,
    title: 'OAuth applications',
    id: 'applications-page',
    body: html`<p>Each member of <bdi>${page.siteName}</bdi> decides alone whether to connect one of these.</p>
<p><a id="new-application" class="button" href="${page.newHref}">New application</a></p>
<p>For Claude, ChatGPT, an editor and the like, <a href="${page.assistantsHref}">Connect assistants</a> makes one with one press.
For an API or a proxy of your own that takes your members’ tokens, there are
<a id="resource-servers" href="${page.resourceServersHref}">resource servers</a>.</p>
${cards(applications, html`<p id="no-applications">There is no application yet.</p>`, page.pager)}`,
  })
}

export interface ApplicationPage extends SharedView {
  readonly application: ClientFacts & {
    readonly confidential: boolean
    readonly authMethod: string
    readonly redirectUris: readonly string[]
    readonly postLogoutRedirectUris: readonly string[]
    readonly scopes: readonly { readonly name: string; readonly words: string }[]
  }
  readonly people: number
  readonly hrefs: SharedView['hrefs'] & {
    readonly edit: string
    /** The page for optional protocols; undefined if none is enabled. */
    readonly security: string | undefined
    readonly people: string
    readonly assistants: string
  }
  readonly settings: SettingsView
  /** The assistants with a callback among the application's redirect URIs. */
  readonly assistants: readonly ConnectStepsView[]
  readonly local: boolean
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

/** Shows an application: settings for its developer, secrets, and links to edit, disable or delete it. */
export function applicationPage(page: ApplicationPage): Page {
  const { application, hrefs } = page
  return sharedPage(page, {
    ...application,
    id: 'application-page',
    settings: html`${facts(page)}
${settings(page)}
${!application.confidential && assistantSection(page)}`,
    hasSecrets: application.confidential,
    links: html`<li><a id="people" href="${hrefs.people}">Who connected it</a> <span class="muted">${peoplePhrase(page.people)}</span></li>
${hrefs.security !== undefined && html`<li><a id="security" href="${hrefs.security}">Security</a> <span class="muted">keys, pushed requests, bound tokens, sign-outs</span></li>`}
`,
  })
}

function facts({ application, hrefs }: ApplicationPage): Html {
  const { redirectUris, postLogoutRedirectUris, scopes, createdBy } = application
  const code = (uri: string) => html`<code>${uri}</code>`
  const identity = html`identity: <code>openid</code>, <code>profile</code>, <code>email</code>`
  const allowed = scopes.map(({ name, words }) => html`<code>${name}</code>: ${words}`)
  return html`<h2>For the maker of the application</h2>
<dl class="facts">
<div><dt>client_id</dt><dd><code id="client-id">${application.clientId}</code></dd></div>
<div><dt>Kind</dt><dd>${
    application.confidential
      ? html`confidential: ${application.authMethod === 'private_key_jwt' ? 'it proves who it is with a key' : 'it keeps a secret'} (<code>${application.authMethod}</code>)`
      : html`public: it keeps no secret (<code>none</code>)`
  }</dd></div>
<div><dt>Redirects to</dt><dd>${plainList(redirectUris.map(code))}</dd></div>
${postLogoutRedirectUris.length > 0 && html`<div><dt>After sign-out</dt><dd>${plainList(postLogoutRedirectUris.map(code))}</dd></div>`}
<div><dt>May request</dt><dd>${plainList([identity, ...allowed])}</dd></div>
<div><dt>Created</dt><dd>${timeOf(application.createdAt)}${createdBy !== undefined && html` by <bdi>${createdBy}</bdi>`}</dd></div>
</dl>
<p><a id="edit" class="button second" href="${hrefs.edit}">Edit</a></p>`
}

function settings({ application, settings: of }: ApplicationPage): Html {
  return html`<h2>Settings for its library</h2>
<dl class="facts" id="settings">
<div><dt>Issuer</dt><dd><code>${of.issuer}</code></dd></div>
<div><dt>Discovery</dt><dd><a href="${of.discoveryHref}">${of.discoveryHref}</a></dd></div>
<div><dt>client_id</dt><dd><code>${application.clientId}</code></dd></div>
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

function assistantSection({ assistants, local, hrefs }: ApplicationPage): Html {
  return html`<h2>How members connect an assistant with it</h2>
${
  assistants.length > 0
    ? html`<div class="assistants">
${assistants.map((steps) => connectSteps(steps, { local }))}</div>`
    : html`<p id="no-assistants">No assistant that this service knows returns to one of its redirect addresses, or it may not read
the member’s data. <a href="${hrefs.assistants}">Connect assistants</a> makes an application that fits, with one press.</p>`
}`
}

function peoplePhrase(people: number): string {
  return people === 1 ? '1 person' : `${people} people`
}
