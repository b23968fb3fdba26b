import { foreignName } from './client-view.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'

export interface UnapprovedClientPage {
  readonly name: string
  /** The areas that the client asked to change. */
  readonly areas: readonly string[]
  readonly approveHref: string
  /** The URL of the tool endpoint that only reads. */
  readonly readingAddress: string
  /** Returns to the client with an error. */
  readonly returnHref: string
}

/** Explains that an operator must approve a client before it may change a site, and how to connect it until then. */
export function unapprovedClientPage(page: UnapprovedClientPage): Page {
  const { name, areas, approveHref, readingAddress, returnHref } = page
  return {
    title: 'Approve this client first',
    language: 'en',
    id: 'unapproved-client-page',
    body: html`<h1>Approve ${foreignName(name)} first</h1>
<p>It asks to change ${areas.join(', ').replaceAll('_', ' ')}. It describes itself in a document on the web, and no operator
of your site has approved that document yet. Until then, it can only read.</p>
<h2>To let it change your site</h2>
<p><a class="button" id="approve" href="${approveHref}">Approve it as an operator</a></p>
<p>Then connect it again from where you started.</p>
<h2>To let it only read</h2>
<p>Connect it to this address instead:</p>
<pre class="snippet" translate="no"><code>${readingAddress}</code></pre>
<p><a href="${returnHref}">Return without connecting</a></p>`,
  }
}
