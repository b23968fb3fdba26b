import {
  type ClientFacts,
  type ClientFrame,
  clientPage,
  createdBy,
  disabledTag,
  type SharedView,
  sharedPage,
} from './admin-secrets.ts'
import { type AreaPage, type ListView, plainList } from './area.ts'
import { avatar } from './avatar.ts'
import { type ConnectStepsView, connectSteps } from './connect-steps.ts'
import { filterForm, searchField } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { logoOf } from './icon.ts'
import { type Column, table } from './table.ts'
import { inCode, inLink, numberText, text, timeOf } from './text.ts'

export interface ApplicationsPage extends ListView {
  /** The text that filters the list; empty for all applications. */
  readonly search: string
  readonly applications: readonly ListedApplication[]
  /** Whether the person may create an application that acts for an owner. */
  readonly isOwner: boolean
  /** The path of the site's home page. The paths of the site's other pages begin with it. */
  readonly siteHref: string
}

interface ListedApplication {
  readonly name: string
  /** The id of the assistant for which the application was created. */
  readonly assistant: string | null
  readonly kind: 'assistant' | 'public' | 'confidential' | 'operator'
  readonly disabled: boolean
  readonly people: number
  readonly lastUsedAt: number | undefined
  /** The number of refusals in the last seven days, or "50+". */
  readonly refusals: string
  readonly href: string
}

/** Lists the OAuth applications of a site and their use, with a search form. */
export function applicationsPage(page: ApplicationsPage): AreaPage {
  const { applications, search, siteHref } = page
  const isNarrowed = search !== ''
  const none = html`<div class="empty" id="no-applications"><p>${text(isNarrowed ? 'applications.noMatch' : 'applications.none')}</p>
${!isNarrowed && html`<a class="button second" href="${siteHref}/assistants">${text('applications.addAssistant')}</a>`}</div>`
  return {
    title: text('adminNav.applications'),
    id: 'applications-page',
    body: html`<p>${text('applications.intro', {
      a: inLink(`${siteHref}/assistants`),
      r: (name) => html`<a id="resource-servers" href="${siteHref}/resource-servers">${name}</a>`,
    })}</p>
<div class="actions"><a id="new-application" class="button" href="${siteHref}/applications/new">${text('applications.add')}</a>
${page.isOwner && html`<a id="new-operator-application" class="button second" href="${siteHref}/applications/new?kind=operator">${text('applications.addOperator')}</a>`}</div>
${(applications.length > 0 || isNarrowed) && filterForm(searchField(text('word.name'), search), { isNarrowed })}
${table(text('adminNav.applications'), listColumns, applications, { none, paging: page.pager })}`,
  }
}

const listColumns: readonly Column<ListedApplication>[] = [
  {
    heading: text('word.app'),
    cell: ({ name, href, assistant }) =>
      html`<span class="named">${avatar(name, logoOf(assistant))}<a href="${href}"><bdi>${name}</bdi></a></span>`,
  },
  { heading: text('applications.kind'), cell: ({ kind }) => text(`applications.kinds.${kind}`) },
  {
    heading: text('analytics.measures.people'),
    cell: ({ people }) => numberText(people),
    isNumber: true,
  },
  {
    heading: text('word.lastUsed'),
    cell: ({ lastUsedAt }) => (lastUsedAt ? timeOf(lastUsedAt) : text('grant.notYet')),
  },
  {
    heading: text('applications.week'),
    cell: ({ refusals, href }) =>
      refusals === '0' ? refusals : html`<a href="${href}/refusals">${refusals}</a>`,
    isNumber: true,
  },
  {
    heading: text('applications.state'),
    cell: ({ disabled }) =>
      disabled ? disabledTag : html`<span class="tag good">${text('applications.on')}</span>`,
  },
]

export interface ApplicationPage extends SharedView {
  readonly app: ClientFacts & {
    readonly isOperator: boolean
    readonly isEndless: boolean
    readonly redirectUris: readonly string[]
    readonly postLogoutRedirectUris: readonly string[]
  }
  readonly scopes: readonly { readonly name: string; readonly words: HtmlValue }[]
  /** Whether the deployment enables optional protocols. */
  readonly offersChoices: boolean
}

/** Shows the settings of an application, its secrets, and links to edit, disable or delete it. */
export function applicationPage(page: ApplicationPage): AreaPage {
  return sharedPage(page, { id: 'application-page', settings: applicationFacts(page) })
}

