import type Router from 'koa-router'

import {
  documentClientsPage,
  reviewDocumentClientPage,
} from '../../views/admin-document-clients.ts'
import { nothingHere } from '../http/errors.ts'
import { formField } from '../http/form.ts'
import { noticeOf } from '../http/notice.ts'
import { seeOther, sendPage } from '../http/page.ts'
import { pages } from '../http/paths.ts'
import { makeRouter } from '../http/router.ts'
import type { DocumentReviews } from '../metadata-documents/document-review.ts'
import type { ListPages } from '../relying-party/list-pages.ts'
import type { OperatorPages } from './operator-pages.ts'

const reviewAddresses = {
  approved: pages.approveDocumentClient,
  blocked: pages.blockDocumentClient,
} as const

/** What operators decide about clients that describe themselves (specification, Authentication 8). */
export function documentClientRoutes(
  operatorPages: OperatorPages,
  reviews: DocumentReviews,
  listPages: ListPages,
): Router {
  const router = makeRouter()

  router.get(
    pages.documentClients,
    operatorPages.page(async (ctx, { area, address }) => {
      const found = await reviews.listDocumentClients(listPages.requestOf(ctx))
      const reviewHref = (review: keyof typeof reviewAddresses, client: string) =>
        `${address(reviewAddresses[review])}?${new URLSearchParams({ client })}`
      const page = documentClientsPage({
        area,
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
      operatorPages.page(async (ctx, { area, address }) => {
        const clientId = new URLSearchParams(ctx.querystring).get('client') ?? ''
        if (clientId === '') throw nothingHere()
        const page = reviewDocumentClientPage({
          area,
          clientId,
          review,
          action: ctx.path,
          hidden: [{ name: 'client', value: clientId }],
          cancelHref: address(pages.documentClients),
        })
        sendPage(ctx, page)
      }),
    )
    router.post(
      reviewAddresses[review],
      operatorPages.form(async (ctx, { actor, address }) => {
        const clientId = formField(ctx, 'client')
        if (!(await reviews.reviewDocumentClient(clientId, review, actor))) throw nothingHere()
        seeOther(ctx, `${address(pages.documentClients)}?done=${review}`)
      }),
    )
  }
  return router
}
