import { type AreaView, areaPage } from './area.ts'
import { csrfField, problemAlert } from './forms.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'

export interface QueryPage {
  readonly area: AreaView
  readonly siteName: string
  readonly action: string
  /** The full address of the Admin API. */
  readonly endpoint: string
  readonly schemaHref: string
  readonly query: string
  /** JSON, or nothing at all. */
  readonly variables: string
  /** The answer, as JSON; undefined before the first query. */
  readonly answer?: string
  readonly problem?: string
}

/** Where an operator tries queries of the Admin API. */
export function queryPage(page: QueryPage): Page {
  const { area, query, answer, problem } = page
  const rows = Math.min(24, Math.max(8, query.split('\n').length + 1))
  return areaPage({
    title: 'Try the Admin API',
    id: 'query-page',
    area,
    body: html`<h1>Try the Admin API</h1>
<p>Type a GraphQL query about <bdi>${page.siteName}</bdi>. It is run as you, and changes nothing. Programs
send the same to <code>${page.endpoint}</code> with an access token, whose scopes say what they may ask.</p>
<ul class="links">
<li><a href="${page.schemaHref}">Schema</a> <span class="muted">every type and field, with the scopes that it needs</span></li>
</ul>
<form method="post" action="${page.action}">
${csrfField(area.csrf)}
${problemAlert('query-problem', problem)}
<label for="query">Query</label>
<textarea id="query" name="query" class="code" rows="${String(rows)}" required spellcheck="false" autocapitalize="off" autocomplete="off"${problem !== undefined && html` aria-describedby="query-problem"`}>${query}</textarea>
<label for="variables">Variables, as JSON (optional)</label>
<textarea id="variables" name="variables" class="code" rows="3" spellcheck="false" autocapitalize="off" autocomplete="off">${page.variables}</textarea>
<div class="actions"><button id="run" type="submit">Run the query</button></div>
</form>
${
  answer !== undefined &&
  html`<h2 id="answer-title">Answer</h2>
<pre id="answer" tabindex="0" role="region" aria-labelledby="answer-title"><code>${answer}</code></pre>`
}`,
  })
}
