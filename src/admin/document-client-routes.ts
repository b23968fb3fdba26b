import Router from 'koa-router'

import {
  documentClientsPage,
  reviewDocumentClientPage,
} from '../../views/admin-document-clients.ts'
import { nothingHere } from '../http/errors.ts'
import { formField } from '../http/form.ts'
import { noticeOf } from '../http/notice.ts'
import { seeOther, sendPage } from '../http/page.ts'
import { pages } from '../http/page-paths.ts'
import type { DocumentReviews } from '../metadata-documents/document-review.ts'
import type { ListPages } from '../relying-party/list-pages.ts'
import type { OperatorPages } from './operator-pages.ts'

const CLIENTS = `${pages.admin}/:site/self-declared-clients`

/** What operators decide about clients that describe themselves (specification, Authentication 8). */
export function documentClientRoutes(
  operatorPages: OperatorPages,
  reviews: DocumentReviews,
  listPages: ListPages,
): Router {
  const router = new Router()

  router.get(
    CLIENTS,
    operatorPages.page(async (ctx, { area, address }) => {
      const found = await reviews.listDocumentClients(listPages.requestOf(ctx))
      const reviewHref = (review: string, client: string) =>
        `${address('self-declared-clients', review)}?${new URLSearchParams({ client })}`
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
      `${CLIENTS}/${review}`,
      operatorPages.page(async (ctx, { area, address }) => {
        const clientId = new URLSearchParams(ctx.querystring).get('client') ?? ''
        if (clientId === '') throw nothingHere()
        const page = reviewDocumentClientPage({
          area,
          clientId,
          review,
          action: ctx.path,
          hidden: [{ name: 'client', value: clientId }],
          cancelHref: address('self-declared-clients'),
        })
        sendPage(ctx, page)
      }),
    )
    router.post(
      `${CLIENTS}/${review}`,
      operatorPages.form(async (ctx, { actor, address }) => {
        const clientId = formField(ctx, 'client')
        if (!(await reviews.reviewDocumentClient(clientId, review, actor))) throw nothingHere()
        seeOther(ctx, `${address('self-declared-clients')}?done=${review}`)
      }),
    )
  }
  return router
}
