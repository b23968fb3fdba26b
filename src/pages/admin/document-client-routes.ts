import type Router from 'koa-router'

import {
  documentClientsPage,
  reviewDocumentClientPage,
} from '../../../views/admin-document-clients.ts'
import type { DocumentReviews } from '../../oauth/clients/document-review.ts'
import { nothingHere, notThePlatform } from '../../platform/http/errors.ts'
import { noticeOf, seeOther, sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { ListPages } from '../relying-party/list-pages.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'

const reviewAddresses = {
  approved: pages.approveDocumentClient,
  blocked: pages.blockDocumentClient,
} as const

type Review = keyof typeof reviewAddresses

/** What operators decide about clients that describe themselves (specification, Authentication 8). */
export function documentClientRoutes(
  operatorPages: OperatorPages,
  reviews: DocumentReviews,
  listPages: ListPages,
): Router {
  const router = makeRouter()

  router.get(
    pages.documentClients,
    operatorPages.page(async (ctx, { area, address, site }) => {
      const found = await reviews.listDocumentClients(site.id, listPages.requestOf(ctx))
      const reviewHref = (review: Review, client: string) =>
        `${address(reviewAddresses[review])}?${new URLSearchParams({ client })}`
      const page = documentClientsPage({
        area,
        siteName: site.name,
        clients: found.rows.map((client) => ({
          ...client,
          approveHref: reviewHref('approved', client.clientId),
          blockHref: reviewHref('blocked', client.clientId),
        })),
        pager: listPages.pagerOf(ctx, found),
        done: noticeOf(ctx, {
          approved: 'The client was approved.',
          blocked: 'The client was blocked. Its tokens are refused.',
        }),
      })
      sendPage(ctx, page)
    }),
  )

  for (const review of ['approved', 'blocked'] as const) {
    router.get(
      reviewAddresses[review],
      operatorPages.page(async (ctx, operator) => {
        const clientId = new URLSearchParams(ctx.querystring).get('client') ?? ''
        await ask(ctx, operator, { reviews, review, clientId })
      }),
    )
    router.post(
      reviewAddresses[review],
      operatorPages.form(async (ctx, operator) => {
        const { actor, address, site } = operator
        const clientId = formField(ctx, 'client')
        const fingerprint = formField(ctx, 'fingerprint')
        const forAll = formField(ctx, 'for') === 'all'
        const verdict = { clientId, review, fingerprint, forAll, siteId: site.id }
        const reviewed = await reviews.reviewDocumentClient(verdict, actor)
        if (reviewed === 'unknown') throw nothingHere()
        if (reviewed === 'forbidden') throw notThePlatform()
        if (reviewed === 'done') {
          return seeOther(ctx, `${address(pages.documentClients)}?done=${review}`)
        }
        // What the operator saw is not what is there: they see that, and decide again.
        ctx.status = 409
        await ask(ctx, operator, { reviews, review, clientId, hasChanged: true })
      }),
    )
  }
  return router
}

interface Asked {
  readonly reviews: DocumentReviews
  readonly review: Review
  readonly clientId: string
  readonly hasChanged?: boolean
}

/** The page on which a review is confirmed, of the document as it is now. */
async function ask(
  ctx: PageContext,
  { area, address, site, session }: Operator,
  { reviews, review, clientId, hasChanged = false }: Asked,
): Promise<void> {
  const client = await reviews.findDocumentClient(site.id, clientId)
  if (!client) throw nothingHere()
  const page = reviewDocumentClientPage({
    area,
    client,
    review,
    siteName: site.name,
    decidesForAll: await reviews.decidesForAll(session.person.id),
    hasChanged,
    action: ctx.path,
    hidden: [
      { name: 'client', value: client.clientId },
      { name: 'fingerprint', value: client.fingerprint },
    ],
    cancelHref: address(pages.documentClients),
  })
  sendPage(ctx, page)
}
