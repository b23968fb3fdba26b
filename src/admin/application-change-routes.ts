import Router from 'koa-router'

import {
  deleteApplicationPage,
  disableApplicationPage,
  removeSecretPage,
} from '../../views/admin-application-use.ts'
import { nothingHere } from '../errors.ts'
import { seeOther, sendPage } from '../first-party/gate.ts'
import { APPLICATION, findAsked } from './application-routes.ts'
import type { AdminDependencies } from './dependencies.ts'
import type { Entrance } from './entrance.ts'

/** Stopping an application, and its secrets. What cannot be taken back asks once. */
export function applicationChangeRoutes(
  entrance: Entrance,
  dependencies: AdminDependencies,
): Router {
  const router = new Router()
  const { applications, connections, forgetGrants } = dependencies

  for (const [word, confirmPage] of [
    ['disable', disableApplicationPage],
    ['delete', deleteApplicationPage],
  ] as const) {
    router.get(
      `${APPLICATION}/${word}`,
      entrance.whereOn.page(async (ctx, operator) => {
        const app = await findAsked(ctx, operator, dependencies)
        const page = confirmPage({
          area: operator.area,
          name: app.name,
          people: await connections.countPeople(app.clientId),
          action: operator.address('applications', app.clientId, word),
          cancelHref: operator.address('applications', app.clientId),
        })
        sendPage(ctx, page)
      }),
    )
  }

  for (const [word, enabled] of [
    ['disable', false],
    ['enable', true],
  ] as const) {
    router.post(
      `${APPLICATION}/${word}`,
      entrance.whereOn.form(async (ctx, operator) => {
        const app = await findAsked(ctx, operator, dependencies)
        await applications.setEnabled(app, enabled, operator.actor)
        seeOther(ctx, `${operator.address('applications', app.clientId)}?done=${word}d`)
      }),
    )
  }

  router.post(
    `${APPLICATION}/delete`,
    entrance.whereOn.form(async (ctx, operator) => {
      const app = await findAsked(ctx, operator, dependencies)
      await forgetGrants(await applications.remove(app, operator.actor))
      seeOther(ctx, `${operator.address('applications')}?done=deleted`)
    }),
  )
  secretRoutes(router, entrance, dependencies)
  return router
}

function secretRoutes(router: Router, entrance: Entrance, dependencies: AdminDependencies): void {
  const { secrets, newSecrets } = dependencies
  router.post(
    `${APPLICATION}/secrets`,
    entrance.whereOn.form(async (ctx, operator) => {
      const app = await findAsked(ctx, operator, dependencies)
      const secret = await secrets.add(app, operator.actor)
      if (secret !== undefined) await newSecrets.keep(operator.visitor, app.clientId, secret)
      const done = secret === undefined ? 'two-secrets' : 'secret-added'
      seeOther(ctx, `${operator.address('applications', app.clientId)}?done=${done}`)
    }),
  )
  router.get(
    `${APPLICATION}/secrets/:secret/remove`,
    entrance.whereOn.page(async (ctx, operator) => {
      const app = await findAsked(ctx, operator, dependencies)
      const secret = app.secrets.find(({ id }) => id === ctx.params['secret'])
      if (!secret) throw nothingHere()
      const page = removeSecretPage({
        area: operator.area,
        name: app.name,
        hint: secret.hint,
        action: ctx.path,
        cancelHref: operator.address('applications', app.clientId),
      })
      sendPage(ctx, page)
    }),
  )
  router.post(
    `${APPLICATION}/secrets/:secret/remove`,
    entrance.whereOn.form(async (ctx, operator) => {
      const app = await findAsked(ctx, operator, dependencies)
      const removed = await secrets.remove(app, ctx.params['secret'] ?? '', operator.actor)
      if (!removed) throw nothingHere()
      seeOther(ctx, `${operator.address('applications', app.clientId)}?done=secret-removed`)
    }),
  )
}
