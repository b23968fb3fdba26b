import {
  documentClientsPage,
  reviewDocumentClientPage,
} from '../../../views/admin-document-clients.ts'
import type { DocumentReviews } from '../../oauth/clients/document-review.ts'
import { nothingHere, notPlatformReviewer } from '../../platform/http/errors.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'

const reviewAddresses = {
  approved: pages.approveDocumentClient,
  blocked: pages.blockDocumentClient,
} as const

type Review = keyof typeof reviewAddresses

/** Registers the pages for reviewing clients with metadata documents (specification, Authentication 8). */
export function documentClientRoutes(
  operatorPages: OperatorPages,
  reviews: DocumentReviews,
  { listPages, keepConfiguredDocument }: Pick<AdminParts, 'listPages' | 'keepConfiguredDocument'>,
): void {
  operatorPages.page(pages.documentClients, async ({ address, site }, ctx) => {
    const found = await reviews.listDocumentClients(site.id, listPages.requestOf(ctx))
    const reviewHref = (review: Review, client: string) =>
      `${address(reviewAddresses[review])}?${new URLSearchParams({ client })}`
    return documentClientsPage({
      clients: found.rows.map((client) => ({
        ...client,
        approveHref: reviewHref('approved', client.clientId),
        blockHref: reviewHref('blocked', client.clientId),
      })),
      pager: listPages.pagerOf(ctx, found),
    })
  })

  /** Returns the page on which the operator confirms the review of a client's current document. */
  const confirmPage = async (
    { address, site, session }: Operator,
    review: Review,
    clientId: string,
    hasChanged: boolean,
  ) => {
    await keepConfiguredDocument(clientId)
    const client = await reviews.findDocumentClient(site.id, clientId)
    if (!client) throw nothingHere()
    return reviewDocumentClientPage({
      client,
      review,
      siteName: site.name,
      decidesForAll: await reviews.decidesForAll(session.person.id),
      hasChanged,
      hidden: { client: client.clientId, fingerprint: client.fingerprint },
      cancelHref: address(pages.documentClients),
    })
  }

  for (const review of ['approved', 'blocked'] as const) {
    operatorPages.page(reviewAddresses[review], (operator, ctx) => {
      const clientId = new URLSearchParams(ctx.querystring).get('client') ?? ''
      return confirmPage(operator, review, clientId, false)
    })
    operatorPages.form(reviewAddresses[review], async (operator, ctx) => {
      const { actor, address, site, session } = operator
      const clientId = formField(ctx, 'client')
      const fingerprint = formField(ctx, 'fingerprint')
      const forAll = formField(ctx, 'for') === 'all'
      // A sign-in with a site's identity provider is not trusted for decisions about all sites.
      if (forAll && session.browser.siteId !== undefined) throw notPlatformReviewer()
      const verdict = { clientId, review, fingerprint, forAll, siteId: site.id }
      const reviewed = await reviews.reviewDocumentClient(verdict, actor)
      if (reviewed === 'unknown') throw nothingHere()
      if (reviewed === 'forbidden') throw notPlatformReviewer()
      if (reviewed === 'done') return `${address(pages.documentClients)}?done=${review}`
      // The document has changed since the page was shown, so let the operator review the new version.
      ctx.status = 409
      return await confirmPage(operator, review, clientId, true)
    })
  }
}
