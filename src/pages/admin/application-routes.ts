import { applicationPeoplePage } from '../../../views/admin-application-use.ts'
import { applicationPage, applicationsPage, setUpPage } from '../../../views/admin-applications.ts'
import { confirmPage } from '../../../views/area.ts'
import { foreignName } from '../../../views/client-view.ts'
import { html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { describeScopes } from '../../directory/scopes/scope-uses.ts'
import { summarizeUse } from '../../oauth/grants/grant-lists.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { pages, paths, planPaths } from '../../platform/http/paths.ts'
import { choosableScopes } from '../applications/application-form.ts'
import {
  type Application,
  countRefusals,
  listApplications,
} from '../applications/application-lists.ts'
import { REFUSALS_PER_CLIENT } from '../applications/refused-requests.ts'
import { canReturnTo, memberSteps } from '../assistants/connect-steps.ts'
import { filterOf } from '../relying-party/list-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import { frameOf, sharedView } from './stop-and-secret-routes.ts'

const DAY_MS = 86_400_000

/** Registers the pages for a site's applications: the list, each application, its set-up and its people. */
export function applicationRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { database, listPages, now, offersChoices } = parts

  operatorPages.whereOn.page(pages.applications, async ({ site, address }, ctx) => {
    const search = filterOf(ctx, 'search').trim()
    const kept = new URLSearchParams(search && { search })
    const request = listPages.requestOf(ctx, kept)
    const found = await listApplications(database.kysely, site.id, request, { search })
    // Include an empty id, because PostgreSQL rejects an empty list.
    const ids = ['', ...found.rows.map(({ clientId }) => clientId)]
    const uses = await summarizeUse(database.kysely, ids, now())
    const refused = await countRefusals(database.kysely, ids, now() - 7 * DAY_MS)
    return applicationsPage({
      search,
      applications: found.rows.map(({ clientId, name, disabled, ...row }) => {
        const { people = 0, lastUsedAt } = uses.get(clientId) ?? {}
        const count = refused.get(clientId) ?? 0
        return {
          ...{ name, disabled, people: Number(people), lastUsedAt: lastUsedAt ?? undefined },
          assistant: row.assistant,
          kind: applicationKind(row),
          refusals: `${count}${count >= REFUSALS_PER_CLIENT ? '+' : ''}`,
          href: address(pages.application, { client: clientId }),
        }
      }),
      isOwner: site.roles.includes('owner'),
      siteHref: address(pages.site),
      pager: listPages.pagerOf(ctx, found, kept),
    })
  })

  const onApplication = operatorPages.of('site')
  onApplication.page(pages.application, (app, operator, ctx) =>
    applicationPage({
      ...sharedView(app, operator, ctx, parts),
      scopes: choosableScopes(app.isOperator).filter(({ name }) => app.scopes.includes(name)),
      offersChoices,
    }),
  )
  onApplication.page(pages.setUpApplication, (app, operator, ctx) =>
    setUpPage({ ...frameOf(app, operator, ctx), ...instructionsFor(app, operator, parts) }),
  )
  connectedPeopleRoutes(operatorPages, parts)
}

type Kinded = Pick<Application, 'authMethod' | 'isOperator'> & { readonly assistant: string | null }

function applicationKind({ authMethod, assistant, isOperator }: Kinded) {
  if (isOperator) return 'operator'
  if (assistant !== null) return 'assistant'
  return authMethod === 'none' ? 'public' : 'confidential'
}

/** Returns the settings that the application's developer needs, and the steps for members to connect assistants. */
function instructionsFor(
  app: Application,
  { site, address }: Operator,
  { baseUrl, assistants }: AdminParts,
) {
  const url = baseUrl + (app.isOperator ? paths.mcpAdmin : paths.mcpMember)
  const fitting = assistants
    .filter((assistant) => app.scopes.length > 0 && canReturnTo(assistant, app))
    .filter(({ id }) => app.assistant === undefined || app.assistant === id)
  return {
    issuer: baseUrl,
    discoveryHref: baseUrl + paths.openidConfiguration,
    scope: [...scopeNames('identity'), ...app.scopes].join(' '),
    pushesTo: app.further.pushesRequests ? baseUrl + planPaths.pushedAuthorization : undefined,
    bindsTokens: app.further.bindsTokens,
    toolAddress: url,
    assistants:
      app.authMethod === 'none'
        ? fitting.map((assistant) => memberSteps(assistant, site, app, url))
        : undefined,
    assistantsHref: address(pages.assistants),
    local: isLoopbackUrl(baseUrl),
  }
}

/** Registers the page that lists the people who connected an application, and the forms that end their access. */
function connectedPeopleRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { applications, grantLists, listPages, scopeUses } = parts
  const onApplication = operatorPages.of('site')
  onApplication.page(pages.people, async (app, operator, ctx) => {
    const { address } = operator
    const found = await grantLists.listPeople(app.clientId, listPages.requestOf(ctx))
    return applicationPeoplePage({
      ...frameOf(app, operator, ctx),
      people: found.rows.map(({ personId, scopes, ...person }) => ({
        ...person,
        mayChange: describeScopes(scopes, scopeUses).canChange.length > 0,
        removeHref: address(pages.endGrant, { person: personId }),
      })),
      pager: listPages.pagerOf(ctx, found),
    })
  })
  onApplication.page(pages.endAllGrants, async ({ clientId, name }, { address }) =>
    confirmPage({
      id: 'end-all-page',
      title: text('applications.endAll.title', { app: html`<bdi>${name}</bdi>` }),
      effect: text('applications.endAll.effect', {
        people: await grantLists.countPeople(clientId),
      }),
      confirm: text('applications.endAll'),
      cancelHref: address(pages.people),
    }),
  )
  onApplication.form(pages.endAllGrants, async (app, { actor, address }) => {
    await applications.disconnect(app, undefined, actor)
    return `${address(pages.people)}?done=all-ended`
  })
  onApplication.page(pages.endGrant, async ({ clientId, name }, { address }, ctx) => {
    const person = await grantLists.findPerson(clientId, ctx.params['person'] ?? '')
    if (!person) throw nothingHere()
    return confirmPage({
      id: 'end-access-page',
      title: text('applications.end.title', { name: html`<bdi>${person.name}</bdi>` }),
      effect: text('applications.end.effect', { app: foreignName(name) }),
      confirm: text('applications.end'),
      cancelHref: address(pages.people),
    })
  })
  onApplication.form(pages.endGrant, async (app, { actor, address }, ctx) => {
    const ended = await applications.disconnect(app, ctx.params['person'] ?? '', actor)
    if (ended.length === 0) throw nothingHere()
    return `${address(pages.people)}?done=ended`
  })
}
