import {
  type AreaView,
  areaConfirmPage,
  areaPage,
  type Pager,
  pager,
  resultNotice,
} from './area.ts'
import { foreignName } from './client-view.ts'
import { problemAlert } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './time.ts'

export interface DocumentClientsPage {
  readonly area: AreaView
  readonly siteName: string
  readonly clients: readonly DocumentClientView[]
  readonly pager: Pager
  readonly done: string | undefined
}

export interface DocumentClientView extends ReviewedView {
  readonly state: 'unreviewed' | 'changed' | 'approved' | 'blocked'
  readonly firstSeenAt: number
  /** The review that applies at the site. */
  readonly decided:
    | { readonly by: string | undefined; readonly at: number; readonly forAll: boolean }
    | undefined
  readonly approveHref: string
  readonly blockHref: string
}

/** The parts of a client that operators review. */
export interface ReviewedView {
  readonly clientId: string
  readonly name: string
  readonly redirectUris: readonly string[]
}

const stateNames = {
  unreviewed: 'not reviewed: it may read, and change nothing',
  changed: 'changed since it was approved: it may read, and change nothing',
  approved: 'approved',
  blocked: 'blocked',
} as const

/** Lists the clients with metadata documents. */
export function documentClientsPage(page: DocumentClientsPage): Page {
  const { area, clients } = page
  return areaPage({
    title: 'Self-declared clients',
    id: 'document-clients-page',
    area,
    body: html`<h1>Self-declared clients</h1>
${resultNotice(page.done)}
<p>These applications describe themselves in a document at their own address. What you decide holds for
<bdi>${page.siteName}</bdi>. People with the role of the platform can decide for every site.</p>
${clients.length === 0 && html`<p>None has been used yet.</p>`}
<ul class="cards">
${clients.map(client)}</ul>
${pager(page.pager)}`,
  })
}

function client(view: DocumentClientView): Html {
  const { state, decided } = view
  return html`<li class="card">
<h2>${foreignName(view.name)}</h2>
<dl class="facts">
${documentFacts(view)}
<div><dt>First seen</dt><dd>${timeOf(view.firstSeenAt)}</dd></div>
<div><dt>Review</dt><dd>${stateNames[state]}${
    decided &&
    html`<br><span class="muted">${timeOf(decided.at)} by <bdi>${decided.by ?? 'a deleted account'}</bdi>${
      decided.forAll ? ', for every site' : ', for this site'
    }</span>`
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

function documentFacts({ clientId, redirectUris }: ReviewedView): Html {
  return html`<div><dt>Document</dt><dd><code>${clientId}</code></dd></div>
<div><dt>Redirects to</dt><dd><ul class="plain">
${redirectUris.map((uri) => html`<li><code>${uri}</code></li>\n`)}</ul></dd></div>`
}

export interface ReviewDocumentClientPage {
  readonly area: AreaView
  readonly client: ReviewedView
  readonly siteName: string
  readonly review: 'approved' | 'blocked'
  /** Whether the person may also decide for all sites. */
  readonly decidesForAll: boolean
  /** Whether the document changed while the page was open. The review was then not stored. */
  readonly hasChanged: boolean
  readonly action: string
  readonly hidden: readonly { readonly name: string; readonly value: string }[]
  readonly cancelHref: string
}

/** Asks for confirmation of a review. The form contains the fingerprint of the shown document. */
export function reviewDocumentClientPage(page: ReviewDocumentClientPage): Page {
  const { client, siteName } = page
  const approves = page.review === 'approved'
  const verb = approves ? 'Approve' : 'Block'
  return areaConfirmPage({
    ...page,
    title: page.hasChanged ? 'The client has changed' : `${verb} this client?`,
    id: 'review-page',
    question: html`${verb} ${foreignName(client.name)}?`,
    consequences: html`${problemAlert('review-problem', page.hasChanged ? changed : undefined)}
<dl class="facts">
${documentFacts(client)}
</dl>
${approves ? approval(siteName) : block(siteName)}`,
    fields: page.decidesForAll ? forWhom(siteName) : undefined,
    confirm: verb,
  })
}

const changed =
  'The application changed its name or its addresses while this page was open. Nothing was decided. ' +
  'This is what it says now: please look again.'

function approval(siteName: string): Html {
  return html`<p>It may then ask owners and admins of <bdi>${siteName}</bdi> for the scopes that change
something, too. The approval is for this name and these redirect addresses; when they change, it has
to be given again.</p>`
}

function block(siteName: string): Html {
  return html`<p>It stops at once for everybody at <bdi>${siteName}</bdi>: its tokens are refused, and
people cannot connect it there.</p>`
}

function forWhom(siteName: string): Html {
  return html`<fieldset>
<legend>For whom?</legend>
<label class="choice">
<input type="radio" name="for" value="site" required checked>
<span><strong>This site</strong> <span class="muted"><bdi>${siteName}</bdi></span></span>
</label>
<label class="choice">
<input type="radio" name="for" value="all" required>
<span><strong>Every site</strong> <span class="muted">you have the role of the platform</span></span>
</label>
</fieldset>`
}