function applicationFacts({ app, scopes, href, offersChoices }: ApplicationPage): Html {
  const { redirectUris, postLogoutRedirectUris, authMethod } = app
  const allowed = scopes.map(({ name, words }) => html`<code>${name}</code>: ${words}`)
  return html`${app.isOperator && powerNotice()}<dl class="facts">
<div><dt><code>client_id</code></dt><dd><code id="client-id">${app.clientId}</code></dd></div>
<div><dt>${text('applications.kind')}</dt><dd>${text(`applications.methods.${authMethod}`)}</dd></div>
<div><dt>${text('applications.redirects')}</dt><dd>${plainList(redirectUris.map(inCode))}</dd></div>
${postLogoutRedirectUris.length > 0 && html`<div><dt>${text('applications.afterSignOut')}</dt><dd>${plainList(postLogoutRedirectUris.map(inCode))}</dd></div>`}
<div><dt>${text('applications.mayRequest')}</dt><dd>${plainList([text('applications.identity'), ...allowed])}</dd></div>
${app.isOperator && html`<div><dt>${text('applications.accessEnds')}</dt><dd>${text(app.isEndless ? 'applications.ends.unused' : 'applications.ends.absolute')}</dd></div>`}
<div><dt>${text('applications.created')}</dt><dd>${createdBy(app)}</dd></div>
</dl>
<div class="actions"><a id="edit" class="button" href="${href}/edit">${text('applications.edit')}</a>
${offersChoices && html`<a id="security" class="button second" href="${href}/security">${text('nav.security')}</a>`}</div>`
}

/** The warning about an application that acts for an owner. */
export function powerNotice(): Html {
  return html`<div class="notice warning" role="note"><p><strong>${text('applications.power.title')}</strong> ${text('applications.power')}</p></div>\n`
}

export interface SetUpPage extends ClientFrame {
  /** The issuer, which is also the value of `resource`. */
  readonly issuer: string
  readonly discoveryHref: string
  readonly scope: string
  /** The pushed authorization request endpoint, if the application must use it. */
  readonly pushesTo: string | undefined
  readonly bindsTokens: boolean
  /** The URL of the MCP endpoint that accepts the application's tokens. */
  readonly toolAddress: string
  /** The assistants that can use a redirect URI of the application; undefined if the application is confidential. */
  readonly assistants: readonly ConnectStepsView[] | undefined
  readonly assistantsHref: string
  readonly local: boolean
}

/** Shows the settings for a library and, for a public application, how members connect an assistant with it. */
export function setUpPage(page: SetUpPage): AreaPage {
  const body = html`${setUpSettings(page)}\n${assistantSection(page)}`
  return clientPage(page, text('applications.setUp'), { id: 'set-up-page', body })
}

function setUpSettings({ app, issuer, pushesTo, ...page }: SetUpPage): Html {
  return html`<p>${text('applications.setUpIntro')}</p>
<dl class="facts" id="settings">
<div><dt>${text('identities.issuer')}</dt><dd><code>${issuer}</code></dd></div>
<div><dt>${text('applications.discovery')}</dt><dd><a href="${page.discoveryHref}"><bdi>${page.discoveryHref}</bdi></a></dd></div>
<div><dt><code>client_id</code></dt><dd><code>${app.clientId}</code></dd></div>
<div><dt>${text('applications.authentication')}</dt><dd><code>${app.authMethod}</code>${app.authMethod === 'client_secret_post' && html`, <code>client_secret_basic</code>`}</dd></div>
<div><dt><code>scope</code></dt><dd><code>${page.scope}</code></dd></div>
<div><dt><code>resource</code></dt><dd><code>${issuer}</code> <span class="muted">${text('applications.resource')}</span></dd></div>
<div><dt>${text('applications.flow')}</dt><dd>${text('applications.flowOf')}</dd></div>
${pushesTo !== undefined && html`<div><dt>${text('applications.pushed')}</dt><dd>${text('applications.pushedTo', { url: inCode(pushesTo) })}</dd></div>\n`}${
  page.bindsTokens &&
  html`<div><dt>${text('applications.bound')}</dt><dd>${text('applications.boundNeeds')}</dd></div>\n`
}<div><dt><code>id_token</code></dt><dd>${text('applications.signed')}</dd></div>
<div><dt>${text('applications.tools')}</dt><dd><code>${page.toolAddress}</code></dd></div>
</dl>`
}

function assistantSection({ assistants, local, assistantsHref }: SetUpPage): Html | undefined {
  if (!assistants) return undefined
  return html`<h2>${text('applications.assistants')}</h2>
${
  assistants.length > 0
    ? html`<div class="assistants">
${assistants.map((steps) => connectSteps(steps, { local }))}</div>`
    : html`<p id="no-assistants">${text('applications.noAssistant', { a: inLink(assistantsHref) })}</p>`
}`
}
