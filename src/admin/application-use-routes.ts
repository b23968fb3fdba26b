import Router from 'koa-router'

import {
  applicationPeoplePage,
  endAllConnectionsPage,
  endConnectionPage,
  refusalsPage,
} from '../../views/admin-application-use.ts'
import { REFUSALS_PER_CLIENT } from '../clients/application-refusals.ts'
import { nothingHere } from '../errors.ts'
import { abilitiesOf } from '../first-party/abilities.ts'
import { doneSentence } from '../first-party/done.ts'
import { seeOther, sendPage } from '../first-party/gate.ts'
import { listRequest, pagerOf } from '../first-party/paging.ts'
import { APPLICATION, findAsked } from './application-routes.ts'
import type { AdminDependencies } from './dependencies.ts'
import type { Entrance } from './entrance.ts'

/** How an application is used: who connected it, and what was refused to it. */
export function applicationUseRoutes(entrance: Entrance, dependencies: AdminDependencies): Router {
  const router = new Router()
  const { connections, listRefusals } = dependencies

  router.get(
    `${APPLICATION}/people`,
    entrance.whereOn.page(async (ctx, operator) => {
      const app = await findAsked(ctx, operator, dependencies)
      const at = (...segments: string[]) =>
        operator.address('applications', app.clientId, ...segments)
      const { rows, next } = await connections.listPeople(app.clientId, listRequest(ctx))
      const page = applicationPeoplePage({
        area: operator.area,
        name: app.name,
        people: rows.map(({ personId, scopes, ...person }) => ({
          ...person,
          ...abilitiesOf(scopes),
          removeHref: at('people', personId, 'end'),
        })),
        removeAllHref: at('people', 'end-all'),
        backHref: at(),
        pager: pagerOf(ctx, next),
        done: doneSentence(ctx, {
          ended: 'The connection was ended. Its tokens are refused.',
          'all-ended': 'All connections were ended. Their tokens are refused.',
        }),
      })
      sendPage(ctx, page)
    }),
  )
  router.get(
    `${APPLICATION}/refusals`,
    entrance.whereOn.page(async (ctx, operator) => {
      const app = await findAsked(ctx, operator, dependencies)
      const page = refusalsPage({
        area: operator.area,
        name: app.name,
        backHref: operator.address('applications', app.clientId),
        refusals: await listRefusals(app.clientId),
        kept: REFUSALS_PER_CLIENT,
      })
      sendPage(ctx, page)
    }),
  )
  endingRoutes(router, entrance, dependencies)
  return router
}

function endingRoutes(router: Router, entrance: Entrance, dependencies: AdminDependencies): void {
  const { applications, connections, forgetGrants } = dependencies
  router.get(
    `${APPLICATION}/people/end-all`,
    entrance.whereOn.page(async (ctx, operator) => {
      const app = await findAsked(ctx, operator, dependencies)
      const page = endAllConnectionsPage({
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
    entrance.whereOn.form(async (ctx, operator) => {
      const app = await findAsked(ctx, operator, dependencies)
      await forgetGrants(await applications.disconnect(app, undefined, operator.actor))
      const people = operator.address('applications', app.clientId, 'people')
      seeOther(ctx, `${people}?done=all-ended`)
    }),
  )
  router.get(
    `${APPLICATION}/people/:person/end`,
    entrance.whereOn.page(async (ctx, operator) => {
      const app = await findAsked(ctx, operator, dependencies)
      const person = await connections.findPerson(app.clientId, ctx.params['person'] ?? '')
      if (!person) throw nothingHere()
      const page = endConnectionPage({
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
    entrance.whereOn.form(async (ctx, operator) => {
      const app = await findAsked(ctx, operator, dependencies)
      const { actor, address } = operator
      const ended = await applications.disconnect(app, ctx.params['person'] ?? '', actor)
      if (ended.length === 0) throw nothingHere()
      await forgetGrants(ended)
      seeOther(ctx, `${address('applications', app.clientId, 'people')}?done=ended`)
    }),
  )
}
