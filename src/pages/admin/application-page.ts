import { applicationPage } from '../../../views/admin-applications.ts'
import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { isLoopbackUrl } from '../../platform/http/loopback.ts'
import { noticeOf, sendPage } from '../../platform/http/page.ts'
import { pages, paths, planPaths } from '../../platform/http/paths.ts'
import { choosableScopes } from '../applications/application-form.ts'
import { type Application, findApplication } from '../applications/application-lists.ts'
import { LIVE_SECRETS_MAX } from '../applications/application-secrets.ts'
import { canReturnTo } from '../assistants/callbacks.ts'
import { memberSteps } from '../assistants/connect-steps.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { Operator } from './operator-pages.ts'
import type { AdminParts } from './parts.ts'

/** The application that the address names, at this site. */
export async function applicationOf(
  ctx: PageContext,
  { site }: Operator,
  { database }: Pick<AdminParts, 'database'>,
): Promise<Application> {
  const app = await findApplication(database.kysely, site.id, ctx.params['client'] ?? '')
  if (!app) throw nothingHere()
  return app
}

interface Shown {
  readonly app: Application
  readonly operator: Operator
}

/** One application, with its secrets and what can be done to it. */
export async function showApplication(
  ctx: PageContext,
  { app, operator }: Shown,
  parts: AdminParts,
): Promise<void> {
  const { newSecrets, grantLists, offersChoices } = parts
  const { area, session, address } = operator
  const at = (pattern: string) => address(pattern, { client: app.clientId })
  const page = applicationPage({
    area,
    application: {
      ...app,
      confidential: app.authMethod !== 'none',
      scopes: choosableScopes.filter(({ name }) => app.scopes.includes(name)),
    },
    secrets: app.secrets.map(({ id, hint, createdAt }) => ({
      hint,
      createdAt,
      removeHref:
        app.secrets.length > 1
          ? address(pages.removeSecret, { client: app.clientId, secret: id })
          : undefined,
    })),
    mayAddSecret: app.secrets.length < LIVE_SECRETS_MAX,
    newSecret: await newSecrets.take(session, app.clientId),
    people: await grantLists.countPeople(app.clientId),
    hrefs: {
      edit: at(pages.editApplication),
      security: offersChoices ? at(pages.applicationSecurity) : undefined,
      people: at(pages.people),
      refusals: at(pages.refusals),
      addSecret: at(pages.secrets),
      remove: at(pages.deleteApplication),
      disable: at(pages.disableApplication),
      enable: at(pages.enableApplication),
      assistants: address(pages.assistants),
    },
    ...instructionsFor({ app, operator }, parts),
    done: noticeOf(ctx, doneSentences),
  })
  sendPage(ctx, page)
}

/** What the maker of the application enters into a library, and its members into an assistant. */
function instructionsFor(
  { app, operator: { site } }: Shown,
  { baseUrl, assistants }: Pick<AdminParts, 'baseUrl' | 'assistants'>,
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
      .map((assistant) => memberSteps(assistant, { site, application: app, url })),
    local: isLoopbackUrl(baseUrl),
  }
}

const doneSentences = {
  created: 'The application was created. Give its client_id to its maker.',
  saved: 'The changes were saved. They hold from now on.',
  disabled: 'The application was disabled. Its tokens are refused.',
  enabled: 'The application was enabled.',
  'secret-added': 'A new secret was made. The other one works until you remove it.',
  'secret-removed': 'The secret was removed.',
  'two-secrets': 'Two secrets live already. Remove one before you make another.',
}
