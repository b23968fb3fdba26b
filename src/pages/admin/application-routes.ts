import type Router from 'koa-router'

import { applicationFormPage } from '../../../views/admin-application-form.ts'
import { applicationsPage } from '../../../views/admin-applications.ts'
import { noticeOf, seeOther, sendPage } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import {
  type CheckedEntry,
  checkEntry,
  choosableScopes,
  entryOf,
  type RedirectRules,
  type TypedEntry,
} from '../applications/application-form.ts'
import { type Application, listApplications } from '../applications/application-lists.ts'
import { APPLICATIONS_PER_SITE_MAX } from '../applications/application-store.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import { applicationOf, showApplication } from './application-page.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** The OAuth applications of a site: the list, one of them, and the form that makes or changes it. */
export function applicationRoutes(operatorPages: OperatorPages, parts: AdminParts): Router {
  const router = makeRouter()
  const { listPages } = parts
  const { kysely } = parts.database

  router.get(
    pages.applications,
    operatorPages.whereOn.page(async (ctx, { area, site, address }) => {
      const found = await listApplications(kysely, site.id, listPages.requestOf(ctx))
      const page = applicationsPage({
        area,
        siteName: site.name,
        applications: found.rows.map(({ clientId, name, authMethod, disabled }) => ({
          name,
          clientId,
          confidential: authMethod !== 'none',
          disabled,
          href: address(pages.application, { client: clientId }),
        })),
        newHref: address(pages.newApplication),
        assistantsHref: address(pages.assistants),
        resourceServersHref: address(pages.resourceServers),
        pager: listPages.pagerOf(ctx, found),
        done: noticeOf(ctx, { deleted: 'The application was deleted.' }),
      })
      sendPage(ctx, page)
    }),
  )
  creationRoutes(router, operatorPages, parts)

  router.get(
    pages.application,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      await showApplication(ctx, { app, operator }, parts)
    }),
  )
  editRoutes(router, operatorPages, parts)
  return router
}

const nothingTyped: TypedEntry = {
  ...{ name: '', redirectUris: '', postLogoutRedirectUris: '' },
  ...{ authMethod: '', scopes: [] },
}

function creationRoutes(
  router: Router,
  operatorPages: OperatorPages,
  { applications, newSecrets, redirectRules }: AdminParts,
): void {
  router.get(
    pages.newApplication,
    operatorPages.whereOn.page(async (ctx, operator) => {
      sendForm(ctx, redirectRules, { operator, app: undefined, typed: nothingTyped })
    }),
  )
  router.post(
    pages.applications,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const typed = typedEntry(ctx)
      const checked = checkEntry(typed, redirectRules)
      if (checked.kind === 'bad') {
        return sendForm(ctx, redirectRules, {
          operator,
          app: undefined,
          typed,
          problems: checked.problems,
        })
      }
      const { site, actor, session, address } = operator
      const created = await applications.create(site.id, checked.application, actor)
      if (typeof created === 'string') {
        const problem = `A site may have ${APPLICATIONS_PER_SITE_MAX} applications. Delete one first.`
        return sendForm(ctx, redirectRules, { operator, app: undefined, typed, problem })
      }
      const { clientId, secret } = created
      if (secret !== undefined) await newSecrets.keep(session, clientId, secret)
      seeOther(ctx, `${address(pages.application, { client: clientId })}?done=created`)
    }),
  )
}

function editRoutes(router: Router, operatorPages: OperatorPages, parts: AdminParts): void {
  const { applications, redirectRules } = parts
  router.get(
    pages.editApplication,
    operatorPages.whereOn.page(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      sendForm(ctx, redirectRules, { operator, app, typed: entryOf(app) })
    }),
  )
  router.post(
    pages.editApplication,
    operatorPages.whereOn.form(async (ctx, operator) => {
      const app = await applicationOf(ctx, operator, parts)
      // What a client is does not change: a public one would have no secret, a confidential one two.
      const authMethod = app.authMethod === 'none' ? 'none' : 'client_secret_post'
      const typed = { ...typedEntry(ctx), authMethod }
      const checked = checkEntry(typed, redirectRules)
      if (checked.kind === 'bad') {
        return sendForm(ctx, redirectRules, { operator, app, typed, problems: checked.problems })
      }
      await applications.update(app, checked.application, operator.actor)
      seeOther(ctx, `${operator.address(pages.application, { client: app.clientId })}?done=saved`)
    }),
  )
}

function typedEntry(ctx: PageContext): TypedEntry {
  return {
    name: formField(ctx, 'name'),
    redirectUris: formField(ctx, 'redirect_uris'),
    postLogoutRedirectUris: formField(ctx, 'post_logout_redirect_uris'),
    authMethod: formField(ctx, 'auth_method'),
    scopes: formFields(ctx, 'scope'),
  }
}

interface Form {
  readonly operator: Operator
  readonly app: Application | undefined
  readonly typed: TypedEntry
  readonly problems?: Extract<CheckedEntry, { kind: 'bad' }>['problems']
  readonly problem?: string
}

function sendForm(
  ctx: PageContext,
  { appSchemes }: RedirectRules,
  { operator, app, typed, problems, problem }: Form,
): void {
  const { area, address } = operator
  if (problems || problem) ctx.status = 422
  const known = app && address(pages.application, { client: app.clientId })
  const page = applicationFormPage({
    area,
    editing: app?.name,
    action: app
      ? address(pages.editApplication, { client: app.clientId })
      : address(pages.applications),
    cancelHref: known ?? address(pages.applications),
    typed,
    choices: choosableScopes,
    appSchemes: appSchemes.map((scheme) => `${scheme}//…`),
    problems: problems ?? {},
    problem,
  })
  sendPage(ctx, page)
}
