import {
  type AreaView,
  areaConfirmPage,
  areaPage,
  type Pager,
  pager,
  resultNotice,
} from './area.ts'
import { foreignName } from './client-view.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './time.ts'

export interface DocumentClientsPage {
  readonly area: AreaView
  readonly clients: readonly DocumentClientView[]
  readonly pager: Pager
  readonly done: string | undefined
}

export interface DocumentClientView {
  readonly clientId: string
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly state: 'unreviewed' | 'changed' | 'approved' | 'blocked'
  readonly firstSeenAt: number
  readonly reviewedAt: number | undefined
  readonly reviewerName: string | undefined
  readonly approveHref: string
  readonly blockHref: string
}

const stateNames = {
  unreviewed: 'not reviewed: it may read, and change nothing',
  changed: 'changed since it was approved: it may read, and change nothing',
  approved: 'approved',
  blocked: 'blocked',
} as const

/** The applications that describe themselves (Client ID Metadata Documents). */
export function documentClientsPage(page: DocumentClientsPage): Page {
  const { area, clients } = page
  return areaPage({
    title: 'Self-declared clients',
    id: 'document-clients-page',
    area,
    body: html`<h1>Self-declared clients</h1>
${resultNotice(page.done)}
<p>These applications describe themselves in a document at their own address. What you decide holds for
every site of this service.</p>
${clients.length === 0 && html`<p>Nobody has used one yet.</p>`}
<ul class="cards">
${clients.map(client)}</ul>
${pager(page.pager)}`,
  })
}

function client(view: DocumentClientView): Html {
  const { state, reviewedAt, reviewerName } = view
  return html`<li class="card">
<h2>${foreignName(view.name)}</h2>
<dl class="facts">
<div><dt>Document</dt><dd><code>${view.clientId}</code></dd></div>
<div><dt>Redirects to</dt><dd><ul class="plain">
${view.redirectUris.map((uri) => html`<li><code>${uri}</code></li>\n`)}</ul></dd></div>
<div><dt>First seen</dt><dd>${timeOf(view.firstSeenAt)}</dd></div>
<div><dt>Review</dt><dd>${stateNames[state]}${
    reviewedAt !== undefined &&
    html`<br><span class="muted">${timeOf(reviewedAt)} by <bdi>${reviewerName ?? 'somebody'}</bdi></span>`
  }</dd></div>
</dl>
<div class="actions">
${
  state !== 'approved' &&
  html`<a class="button second" href="${view.approveHref}">Approve<span class="hidden"> <bdi>${view.name}</bdi></span>…</a>`
}
${
  state !== 'blocked' &&
  html`<a class="button second" href="${view.blockHref}">Block<span class="hidden"> <bdi>${view.name}</bdi></span>…</a>`
}
</div>
</li>
`
}

export interface ReviewDocumentClientPage {
  readonly area: AreaView
  readonly clientId: string
  readonly review: 'approved' | 'blocked'
  readonly action: string
  readonly hidden: readonly { readonly name: string; readonly value: string }[]
  readonly cancelHref: string
}

export function reviewDocumentClientPage(page: ReviewDocumentClientPage): Page {
  const approves = page.review === 'approved'
  return areaConfirmPage({
    ...page,
    title: approves ? 'Approve this client?' : 'Block this client?',
    id: 'review-page',
    question: html`${approves ? 'Approve' : 'Block'} this client?`,
    consequences: approves
      ? html`<p><code>${page.clientId}</code> may then ask owners and admins for the scopes that change
something, too. The approval is for its present name and redirect addresses; when they change, it has
to be given again.</p>`
      : html`<p><code>${page.clientId}</code> stops at once for everybody at every site: its tokens are
refused, and nobody can connect it.</p>`,
    confirm: approves ? 'Approve' : 'Block',
  })
}
