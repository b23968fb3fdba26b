import type Router from 'koa-router'

import {
  deleteResourceServerPage,
  disableResourceServerPage,
  resourceServerPage,
  resourceServersPage,
} from '../../../views/admin-resource-servers.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { noticeOf, seeOther, sendPage } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { problemOfName } from '../applications/application-form.ts'
import {
  type Application,
  findResourceServer,
  listResourceServers,
} from '../applications/application-lists.ts'
import { LIVE_SECRETS_MAX } from '../applications/application-secrets.ts'
import {
  RESOURCE_SERVERS_PER_SITE_MAX,
  registerResourceServer,
} from '../applications/register-resource-server.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/**
 * The resource servers of a site. They do not depend on its beta feature: they ask about tokens, which
 * end with it where they must.
 */
export function resourceServerRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = makeRouter()
  const { newSecrets, database } = parts
  router.get(
    pages.resourceServers,
    operatorPages.page(async (ctx, operator) => {
      await sendList(ctx, { operator, typed: '', problem: undefined }, parts)
    }),
  )
  router.post(
    pages.resourceServers,
    operatorPages.form(async (ctx, operator) => {
      const { site, actor, session, address } = operator
      const name = formField(ctx, 'name').normalize('NFC').trim()
      const problem = problemOfName(name, 'Enter a name, such as that of the API or the proxy.')
      if (problem !== undefined)
        return await sendList(ctx, { operator, typed: name, problem }, parts)
      const made = await registerResourceServer(database, { siteId: site.id, name }, actor)
      if (made === 'full') {
        const full = `A site may have ${RESOURCE_SERVERS_PER_SITE_MAX} resource servers. Delete one first.`
        return await sendList(ctx, { operator, typed: name, problem: full }, parts)
      }
      await newSecrets.keep(session, made.clientId, made.secret)
      seeOther(ctx, `${address(pages.resourceServer, { client: made.clientId })}?done=registered`)
    }),
  )
  router.get(
    pages.resourceServer,
    operatorPages.page(async (ctx, operator) => {
      const server = await resourceServerOf(ctx, operator, parts)
      await sendOne(ctx, { server, operator }, parts)
    }),
  )
  stopRoutes(router, operatorPages, parts)
  return router
}

/** The resource server that the address names, at this site. */
export async function resourceServerOf(
  ctx: PageContext,
  { site }: Operator,
  { database }: Pick<AdminParts, 'database'>,
): Promise<Application> {
  const server = await findResourceServer(database.kysely, site.id, ctx.params['client'] ?? '')
  if (!server) throw nothingHere()
  return server
}

interface List {
  readonly operator: Operator
  readonly typed: string
  readonly problem: string | undefined
}

async function sendList(
  ctx: PageContext,
  { operator: { area, site, address }, typed, problem }: List,
  { database, listPages }: AdminParts,
): Promise<void> {
  const found = await listResourceServers(database.kysely, site.id, listPages.requestOf(ctx))
  if (problem !== undefined) ctx.status = 422
  const page = resourceServersPage({
    area,
    siteName: site.name,
    resourceServers: found.rows.map(({ clientId, name, disabled }) => ({
      ...{ clientId, name, disabled },
      href: address(pages.resourceServer, { client: clientId }),
    })),
    action: address(pages.resourceServers),
    typed,
    problem,
    pager: listPages.pagerOf(ctx, found),
    done: noticeOf(ctx, { deleted: 'The resource server was deleted.' }),
  })
  sendPage(ctx, page)
}

interface Shown {
  readonly server: Application
  readonly operator: Operator
}

async function sendOne(
  ctx: PageContext,
  { server, operator: { area, site, session, address } }: Shown,
  { newSecrets, baseUrl }: AdminParts,
): Promise<void> {
  const { clientId: client, secrets } = server
  const at = (pattern: string) => address(pattern, { client })
  const page = resourceServerPage({
    area,
    siteName: site.name,
    resourceServer: server,
    secrets: secrets.map(({ id, hint, createdAt }) => ({
      ...{ hint, createdAt },
      removeHref:
        secrets.length > 1
          ? address(pages.removeResourceServerSecret, { client, secret: id })
          : undefined,
    })),
    mayAddSecret: secrets.length < LIVE_SECRETS_MAX,
    newSecret: await newSecrets.take(session, client),
    settings: {
      introspection: baseUrl + paths.introspection,
      forwardAuth: baseUrl + paths.forwardAuth,
      issuer: baseUrl,
      audience: baseUrl,
    },
    hrefs: {
      refusals: at(pages.resourceServerRefusals),
      addSecret: at(pages.resourceServerSecrets),
      remove: at(pages.deleteResourceServer),
      disable: at(pages.disableResourceServer),
      enable: at(pages.enableResourceServer),
    },
    done: noticeOf(ctx, doneSentences),
  })
  sendPage(ctx, page)
}

const doneSentences = {
  registered: 'The resource server was registered.',
  disabled: 'The resource server was disabled. It is told of no token.',
  enabled: 'The resource server was enabled.',
  'secret-added': 'A new secret was made. The other one works until you remove it.',
  'secret-removed': 'The secret was removed.',
  'two-secrets': 'Two secrets live already. Remove one before you make another.',
}

/** What cannot be taken back, or closes something, asks once. */
function stopRoutes(router: Router, operatorPages: OperatorPages, parts: AdminParts): void {
  const { applications } = parts
  for (const [pattern, confirmPage] of [
    [pages.disableResourceServer, disableResourceServerPage],
    [pages.deleteResourceServer, deleteResourceServerPage],
  ] as const) {
    router.get(
      pattern,
      operatorPages.page(async (ctx, operator) => {
        const { name, clientId: client } = await resourceServerOf(ctx, operator, parts)
        const page = confirmPage({
          area: operator.area,
          name,
          action: operator.address(pattern, { client }),
          cancelHref: operator.address(pages.resourceServer, { client }),
        })
        sendPage(ctx, page)
      }),
    )
  }
  for (const [pattern, done] of [
    [pages.disableResourceServer, 'disabled'],
    [pages.enableResourceServer, 'enabled'],
  ] as const) {
    router.post(
      pattern,
      operatorPages.form(async (ctx, operator) => {
        const server = await resourceServerOf(ctx, operator, parts)
        await applications.setEnabled(server, done === 'enabled', operator.actor)
        const { clientId: client } = server
        seeOther(ctx, `${operator.address(pages.resourceServer, { client })}?done=${done}`)
      }),
    )
  }
  router.post(
    pages.deleteResourceServer,
    operatorPages.form(async (ctx, operator) => {
      const server = await resourceServerOf(ctx, operator, parts)
      await applications.remove(server, operator.actor)
      seeOther(ctx, `${operator.address(pages.resourceServers)}?done=deleted`)
    }),
  )
}
