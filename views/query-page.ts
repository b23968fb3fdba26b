import { type AreaView, areaPage } from './area.ts'
import { postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'

export interface QueryPage {
  readonly area: AreaView
  /** The name of the API, such as "Member API". */
  readonly apiName: string
  readonly siteName: string
  /** A sentence about what a query on this page can do. */
  readonly says: string
  /** The sites of the person, including the current site. */
  readonly sites?: readonly SiteLink[] | undefined
  readonly action: string
  readonly hidden?: Readonly<Record<string, string>> | undefined
  /** The full URL of the API. */
  readonly endpoint: string
  readonly schemaHref: string
  readonly query: string
  /** JSON, or an empty string. */
  readonly variables: string
  /** The response as JSON; undefined if no query has run. */
  readonly answer?: string | undefined
  readonly problem?: string | undefined
  /** GraphiQL, which replaces the form if scripts run; undefined if it is not installed. */
  readonly tool?: QueryTool | undefined
}

export interface SiteLink {
  readonly name: string
  readonly href: string
  readonly current: boolean
}

export interface QueryTool {
  /** The URLs of the scripts, in the order in which they must run. */
  readonly scripts: readonly string[]
  readonly stylesheet: string
  /** The path to which GraphiQL posts queries. */
  readonly address: string
  /** The nonce by which the Content-Security-Policy allows the scripts. */
  readonly nonce: string
}

/** The page on which a person runs queries against an API, with their own rights. */
export function queryPage(page: QueryPage): Page {
  const { tool } = page
  return {
    ...areaPage({
      ...page,
      title: `Try the ${page.apiName}`,
      id: 'query-page',
      body: html`<p>Type a GraphQL query about <bdi>${page.siteName}</bdi>. ${page.says} Programs
send the same to <code>${page.endpoint}</code> with an access token, whose scopes say what they may ask.
<a href="${page.schemaHref}">The schema</a> has every type and field.</p>
${page.sites && siteLinks(page.sites)}
${tool && toolPlace(tool, page)}
<div id="plain">
${
  tool &&
  html`<p class="notice">This is the plain form. In a wide window, where scripts run, this page completes what you
type and shows the documentation of every field.</p>`
}
${form(page)}
${answerOf(page)}
</div>`,
    }),
    head: tool && toolHead(tool),
  }
}

function siteLinks(sites: readonly SiteLink[]): Html | undefined {
  if (sites.length < 2) return undefined
  return html`<nav aria-label="Sites"><ul class="links">
${sites.map(
  ({ name, href, current }) =>
    html`<li><a href="${href}"${current && html` aria-current="page"`}><bdi>${name}</bdi></a></li>\n`,
)}</ul></nav>`
}

function toolPlace({ address }: QueryTool, { area, query }: QueryPage): Html {
  return html`<div id="graphiql" hidden data-address="${address}" data-token="${area.csrf}" data-query="${query}"></div>`
}

function toolHead({ scripts, stylesheet, nonce }: QueryTool): Html {
  return html`<link rel="stylesheet" href="${stylesheet}">
${scripts.map((src) => html`<script defer nonce="${nonce}" src="${src}"></script>\n`)}`
}

function form(page: QueryPage): Html {
  const { query, problem } = page
  const rows = Math.min(24, Math.max(8, query.split('\n').length + 1))
  const fields = html`${problemAlert('query-problem', problem)}
<label for="query">Query</label>
<textarea id="query" name="query" class="code" rows="${String(rows)}" required spellcheck="false" autocapitalize="off" autocomplete="off"${problem !== undefined && html` aria-describedby="query-problem"`}>${query}</textarea>
<label for="variables">Variables, as JSON (optional)</label>
<textarea id="variables" name="variables" class="code" rows="3" spellcheck="false" autocapitalize="off" autocomplete="off">${page.variables}</textarea>
${submitButton('run', 'Run the query')}`
  return postForm({ ...page, csrf: page.area.csrf }, fields)
}

function answerOf({ answer }: QueryPage): Html | undefined {
  if (answer === undefined) return undefined
  return html`<h2 id="answer-title">Answer</h2>
<pre id="answer" tabindex="0" role="region" aria-labelledby="answer-title"><code>${answer}</code></pre>`
}
