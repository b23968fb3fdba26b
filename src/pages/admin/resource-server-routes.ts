import { resourceServerPage, resourceServersPage } from '../../../views/admin-resource-servers.ts'
import type { Html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import { invalid } from '../../platform/http/page.ts'
import { formField } from '../../platform/http/page-form.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import { problemOfName } from '../applications/application-form.ts'
import { listApplications } from '../applications/application-lists.ts'
import { applicationKinds, newResourceServer } from '../applications/application-store.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import { secretOwner, sharedView } from './stop-and-secret-routes.ts'

/** Registers the pages for the resource servers of a site. They are available even if MCP connections are off. */
export function resourceServerRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { applications, newSecrets, database, listPages, baseUrl } = parts

  const listPage = async (
    { site, address }: Operator,
    ctx: PageContext,
    typed = '',
    problem?: Html,
  ) => {
    const request = listPages.requestOf(ctx)
    const only = { kind: 'resource_server' } as const
    const found = await listApplications(database.kysely, site.id, request, only)
    return resourceServersPage({
      resourceServers: found.rows.map((server) => ({
        ...server,
        href: address(pages.resourceServer, { client: server.clientId }),
      })),
      typed,
      problem,
      pager: listPages.pagerOf(ctx, found),
    })
  }

  operatorPages.page(pages.resourceServers, (operator, ctx) => listPage(operator, ctx))
  operatorPages.freshForm(pages.resourceServers, pages.resourceServers, async (operator, ctx) => {
    const { site, actor, address } = operator
    const name = formField(ctx, 'name').normalize('NFC').trim()
    const problem = problemOfName(name)
    if (problem !== undefined) return invalid(ctx, await listPage(operator, ctx, name, problem))
    const made = await applications.create(site.id, newResourceServer(name), actor)
    if (typeof made === 'string') {
      const { perSiteMax } = applicationKinds.resource_server
      const full = text('resourceServers.tooMany', { count: perSiteMax })
      const taken = text('resourceServers.sameName')
      return invalid(ctx, await listPage(operator, ctx, name, made === 'taken' ? taken : full))
    }
    const { clientId: client, secret } = made
    newSecrets.set(ctx, secretOwner(operator, client), secret)
    return `${address(pages.resourceServer, { client })}?done=registered`
  })

  operatorPages.of('resource_server').page(pages.resourceServer, (server, operator, ctx) =>
    resourceServerPage({
      ...sharedView(server, operator, ctx, parts),
      siteName: operator.site.name,
      introspection: baseUrl + paths.introspection,
      forwardAuth: baseUrl + paths.forwardAuth,
      issuer: baseUrl,
    }),
  )
}
