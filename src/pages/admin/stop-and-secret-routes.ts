import { refusalsPage } from '../../../views/admin-application-use.ts'
import { confirmPage } from '../../../views/area.ts'
import { foreignName } from '../../../views/client-view.ts'
import { html } from '../../../views/html.ts'
import { inCode, type TextId, text } from '../../../views/text.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { pages } from '../../platform/http/paths.ts'
import type { ApplicationKind } from '../../platform/store/oauth-tables.ts'
import type { Application } from '../applications/application-lists.ts'
import { LIVE_SECRETS_MAX } from '../applications/application-secrets.ts'
import { REFUSALS_PER_CLIENT } from '../applications/refused-requests.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import { mustOwn, type Operator, type OperatorPages } from './operator-pages.ts'

/** The paths of the pages that both applications and resource servers have. */
export const patternsOf = {
  site: {
    list: pages.applications,
    one: pages.application,
    enable: pages.enableApplication,
    disable: pages.disableApplication,
    remove: pages.deleteApplication,
    secrets: pages.secrets,
    removeSecret: pages.removeSecret,
    refusals: pages.refusals,
  },
  resource_server: {
    list: pages.resourceServers,
    one: pages.resourceServer,
    enable: pages.enableResourceServer,
    disable: pages.disableResourceServer,
    remove: pages.deleteResourceServer,
    secrets: pages.resourceServerSecrets,
    removeSecret: pages.removeResourceServerSecret,
    refusals: pages.resourceServerRefusals,
  },
} as const

/** Registers the pages that both applications and resource servers have, except for the list and the main page. */
export function stopAndSecretRoutes(operatorPages: OperatorPages, parts: AdminParts): void {
  for (const kind of ['site', 'resource_server'] as const) {
    stopRoutes(kind, operatorPages, parts)
    secretRoutes(kind, operatorPages, parts)
  }
}

function stopRoutes(kind: ApplicationKind, operatorPages: OperatorPages, parts: AdminParts): void {
  const { applications, grantLists, refusals } = parts
  const patterns = patternsOf[kind]
  const onApplication = operatorPages.of(kind)
  for (const [declare, pattern, verb] of [
    [onApplication.page, patterns.disable, 'disable'],
    [onApplication.freshPage, patterns.remove, 'delete'],
  ] as const) {
    declare(pattern, async ({ name, clientId }, { address }) => {
      // Members connect applications, not resource servers, so a resource server has no connected people.
      const people = kind === 'site' ? await grantLists.countPeople(clientId) : 0
      return confirmPage({
        id: `${verb}-page`,
        title: text(`applications.${verb}.title`, { app: html`<bdi>${name}</bdi>` }),
        effect: text(`applications.${verb}.${kind}`, { people }),
        confirm: text(`applications.${verb}`),
        cancelHref: address(patterns.one),
      })
    })
  }
  for (const done of ['enabled', 'disabled'] as const) {
    const pattern = done === 'enabled' ? patterns.enable : patterns.disable
    onApplication.form(pattern, async (app, operator) => {
      if (done === 'enabled') mustOwn(app, operator)
      await applications.setEnabled(app, done === 'enabled', operator.actor)
      return `${operator.address(patterns.one)}?done=${done}`
    })
  }
  onApplication.freshForm(patterns.remove, patterns.remove, async (app, { actor, address }) => {
    await applications.remove(app, actor)
    return `${address(patterns.list)}?done=deleted`
  })
  onApplication.page(patterns.refusals, async (app, operator, ctx) =>
    refusalsPage({
      ...frameOf(app, operator, ctx),
      refusals: await refusals.list('app.client_id', app.clientId),
      kept: REFUSALS_PER_CLIENT,
    }),
  )
}

function secretRoutes(
  kind: ApplicationKind,
  operatorPages: OperatorPages,
  { secrets, newSecrets }: AdminParts,
): void {
  const patterns = patternsOf[kind]
  const onApplication = operatorPages.of(kind)
  onApplication.freshForm(patterns.secrets, patterns.one, async (app, operator, ctx) => {
    mustOwn(app, operator)
    const { actor, address } = operator
    const secret = await secrets.add(app, actor)
    newSecrets.set(ctx, secretOwner(operator, app.clientId), secret)
    const done = secret === undefined ? 'two-secrets' : 'secret-added'
    return `${address(patterns.one)}?done=${done}`
  })
  onApplication.freshPage(patterns.removeSecret, (app, { address }, ctx) => {
    const secret = app.secrets.find(({ id }) => id === ctx.params['secret'])
    if (!secret) throw nothingHere()
    return confirmPage({
      id: 'remove-secret-page',
      title: text('secrets.remove.title', { hint: inCode(secret.hint) }),
      effect: text('secrets.remove.effect', { app: foreignName(app.name) }),
      confirm: text('secrets.remove'),
      cancelHref: address(patterns.one),
    })
  })
  const { removeSecret } = patterns
  onApplication.freshForm(removeSecret, removeSecret, async (app, { actor, address }, ctx) => {
    const removed = await secrets.remove(app, ctx.params['secret'] ?? '', actor)
    if (!removed) throw nothingHere()
    return `${address(patterns.one)}?done=secret-removed`
  })
}

/** Returns the data that all pages of an application or resource server share. */
export function frameOf(app: Application, { address }: Operator, { path }: PageContext) {
  const { list, one, refusals } = patternsOf[app.kind]
  const tab = (label: TextId, pattern: string) => {
    const href = address(pattern)
    return { label: text(label), href, current: path === href }
  }
  const isSite = app.kind === 'site'
  return {
    app,
    href: address(one),
    back: {
      href: address(list),
      name: text(isSite ? 'adminNav.applications' : 'adminNav.resourceServers'),
    },
    tabs: [
      tab('applications.settings', one),
      ...(isSite
        ? [
            tab('applications.setUp', pages.setUpApplication),
            tab('analytics.measures.people', pages.people),
          ]
        : []),
      tab('analytics.measures.refusals', refusals),
    ],
  }
}

/** Returns the data for the main page of an application or resource server. Includes a new secret only once. */
export function sharedView(
  app: Application,
  operator: Operator,
  ctx: PageContext,
  { newSecrets, now }: Pick<AdminParts, 'newSecrets' | 'now'>,
) {
  const isLive = ({ expiresAt }: Application['secrets'][number]) => (expiresAt ?? Infinity) > now()
  const secrets = app.secrets.filter(isLive)
  const owner = secretOwner(operator, app.clientId)
  const newSecret = newSecrets.read(ctx, owner)
  if (newSecret !== undefined) newSecrets.set(ctx, owner, undefined)
  const mayAddSecret = secrets.length < LIVE_SECRETS_MAX
  return { ...frameOf({ ...app, secrets }, operator, ctx), mayAddSecret, newSecret }
}

/** Identifies the session and application to which a new secret belongs. */
export const secretOwner = ({ session }: Operator, clientId: string): string =>
  `${session.sessionId} ${clientId}`
