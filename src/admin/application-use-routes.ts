import Router from 'koa-router'

import {
  applicationPeoplePage,
  endAllGrantsPage,
  endGrantPage,
  refusalsPage,
} from '../../views/admin-application-use.ts'
import { REFUSALS_PER_CLIENT } from '../applications/application-refusals.ts'
import { nothingHere } from '../http/errors.ts'
import { noticeOf } from '../http/notice.ts'
import { listRequest, pagerOf } from '../relying-party/list-pages.ts'
import { seeOther, sendPage } from '../relying-party/signed-in-pages.ts'
import { describeScopes } from '../scopes/scope-sentences.ts'
import { APPLICATION, applicationOf } from './application-routes.ts'
import type { OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** How an application is used: who connected it, and what was refused to it. */
export function applicationUseRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = new Router()
  const { connections, refusals } = parts

  router.get(
    `${APPLICATION}/people`,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const at = (...segments: string[]) =>
        operator.address('applications', app.clientId, ...segments)
      const { rows, next } = await connections.listPeople(app.clientId, listRequest(ctx))
      const page = applicationPeoplePage({
        area: operator.area,
        name: app.name,
        people: rows.map(({ personId, scopes, ...person }) => ({
          ...person,
          ...describeScopes(scopes),
          removeHref: at('people', personId, 'end'),
        })),
        removeAllHref: at('people', 'end-all'),
        backHref: at(),
        pager: pagerOf(ctx, next),
        done: noticeOf(ctx, {
          ended: 'The connection was ended. Its tokens are refused.',
          'all-ended': 'All connections were ended. Their tokens are refused.',
        }),
      })
      sendPage(ctx, page)
    }),
  )
  router.get(
    `${APPLICATION}/refusals`,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const page = refusalsPage({
        area: operator.area,
        name: app.name,
        backHref: operator.address('applications', app.clientId),
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
  const { applications, connections, forgetGrants } = parts
  router.get(
    `${APPLICATION}/people/end-all`,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const page = endAllGrantsPage({
        area: operator.area,
        name: app.name,
        people: await connections.countPeople(app.clientId),
        action: ctx.path,
        cancelHref: operator.address('applications', app.clientId, 'people'),
      })
      sendPage(ctx, page)
    }),
  )
  router.post(
    `${APPLICATION}/people/end-all`,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      await forgetGrants(await applications.disconnect(app, undefined, operator.actor))
      const people = operator.address('applications', app.clientId, 'people')
      seeOther(ctx, `${people}?done=all-ended`)
    }),
  )
  router.get(
    `${APPLICATION}/people/:person/end`,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const person = await connections.findPerson(app.clientId, ctx.params['person'] ?? '')
      if (!person) throw nothingHere()
      const page = endGrantPage({
        area: operator.area,
        name: app.name,
        personName: person.name,
        action: ctx.path,
        cancelHref: operator.address('applications', app.clientId, 'people'),
      })
      sendPage(ctx, page)
    }),
  )
  router.post(
    `${APPLICATION}/people/:person/end`,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const { actor, address } = operator
      const ended = await applications.disconnect(app, ctx.params['person'] ?? '', actor)
      if (ended.length === 0) throw nothingHere()
      await forgetGrants(ended)
      seeOther(ctx, `${address('applications', app.clientId, 'people')}?done=ended`)
    }),
  )
}
