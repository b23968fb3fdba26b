import type Router from 'koa-router'

import {
  deleteApplicationPage,
  disableApplicationPage,
  removeSecretPage,
} from '../../../views/admin-application-use.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { applicationOf } from './application-page.ts'
import type { OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** Stopping an application, and its secrets. What cannot be taken back asks once. */
export function applicationChangeRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = makeRouter()
  const { applications, grantLists } = parts

  for (const [address, confirmPage] of [
    [pages.disableApplication, disableApplicationPage],
    [pages.deleteApplication, deleteApplicationPage],
  ] as const) {
    router.get(
      address,
      operatorPages.whereOn.page(async (ctx, operator) => {
        const app = await applicationOf(ctx, operator, parts)
        const page = confirmPage({
          area: operator.area,
          name: app.name,
          people: await grantLists.countPeople(app.clientId),
          action: operator.address(address, { client: app.clientId }),
          cancelHref: operator.address(pages.application, { client: app.clientId }),
        })
        sendPage(ctx, page)
      }),
    )
  }

  for (const [address, enabled] of [
    [pages.disableApplication, false],
    [pages.enableApplication, true],
  ] as const) {
    router.post(
      address,
      operatorPages.whereOn.form(async (ctx, operator) => {
        const app = await applicationOf(ctx, operator, parts)
        await applications.setEnabled(app, enabled, operator.actor)
        seeOther(
          ctx,
          `${operator.address(pages.application, { client: app.clientId })}?done=${enabled ? 'enabled' : 'disabled'}`,
        )
      }),
    )
  }

  router.post(
    pages.deleteApplication,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      await applications.remove(app, operator.actor)
      seeOther(ctx, `${operator.address(pages.applications)}?done=deleted`)
    }),
  )
  secretRoutes(router, operatorPages, parts)
  return router
}

function secretRoutes(router: Router, operatorPages: OperatorPages, parts: AdminParts): void {
  const { secrets, newSecrets } = parts
  router.post(
    pages.secrets,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const secret = await secrets.add(app, operator.actor)
      if (secret !== undefined) await newSecrets.keep(operator.session, app.clientId, secret)
      const done = secret === undefined ? 'two-secrets' : 'secret-added'
      seeOther(ctx, `${operator.address(pages.application, { client: app.clientId })}?done=${done}`)
    }),
  )
  router.get(
    pages.removeSecret,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const secret = app.secrets.find(({ id }) => id === ctx.params['secret'])
      if (!secret) throw nothingHere()
      const page = removeSecretPage({
        area: operator.area,
        name: app.name,
        hint: secret.hint,
        action: ctx.path,
        cancelHref: operator.address(pages.application, { client: app.clientId }),
      })
      sendPage(ctx, page)
    }),
  )
  router.post(
    pages.removeSecret,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      const removed = await secrets.remove(app, ctx.params['secret'] ?? '', operator.actor)
      if (!removed) throw nothingHere()
      seeOther(
        ctx,
        `${operator.address(pages.application, { client: app.clientId })}?done=secret-removed`,
      )
    }),
  )
}
