import {
  areaConfirmPage,
  areaPage,
  type Confirmation,
  cards,
  type ListView,
  plainList,
} from './area.ts'
import { foreignName } from './client-view.ts'
import { choice, problemAlert } from './forms.ts'
import { type Html, html } from './html.ts'
import type { Page } from './layout.ts'
import { timeOf } from './text.ts'

export interface DocumentClientsPage extends ListView {
  readonly siteName: string
  readonly clients: readonly DocumentClientView[]
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
  unreviewed: 'not reviewed: it can only read',
  changed: 'changed since it was approved: it can only read',
  approved: 'approved',
  blocked: 'blocked',
} as const

/** Lists the clients with metadata documents. */
export function documentClientsPage(page: DocumentClientsPage): Page {
  return areaPage({
    language: 'en',
    ...page,
    title: 'Self-declared clients',
    id: 'document-clients-page',
    body: html`<p>These apps describe themselves in a document on the web. Until you approve one for <bdi>${page.siteName}</bdi>, it can
only read.</p>
${cards(page.clients.map(client), html`<p class="empty">No such app has been used yet.</p>`, page.pager)}`,
  })
}

function client(view: DocumentClientView): Html {
  const { state, decided } = view
  const reviewLink = (verb: string, href: string) =>
    html`<a class="button second" href="${href}">${verb}<span class="hidden"> <bdi>${view.name}</bdi></span>…</a>`
  return html`<h2>${foreignName(view.name)}</h2>
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
${state !== 'approved' && reviewLink('Approve', view.approveHref)}
${state !== 'blocked' && reviewLink('Block', view.blockHref)}
</div>`
}

function documentFacts({ clientId, redirectUris }: ReviewedView): Html {
  return html`<div><dt>Document</dt><dd><code>${clientId}</code></dd></div>
<div><dt>Redirects to</dt><dd>${plainList(redirectUris.map((uri) => html`<code>${uri}</code>`))}</dd></div>`
}

export interface ReviewDocumentClientPage extends Confirmation {
  readonly client: ReviewedView
  readonly siteName: string
  readonly review: 'approved' | 'blocked'
  /** Whether the person may also decide for all sites. */
  readonly decidesForAll: boolean
  /** Whether the document changed while the page was open. The review was then not stored. */
  readonly hasChanged: boolean
}

/** Asks for confirmation of a review. The form contains the fingerprint of the shown document. */
export function reviewDocumentClientPage(page: ReviewDocumentClientPage): Page {
  const { client, siteName } = page
  const approves = page.review === 'approved'
  const verb = approves ? 'Approve' : 'Block'
  return areaConfirmPage({
    language: 'en',
    ...page,
    title: page.hasChanged ? 'The client has changed' : `${verb} this client?`,
    id: 'review-page',
    heading: html`${verb} ${foreignName(client.name)}?`,
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
  return html`<p>It stops at once for all people at <bdi>${siteName}</bdi>: its tokens are refused, and
people cannot connect it there.</p>`
}

function forWhom(siteName: string): Html {
  const radio = { type: 'radio', name: 'for' } as const
  return html`<fieldset>
<legend>For whom?</legend>
${choice({ ...radio, value: 'site', checked: true }, html`<strong>This site</strong> <span class="muted"><bdi>${siteName}</bdi></span>`)}
${choice({ ...radio, value: 'all' }, html`<strong>Every site</strong> <span class="muted">you have the role of the platform</span>`)}
</fieldset>`
}
