import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { inEnglish, text } from './text.ts'

export interface LinkView {
  readonly href: string
  readonly label: HtmlValue
  readonly what: HtmlValue
}

/** Lists links, each with a description of its target. */
export function linkList(links: readonly LinkView[]): Html {
  return html`<ul class="links">
${links.map(({ href, label, what }) => html`<li><a href="${href}">${label}</a> <span class="muted">${what}</span></li>\n`)}</ul>`
}

const queries = {
  admin: 'courses(first: 5) { nodes { slug title state } }',
  member: 'viewer { name enrolledCourses(first: 5) { nodes { slug expireDate } } }',
} as const

/** The page shown when the URL of a GraphQL API is opened in a browser. @param endpoint the full URL */
export function apiPage(
  api: keyof typeof queries,
  endpoint: string,
  links: readonly LinkView[],
): Page {
  return {
    title: inEnglish(api === 'admin' ? 'Admin API' : 'Member API'),
    id: `${api}-api-page`,
    body: html`<p>${text(`api.${api}`)}</p>
<pre><code>curl ${endpoint} \\
  -H 'Authorization: Bearer ACCESS_TOKEN' \\
  -H 'Content-Type: application/json' \\
  -d '${`{"query":"{ ${queries[api]} }"}`}'</code></pre>
<p>${text(`api.${api}Scopes`)}</p>
${linkList(links)}`,
  }
}
