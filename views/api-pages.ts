import { type Html, type HtmlValue, html } from './html.ts'
import type { Page } from './layout.ts'

export interface LinkView {
  readonly href: string
  readonly label: HtmlValue
  readonly what: string
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
    title: 'Admin API',
    language: 'en',
    id: 'admin-api-page',
    body: html`<h1>Admin API</h1>
<p>This address is for programs. With the access token of an operator it answers GraphQL queries about
one site, and changes what the operator may change: courses, students, members, posts and more.</p>
${example(endpoint, 'courses(first: 5) { nodes { slug title state } }')}
<p>Each field of the schema names the scopes that it needs. There is no anonymous mode, and no cookie
is read here.</p>
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
    title: 'Member API',
    language: 'en',
    id: 'member-api-page',
    body: html`<h1>Member API</h1>
<p>This address is for programs. With the access token of a member it answers GraphQL queries about
what that person has at one site: courses, other purchases and notifications.</p>
${example(endpoint, query)}
<p>Queries need the scope <code>${readScope}</code>, mutations <code>${writeScope}</code>. There is no
anonymous mode: an operator of the site creates the application and hands its
<code>client_id</code> over.</p>
${linkList(links)}`,
  }
}

function example(endpoint: string, query: string): Html {
  return html`<pre><code>curl ${endpoint} \\
  -H 'Authorization: Bearer ACCESS_TOKEN' \\
  -H 'Content-Type: application/json' \\
  -d '${`{"query":"{ ${query} }"}`}'</code></pre>`
}
