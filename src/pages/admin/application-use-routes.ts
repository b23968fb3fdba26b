import type Router from 'koa-router'

import {
  applicationPeoplePage,
  endAllGrantsPage,
  endGrantPage,
  refusalsPage,
} from '../../../views/admin-application-use.ts'
import { describeScopes } from '../../directory/scopes/scope-sentences.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { noticeOf, seeOther, sendPage } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { REFUSALS_PER_CLIENT } from '../applications/application-refusals.ts'
import { applicationOf } from './application-page.ts'
import type { OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** How an application is used: who connected it, and what was refused to it. */
export function applicationUseRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = makeRouter()
  const { grantLists, refusals, listPages, opened } = parts

  router.get(
    pages.people,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const client = app.clientId
      const found = await grantLists.listPeople(app.clientId, listPages.requestOf(ctx))
      const page = applicationPeoplePage({
        area: operator.area,
        name: app.name,
        people: found.rows.map(({ personId, scopes, ...person }) => ({
          ...person,
          ...describeScopes(scopes, opened),
          removeHref: operator.address(pages.endGrant, { client, person: personId }),
        })),
        removeAllHref: operator.address(pages.endAllGrants, { client }),
        backHref: operator.address(pages.application, { client }),
        pager: listPages.pagerOf(ctx, found),
        done: noticeOf(ctx, {
          ended: 'The access was ended. Its tokens are refused.',
          'all-ended': "Everybody's access was ended. All tokens are refused.",
        }),
      })
      sendPage(ctx, page)
    }),
  )
  router.get(
    pages.refusals,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const page = refusalsPage({
        area: operator.area,
        name: app.name,
        backHref: operator.address(pages.application, { client: app.clientId }),
        refusals: await refusals.list(app.clientId),
        kept: REFUSALS_PER_CLIENT,
      })
      sendPage(ctx, page)
    }),
  )
  endingRoutes(router, operatorPages, parts)
  return router
}

function endingRoutes(router: Router, operatorPages: OperatorPages, parts: AdminParts): void {
  const { applications, grantLists } = parts
  router.get(
    pages.endAllGrants,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const page = endAllGrantsPage({
        area: operator.area,
        name: app.name,
        people: await grantLists.countPeople(app.clientId),
        action: ctx.path,
        cancelHref: operator.address(pages.people, { client: app.clientId }),
      })
      sendPage(ctx, page)
    }),
  )
  router.post(
    pages.endAllGrants,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      await applications.disconnect(app, undefined, operator.actor)
      const people = operator.address(pages.people, { client: app.clientId })
      seeOther(ctx, `${people}?done=all-ended`)
    }),
  )
  router.get(
    pages.endGrant,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const person = await grantLists.findPerson(app.clientId, ctx.params['person'] ?? '')
      if (!person) throw nothingHere()
      const page = endGrantPage({
        area: operator.area,
        name: app.name,
        personName: person.name,
        action: ctx.path,
        cancelHref: operator.address(pages.people, { client: app.clientId }),
      })
      sendPage(ctx, page)
    }),
  )
  router.post(
    pages.endGrant,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const { actor, address } = operator
      const ended = await applications.disconnect(app, ctx.params['person'] ?? '', actor)
      if (ended.length === 0) throw nothingHere()
      seeOther(ctx, `${address(pages.people, { client: app.clientId })}?done=ended`)
    }),
  )
}
