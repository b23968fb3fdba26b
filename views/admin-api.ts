import { html } from './html.ts'
import type { Page } from './layout.ts'
import { stylesheet } from './stylesheet.ts'

export interface AdminApiPage {
  /** The full URL of the endpoint. */
  readonly endpoint: string
  readonly schemaHref: string
  readonly guideHref: string
}

/** The page shown when the URL of the Admin API is opened in a browser. */
export function adminApiPage({ endpoint, schemaHref, guideHref }: AdminApiPage): Page {
  const query = '{"query":"{ courses(first: 5) { nodes { slug title state } } }"}'
  return {
    title: 'Admin API',
    id: 'admin-api-page',
    stylesheet,
    body: html`<h1>Admin API</h1>
<p>This address is for programs. With the access token of an operator it answers GraphQL queries about
one site, and changes what the operator may change: courses, students, members, posts and more.</p>
<pre><code>curl ${endpoint} \\
  -H 'Authorization: Bearer ACCESS_TOKEN' \\
  -H 'Content-Type: application/json' \\
  -d '${query}'</code></pre>
<p>Each field of the schema names the scopes that it needs. There is no anonymous mode, and no cookie
is read here.</p>
<ul class="links">
<li><a href="${schemaHref}">Schema</a> <span class="muted">every type and field, with its scopes</span></li>
<li><a href="${guideHref}">auth.md</a> <span class="muted">how to get an access token, step by step</span></li>
</ul>`,
  }
}
