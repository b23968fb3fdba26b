import Router from 'koa-router'

import {
  deleteApplicationPage,
  disableApplicationPage,
  removeSecretPage,
} from '../../views/admin-application-use.ts'
import { nothingHere } from '../http/errors.ts'
import { seeOther, sendPage } from '../relying-party/signed-in-pages.ts'
import { APPLICATION, applicationOf } from './application-routes.ts'
import type { OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** Stopping an application, and its secrets. What cannot be taken back asks once. */
export function applicationChangeRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = new Router()
  const { applications, connections, forgetGrants } = parts

  for (const [word, confirmPage] of [
    ['disable', disableApplicationPage],
    ['delete', deleteApplicationPage],
  ] as const) {
    router.get(
      `${APPLICATION}/${word}`,
      operatorPages.whereOn.page(async (ctx, operator) => {
        const app = await applicationOf(ctx, operator, parts)
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
      operatorPages.whereOn.form(async (ctx, operator) => {
        const app = await applicationOf(ctx, operator, parts)
        await applications.setEnabled(app, enabled, operator.actor)
        seeOther(ctx, `${operator.address('applications', app.clientId)}?done=${word}d`)
      }),
    )
  }

  router.post(
    `${APPLICATION}/delete`,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      await forgetGrants(await applications.remove(app, operator.actor))
      seeOther(ctx, `${operator.address('applications')}?done=deleted`)
    }),
  )
  secretRoutes(router, operatorPages, parts)
  return router
}

function secretRoutes(router: Router, operatorPages: OperatorPages, parts: AdminParts): void {
  const { secrets, newSecrets } = parts
  router.post(
    `${APPLICATION}/secrets`,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const secret = await secrets.add(app, operator.actor)
      if (secret !== undefined) await newSecrets.keep(operator.session, app.clientId, secret)
      const done = secret === undefined ? 'two-secrets' : 'secret-added'
      seeOther(ctx, `${operator.address('applications', app.clientId)}?done=${done}`)
    }),
  )
  router.get(
    `${APPLICATION}/secrets/:secret/remove`,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
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
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const removed = await secrets.remove(app, ctx.params['secret'] ?? '', operator.actor)
      if (!removed) throw nothingHere()
      seeOther(ctx, `${operator.address('applications', app.clientId)}?done=secret-removed`)
    }),
  )
}
