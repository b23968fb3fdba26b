import { applicationPage } from '../../views/admin-applications.ts'
import { choosableScopes } from '../applications/application-form.ts'
import { type Application, findApplication } from '../applications/application-lists.ts'
import { LIVE_SECRETS_MAX } from '../applications/application-secrets.ts'
import { nothingHere } from '../http/errors.ts'
import { noticeOf } from '../http/notice.ts'
import { sendPage } from '../http/page.ts'
import { pages, paths } from '../http/paths.ts'
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
  { newSecrets, grantLists, baseUrl }: AdminParts,
): Promise<void> {
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
      people: at(pages.people),
      refusals: at(pages.refusals),
      addSecret: at(pages.secrets),
      remove: at(pages.deleteApplication),
      disable: at(pages.disableApplication),
      enable: at(pages.enableApplication),
    },
    discoveryHref: baseUrl + paths.openidConfiguration,
    done: noticeOf(ctx, doneSentences),
  })
  sendPage(ctx, page)
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
