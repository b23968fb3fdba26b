import {
  applicationPeoplePage,
  endAllGrantsPage,
  endGrantPage,
} from '../../../views/admin-application-use.ts'
import { applicationPage, applicationsPage } from '../../../views/admin-applications.ts'
import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { describeScopes } from '../../directory/scopes/scope-uses.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { pages, paths, planPaths } from '../../platform/http/paths.ts'
import { choosableScopes } from '../applications/application-form.ts'
import { type Application, listApplications } from '../applications/application-lists.ts'
import { canReturnTo, memberSteps } from '../assistants/connect-steps.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import { secretSentences, sharedView } from './stop-and-secret-routes.ts'

/** Registers the pages for the applications of a site: the list, each application, and its people. */
export function applicationRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { database, grantLists, listPages, offersChoices } = parts

  operatorPages.whereOn.page(pages.applications, async ({ area, site, address }, ctx) => {
    const found = await listApplications(database.kysely, site.id, listPages.requestOf(ctx))
    return applicationsPage({
      area,
      siteName: site.name,
      applications: found.rows.map(({ authMethod, ...application }) => ({
        ...application,
        confidential: authMethod !== 'none',
        href: address(pages.application, { client: application.clientId }),
      })),
      newHref: address(pages.newApplication),
      assistantsHref: address(pages.assistants),
      resourceServersHref: address(pages.resourceServers),
      pager: listPages.pagerOf(ctx, found),
      done: noticeOf(ctx, { deleted: 'The application was deleted.' }),
    })
  })

  operatorPages.of('site').page(pages.application, async (app, operator, ctx) => {
    const { area, address } = operator
    const { hrefs, ...secrets } = await sharedView(app, operator, parts)
    return applicationPage({
      area,
      ...secrets,
      application: {
        ...app,
        confidential: app.authMethod !== 'none',
        scopes: choosableScopes.filter(({ name }) => app.scopes.includes(name)),
      },
      people: await grantLists.countPeople(app.clientId),
      hrefs: {
        edit: address(pages.editApplication),
        security: offersChoices ? address(pages.applicationSecurity) : undefined,
        people: address(pages.people),
        ...hrefs,
        assistants: address(pages.assistants),
      },
      ...instructionsFor(app, operator, parts),
      done: noticeOf(ctx, doneSentences),
    })
  })
  peopleRoutes(operatorPages, parts)
}

/** Returns the settings that the application's developer needs, and the steps for members. */
function instructionsFor(
  app: Application,
  { site }: Operator,
  { baseUrl, assistants }: AdminParts,
) {
  const url = baseUrl + paths.mcpMember
  return {
    settings: {
      issuer: baseUrl,
      discoveryHref: baseUrl + paths.openidConfiguration,
      scope: [...scopeNames('identity'), ...app.scopes].join(' '),
      resource: baseUrl,
      authMethod: app.authMethod,
      pushesTo: app.further.pushesRequests ? baseUrl + planPaths.pushedAuthorization : undefined,
      bindsTokens: app.further.bindsTokens,
      toolAddress: url,
    },
    assistants: assistants
      .filter((assistant) => app.scopes.length > 0 && canReturnTo(assistant, app))
      .filter(({ id }) => app.assistant === undefined || app.assistant === id)
      .map((assistant) => memberSteps(assistant, site, app, url)),
    local: isLoopbackUrl(baseUrl),
  }
}

const doneSentences = {
  created: 'The application was created. Give its client_id to its developer.',
  saved: 'The changes were saved. They take effect now.',
  disabled: 'The application was disabled. Its tokens no longer work.',
  enabled: 'The application was enabled.',
  ...secretSentences,
}

/** Registers the page that lists the people who connected an application, and the forms that end their access. */
function peopleRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  const { applications, grantLists, listPages, scopeUses } = parts
  const onApplication = operatorPages.of('site')
  onApplication.page(pages.people, async ({ clientId, name }, { area, address }, ctx) => {
    const found = await grantLists.listPeople(clientId, listPages.requestOf(ctx))
    return applicationPeoplePage({
      area,
      name,
      people: found.rows.map(({ personId, scopes, ...person }) => ({
        ...person,
        ...describeScopes(scopes, scopeUses),
        removeHref: address(pages.endGrant, { person: personId }),
      })),
      removeAllHref: address(pages.endAllGrants),
      backHref: address(pages.application),
      pager: listPages.pagerOf(ctx, found),
      done: noticeOf(ctx, {
        ended: 'The access was ended. Its tokens no longer work.',
        'all-ended': 'All access was ended. No token works any longer.',
      }),
    })
  })
  onApplication.page(pages.endAllGrants, async ({ clientId, name }, { area, address }, ctx) => {
    const people = await grantLists.countPeople(clientId)
    const cancelHref = address(pages.people)
    return endAllGrantsPage({ area, name, people, action: ctx.path, cancelHref })
  })
  onApplication.form(pages.endAllGrants, async (app, { actor, address }) => {
    await applications.disconnect(app, undefined, actor)
    return `${address(pages.people)}?done=all-ended`
  })
  onApplication.page(pages.endGrant, async ({ clientId, name }, { area, address }, ctx) => {
    const person = await grantLists.findPerson(clientId, ctx.params['person'] ?? '')
    if (!person) throw nothingHere()
    const cancelHref = address(pages.people)
    return endGrantPage({ area, name, personName: person.name, action: ctx.path, cancelHref })
  })
  onApplication.form(pages.endGrant, async (app, { actor, address }, ctx) => {
    const ended = await applications.disconnect(app, ctx.params['person'] ?? '', actor)
    if (ended.length === 0) throw nothingHere()
    return `${address(pages.people)}?done=ended`
  })
}
