import type Router from 'koa-router'

import { refusalsPage, removeSecretPage } from '../../../views/admin-application-use.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { seeOther, sendPage } from '../../platform/http/page.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { REFUSALS_PER_CLIENT } from '../applications/application-refusals.ts'
import type { OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'
import { resourceServerOf } from './resource-server-routes.ts'

/** The secrets of a resource server, and what was refused to it. */
export function resourceServerSecretRoutes(
  operatorPages: OperatorPages,
  parts: AdminParts,
): Router {
  const router = makeRouter()
  const { secrets, newSecrets, refusals } = parts
  router.post(
    pages.resourceServerSecrets,
    operatorPages.form(async (ctx, operator) => {
      const server = await resourceServerOf(ctx, operator, parts)
      const { clientId: client } = server
      const secret = await secrets.add(server, operator.actor)
      if (secret !== undefined) await newSecrets.keep(operator.session, client, secret)
      const done = secret === undefined ? 'two-secrets' : 'secret-added'
      seeOther(ctx, `${operator.address(pages.resourceServer, { client })}?done=${done}`)
    }),
  )
  router.get(
    pages.removeResourceServerSecret,
    operatorPages.page(async (ctx, operator) => {
      const server = await resourceServerOf(ctx, operator, parts)
      const secret = server.secrets.find(({ id }) => id === ctx.params['secret'])
      if (!secret) throw nothingHere()
      const page = removeSecretPage({
        area: operator.area,
        name: server.name,
        hint: secret.hint,
        action: ctx.path,
        cancelHref: operator.address(pages.resourceServer, { client: server.clientId }),
      })
      sendPage(ctx, page)
    }),
  )
  router.post(
    pages.removeResourceServerSecret,
    operatorPages.form(async (ctx, operator) => {
      const server = await resourceServerOf(ctx, operator, parts)
      const removed = await secrets.remove(server, ctx.params['secret'] ?? '', operator.actor)
      if (!removed) throw nothingHere()
      const { clientId: client } = server
      seeOther(ctx, `${operator.address(pages.resourceServer, { client })}?done=secret-removed`)
    }),
  )
  router.get(
    pages.resourceServerRefusals,
    operatorPages.page(async (ctx, operator) => {
      const { name, clientId: client } = await resourceServerOf(ctx, operator, parts)
      const page = refusalsPage({
        area: operator.area,
        name,
        backHref: operator.address(pages.resourceServer, { client }),
        refusals: await refusals.list(client),
        kept: REFUSALS_PER_CLIENT,
      })
      sendPage(ctx, page)
    }),
  )
  return router
}
