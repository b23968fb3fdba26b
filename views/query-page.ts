import type { AreaPage, Tab } from './area.ts'
import { ownToken, postForm, problemAlert, submitButton } from './forms.ts'
import { type Html, type HtmlValue, html } from './html.ts'
import { inCode, inLink, text } from './text.ts'

export interface QueryPage {
  /** The person's e-mail address. GraphiQL stores its state under this address. */
  readonly owner: string
  readonly api: 'member' | 'admin'
  /** A tab for each of the person's sites, including the current one. */
  readonly sites?: readonly Tab[] | undefined
  readonly hidden?: Readonly<Record<string, string>> | undefined
  /** The full URL of the API. */
  readonly endpoint: string
  readonly schemaHref: string
  readonly query: string
  /** JSON, or an empty string. */
  readonly variables: string
  /** The response as JSON; undefined if no query has run. */
  readonly answer?: string | undefined
  readonly problem?: HtmlValue
  /** GraphiQL, which can replace the form if scripts run; undefined if it is not installed. */
  readonly tool?: QueryTool | undefined
}

export interface QueryTool {
  /** The URL of the script that loads GraphiQL on demand. */
  readonly loader: string
  /** The URLs of GraphiQL's scripts, in the order in which they must run. */
  readonly scripts: readonly string[]
  readonly stylesheet: string
  /** The path to which GraphiQL posts queries. */
  readonly address: string
  /** The nonce by which the Content-Security-Policy allows the scripts. */
  readonly nonce: string
}

/** The page on which a person runs queries against an API, with their own rights. */
export function queryPage(page: QueryPage): AreaPage {
  const { tool } = page
  return {
    title: text(page.api === 'member' ? 'account.queries' : 'adminNav.queries'),
    id: 'query-page',
    tabs: page.sites,
    tabsName: text('account.sites'),
    head: tool && html`<script defer nonce="${tool.nonce}" src="${tool.loader}"></script>`,
    body: html`<p>${text(`query.intro.${page.api}`, {
      endpoint: inCode(page.endpoint),
      a: inLink(page.schemaHref),
    })}</p>
${tool && toolPlace(tool, page)}
<div id="plain">
${queryForm(page)}
${answerSection(page)}
</div>`,
  }
}

function toolPlace({ address, scripts, stylesheet }: QueryTool, { owner }: QueryPage): Html {
  return html`<p hidden><button type="button" id="open-graphiql" class="second">${text('query.open')}</button></p>
<div id="graphiql" hidden data-address="${address}" data-owner="${owner}" data-token="${ownToken}" data-stylesheet="${stylesheet}" data-scripts="${scripts.join(' ')}"></div>`
}

function queryForm(page: QueryPage): Html {
  const { query, problem } = page
  const rows = Math.min(24, Math.max(8, query.split('\n').length + 1))
  const fields = html`${problemAlert('query-problem', problem)}
<label for="query">${text('query.query')}</label>
<textarea id="query" name="query" class="code" rows="${String(rows)}" required spellcheck="false" autocapitalize="off" autocomplete="off"${problem !== undefined && html` aria-describedby="query-problem"`}>${query}</textarea>
<label for="variables">${text('query.variables')}</label>
<textarea id="variables" name="variables" class="code" rows="3" spellcheck="false" autocapitalize="off" autocomplete="off">${page.variables}</textarea>
${submitButton('run', text('query.run'))}`
  return postForm({ hidden: page.hidden }, fields)
}

function answerSection({ answer }: QueryPage): Html | undefined {
  if (answer === undefined) return undefined
  return html`<h2 id="answer-title">${text('query.answer')}</h2>
<pre id="answer" tabindex="0" role="region" aria-labelledby="answer-title"><code>${answer}</code></pre>`
}
