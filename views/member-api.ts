import { html } from './html.ts'
import type { Page } from './layout.ts'
import { stylesheet } from './stylesheet.ts'

export interface MemberApiPage {
  /** The full URL of the endpoint. */
  readonly endpoint: string
  readonly readScope: string
  readonly writeScope: string
  readonly links: readonly {
    readonly href: string
    readonly label: string
    readonly what: string
  }[]
}

/** The page shown when the URL of the Member API is opened in a browser. */
export function memberApiPage({ endpoint, readScope, writeScope, links }: MemberApiPage): Page {
  const query =
    '{"query":"{ viewer { name enrolledCourses(first: 5) { nodes { slug expireDate } } } }"}'
  return {
    title: 'Member API',
    id: 'member-api-page',
    stylesheet,
    body: html`<h1>Member API</h1>
<p>This address is for programs. With the access token of a member it answers GraphQL queries about
what that person has at one site: courses, other purchases and notifications.</p>
<pre><code>curl ${endpoint} \\
  -H 'Authorization: Bearer ACCESS_TOKEN' \\
  -H 'Content-Type: application/json' \\
  -d '${query}'</code></pre>
<p>Queries need the scope <code>${readScope}</code>, mutations <code>${writeScope}</code>. There is no
anonymous mode: an operator of the site creates the application and hands its
<code>client_id</code> over.</p>
<ul class="links">
${links.map(({ href, label, what }) => html`<li><a href="${href}">${label}</a> <span class="muted">${what}</span></li>\n`)}</ul>`,
  }
}
