import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'
import { inCode, inEnglish, text } from './text.ts'

export interface LinkView {
  readonly href: string
  readonly label: HtmlValue
  readonly what: HtmlValue
}

export function linkList(links: readonly LinkView[]): Html {
  return html`<ul class="links">
${links.map(({ href, label, what }) => html`<li><a href="${href}">${label}</a> <span class="muted">${what}</span></li>\n`)}</ul>`
}

interface ApiPage {
  /** The full URL of the endpoint. */
  readonly endpoint: string
  readonly links: readonly LinkView[]
}

/** The page shown when the URL of the Admin API is opened in a browser. */
export function adminApiPage({ endpoint, links }: ApiPage): Page {
  return {
    title: inEnglish('Admin API'),
    id: 'admin-api-page',
    body: html`<p>${text('api.admin')}</p>
${example(endpoint, 'courses(first: 5) { nodes { slug title state } }')}
<p>${text('api.adminScopes')}</p>
${linkList(links)}`,
  }
}

export interface MemberApiPage extends ApiPage {
  readonly readScope: string
  readonly writeScope: string
}

/** The page shown when the URL of the Member API is opened in a browser. */
export function memberApiPage({ endpoint, readScope, writeScope, links }: MemberApiPage): Page {
  const query = 'viewer { name enrolledCourses(first: 5) { nodes { slug expireDate } } }'
  return {
    title: inEnglish('Member API'),
    id: 'member-api-page',
    body: html`<p>${text('api.member')}</p>
${example(endpoint, query)}
<p>${text('api.memberScopes', { read: inCode(readScope), write: inCode(writeScope) })}</p>
${linkList(links)}`,
  }
}

function example(endpoint: string, query: string): Html {
  return html`<pre><code>curl ${endpoint} \\
  -H 'Authorization: Bearer ACCESS_TOKEN' \\
  -H 'Content-Type: application/json' \\
  -d '${`{"query":"{ ${query} }"}`}'</code></pre>`
}
