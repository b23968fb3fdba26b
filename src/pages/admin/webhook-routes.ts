import { webhookPage, webhooksPage } from '../../../views/admin-webhooks.ts'
import type { AreaPage } from '../../../views/area.ts'
import type { Html } from '../../../views/html.ts'
import { eventTypes } from '../../platform/audit/event-types.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { invalid } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import type { SiteActor } from '../../school/changes/change.ts'
import { badInput, ChangeRefused } from '../../school/changes/refusals.ts'
import type { EndpointInput, WebhookEndpoints } from '../../school/webhooks/webhook-endpoints.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'
import { refusalText } from './page-changes.ts'

type Act = (webhooks: WebhookEndpoints, by: SiteActor, id: string, ctx: PageContext) => unknown
type Show = (operator: Operator, ctx: PageContext, problem?: Html) => Promise<AreaPage>

/** The action of each button on an endpoint's page. */
const acts: ReadonlyMap<string, Act> = new Map<string, Act>([
  ['save', (webhooks, by, id, ctx) => webhooks.update(by, id, typedIn(ctx))],
  ['rotate', (webhooks, by, id) => webhooks.rotate(by, id)],
  ['disable', (webhooks, by, id) => webhooks.disable(by, id)],
  ['test', (webhooks, by, id, ctx) => webhooks.test(by, id, formField(ctx, 'type'))],
  ['replay', (webhooks, by, id, ctx) => webhooks.replay(by, id, { sinceMs: sinceIn(ctx) })],
  ['replay-one', (webhooks, by, id, ctx) => webhooks.replay(by, id, { eventId: eventIn(ctx) })],
  ['resume', (webhooks, by, id) => webhooks.enable(by, id, 'resume')],
  ['skip', (webhooks, by, id) => webhooks.enable(by, id, 'skip')],
  ['delete', (webhooks, by, id) => webhooks.remove(by, id)],
])

/** Maps an action to the action whose notice it shares. */
const sharedNotices: Readonly<Record<string, string>> = { 'replay-one': 'replay', skip: 'resume' }

/** Registers the pages for webhook endpoints. They require a recent sign-in, because an endpoint receives site data. */
export function webhookRoutes(
  { freshPage, freshForm }: OperatorPages,
  { webhooks, now }: Pick<AdminParts, 'webhooks' | 'now'>,
): void {
  const listPage: Show = async ({ site, address }, ctx, problem) =>
    webhooksPage({
      endpoints: (await webhooks.list(site.id)).map((endpoint) => ({
        ...endpoint,
        href: address(pages.webhook, { endpoint: endpoint.id }),
      })),
      types,
      typed: typedIn(ctx),
      problem,
    })

  const onePage: Show = async ({ site, address }, ctx, problem) => {
    const endpoint = await webhooks.find(site.id, idIn(ctx))
    if (!endpoint) throw nothingHere()
    return webhookPage({
      listHref: address(pages.webhooks),
      types,
      endpoint,
      typed: formField(ctx, 'act') === 'save' ? typedIn(ctx) : undefined,
      deliveries: await webhooks.deliveries(endpoint),
      nowMs: now(),
      problem,
    })
  }

  /** Declares a page with its form. If a change is refused, the page states the reason. */
  const declare = (
    pattern: string,
    show: Show,
    change: (by: SiteActor, ctx: PageContext, address: Operator['address']) => Promise<string>,
  ) => {
    freshPage(pattern, (operator, ctx) => show(operator, ctx))
    freshForm(pattern, pages.webhooks, async (operator, ctx) => {
      try {
        return await change({ ...operator.actor, siteId: operator.site.id }, ctx, operator.address)
      } catch (error) {
        if (!(error instanceof ChangeRefused)) throw error
        return invalid(ctx, await show(operator, ctx, refusalText(error)))
      }
    })
  }
  declare(pages.webhooks, listPage, async (by, ctx, address) => {
    const { id } = await webhooks.create(by, typedIn(ctx))
    return `${address(pages.webhook, { endpoint: id })}?done=created`
  })
  declare(pages.webhook, onePage, async (by, ctx, address) => {
    const pressed = formField(ctx, 'act')
    const act = acts.get(pressed)
    if (!act) throw nothingHere()
    await act(webhooks, by, idIn(ctx), ctx)
    const done = sharedNotices[pressed] ?? pressed
    return `${address(pressed === 'delete' ? pages.webhooks : pages.webhook)}?done=${done}`
  })
}

const types = [...eventTypes.keys()]

const idIn = (ctx: PageContext) => ctx.params['endpoint'] ?? ''

function typedIn(ctx: PageContext): Required<EndpointInput> {
  const payload = formField(ctx, 'payload') === 'thin' ? 'thin' : 'full'
  return { url: formField(ctx, 'url').trim(), types: [...formFields(ctx, 'types')], payload }
}

const eventIn = (ctx: PageContext) => formField(ctx, 'eventId').trim()

/** Reads the time from the form. @throws ChangeRefused if the time is invalid */
function sinceIn(ctx: PageContext): number {
  const sinceMs = Date.parse(formField(ctx, 'since').trim())
  if (Number.isNaN(sinceMs)) throw badInput('since', 'must be a time, such as 2026-11-28T09:00Z')
  return sinceMs
}
