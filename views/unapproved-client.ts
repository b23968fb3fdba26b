import { plainList } from './area.ts'
import { foreignName } from './client-view.ts'
import { html } from './html.ts'
import type { Page } from './layout.ts'
import { areaText, text } from './text.ts'

export interface UnapprovedClientPage {
  readonly name: string
  /** The areas that the client asked to change. */
  readonly areas: readonly string[]
  readonly approveHref: string
  /** The URL of the read-only tool endpoint. */
  readonly readingAddress: string
  /** The URL that returns to the client with an error. */
  readonly returnHref: string
}

/** Explains that an operator must approve a client before it may change a site, and how to connect it until then. */
export function unapprovedClientPage(page: UnapprovedClientPage): Page {
  const { name, areas, approveHref, readingAddress, returnHref } = page
  return {
    title: text('unapproved.title', { name: foreignName(name) }),
    id: 'unapproved-client-page',
    body: html`<p>${text('unapproved.text')}</p>
${plainList(areas.map(areaText))}
<h2>${text('unapproved.change')}</h2>
<p><a class="button" id="approve" href="${approveHref}">${text('unapproved.approve')}</a></p>
<p>${text('unapproved.again')}</p>
<h2>${text('unapproved.read')}</h2>
<p>${text('unapproved.readText')}</p>
<pre class="snippet" translate="no"><code>${readingAddress}</code></pre>
<p><a href="${returnHref}">${text('unapproved.return')}</a></p>`,
  }
}
