import {
  type AreaPage,
  type ConfirmPage,
  cards,
  confirmPage,
  type ListView,
  plainList,
} from './area.ts'
import { foreignName } from './client-view.ts'
import { choice, problemAlert } from './forms.ts'
import { type Html, html } from './html.ts'
import { inCode, text, timeOf } from './text.ts'

export interface DocumentClientsPage extends ListView {
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

/** Lists the clients with metadata documents. */
export function documentClientsPage(page: DocumentClientsPage): AreaPage {
  return {
    title: text('adminNav.documentClients'),
    id: 'document-clients-page',
    body: html`<p>${text('documentClients.intro')}</p>
${cards(page.clients.map(client), html`<p class="empty">${text('documentClients.none')}</p>`, page.pager)}`,
  }
}

function client(view: DocumentClientView): Html {
  const { state, decided } = view
  const reviewLink = (review: Review, href: string) =>
    html`<a class="button second" href="${href}"><span>${text(`documentClients.link.${review}`, { name: html`<bdi>${view.name}</bdi>` })}</span></a>`
  return html`<h2>${foreignName(view.name)}</h2>
<dl class="facts">
${documentFacts(view)}
<div><dt>${text('documentClients.firstSeen')}</dt><dd>${timeOf(view.firstSeenAt)}</dd></div>
<div><dt>${text('documentClients.review')}</dt><dd>${toned(state)}${
    decided &&
    html`<br><span class="muted">${text(
      decided.forAll ? 'documentClients.forAll' : 'documentClients.forOne',
      {
        time: timeOf(decided.at),
        name: decided.by ? html`<bdi>${decided.by}</bdi>` : text('documentClients.deletedAccount'),
      },
    )}</span>`
  }</dd></div>
</dl>
<div class="actions">
${state !== 'approved' && reviewLink('approved', view.approveHref)}
${state !== 'blocked' && reviewLink('blocked', view.blockHref)}
</div>`
}

function toned(state: DocumentClientView['state']): Html {
  const words = text(`documentClients.states.${state}`)
  if (state === 'unreviewed' || state === 'changed') return words
  return html`<span class="tag ${state === 'approved' ? 'good' : 'warning'}">${words}</span>`
}

function documentFacts({ clientId, redirectUris }: ReviewedView): Html {
  return html`<div><dt>${text('documentClients.document')}</dt><dd><code>${clientId}</code></dd></div>
<div><dt>${text('applications.redirects')}</dt><dd>${plainList(redirectUris.map(inCode))}</dd></div>`
}

type Review = 'approved' | 'blocked'

export interface ReviewDocumentClientPage extends Pick<ConfirmPage, 'hidden' | 'cancelHref'> {
  readonly client: ReviewedView
  readonly siteName: string
  readonly review: Review
  /** Whether the person may also decide for all sites. */
  readonly decidesForAll: boolean
  /** Whether the document changed while the page was open. If so, the review was not stored. */
  readonly hasChanged: boolean
}

/** Asks for confirmation of a review. The form contains the fingerprint of the document shown. */
export function reviewDocumentClientPage(page: ReviewDocumentClientPage): AreaPage {
  const { client, review, hasChanged } = page
  const site = html`<bdi>${page.siteName}</bdi>`
  return confirmPage({
    ...page,
    title: text(`documentClients.${review}.title`, { name: foreignName(client.name) }),
    id: 'review-page',
    details: html`${problemAlert('review-problem', hasChanged ? text('documentClients.changed') : undefined)}
<dl class="facts">
${documentFacts(client)}
</dl>
`,
    effect: text(`documentClients.${review}`, { site }),
    fields: page.decidesForAll ? forWhom(site) : undefined,
    confirm: text(`documentClients.${review}.confirm`),
    isHarmless: review === 'approved',
  })
}

function forWhom(site: Html): Html {
  const radio = { type: 'radio', name: 'for' } as const
  return html`<fieldset>
<legend>${text('documentClients.for')}</legend>
${choice({ ...radio, value: 'site', checked: true }, text('documentClients.for.site', { site }))}
${choice({ ...radio, value: 'all' }, text('documentClients.for.all'))}
</fieldset>`
}
