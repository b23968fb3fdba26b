import { webhookPage, webhooksPage } from '../../../views/admin-webhooks.ts'
import type { Html } from '../../../views/html.ts'
import type { Page } from '../../../views/layout.ts'
import { text } from '../../../views/text.ts'
import { eventTypes } from '../../platform/audit/event-types.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { invalid, noticeOf } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import type { SiteActor } from '../../school/changes/change.ts'
import { badInput, ChangeRefused } from '../../school/changes/refusals.ts'
import type { EndpointInput, WebhookEndpoints } from '../../school/webhooks/webhook-endpoints.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import { refusalText } from './ask-admin-api.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'

/** The notice to show after each change. Most keys are the names of buttons. */
const notices = {
  created: text('adminWebhooks.done.created'),
  save: text('adminWebhooks.done.save'),
  rotate: text('adminWebhooks.done.rotate'),
  test: text('adminWebhooks.done.test'),
  replay: text('adminWebhooks.done.replay'),
  'replay-one': text('adminWebhooks.done.replay'),
  disable: text('adminWebhooks.done.disable'),
  resume: text('adminWebhooks.done.enable'),
  skip: text('adminWebhooks.done.enable'),
  delete: text('adminWebhooks.done.deleted'),
}

type Act = (webhooks: WebhookEndpoints, by: SiteActor, id: string, ctx: PageContext) => unknown

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

/** Registers the pages for webhook endpoints. They require a recent sign-in, because endpoints receive data. */
export function webhookRoutes(
  { freshPage, freshForm }: OperatorPages,
  { webhooks, now }: Pick<AdminParts, 'webhooks' | 'now'>,
): void {
  const listPage = async (
    { area, site, address }: Operator,
    ctx: PageContext,
    problem?: Html,
  ): Promise<Page> =>
    webhooksPage({
      area,
      endpoints: (await webhooks.list(site.id)).map((endpoint) => ({
        ...endpoint,
        href: address(pages.webhook, { endpoint: endpoint.id }),
      })),
      types,
      action: address(pages.webhooks),
      typed: typedIn(ctx),
      problem,
      done: noticeOf(ctx, notices),
    })

  const onePage = async (
    { area, site, address }: Operator,
    ctx: PageContext,
    problem?: Html,
  ): Promise<Page> => {
    const endpoint = await webhooks.find(site.id, idIn(ctx))
    if (!endpoint) throw nothingHere()
    return webhookPage({
      area,
      listHref: address(pages.webhooks),
      action: address(pages.webhook),
      types,
      endpoint,
      typed: formField(ctx, 'act') === 'save' ? typedIn(ctx) : undefined,
      deliveries: await webhooks.deliveries(endpoint),
      nowMs: now(),
      problem,
      done: noticeOf(ctx, notices),
    })
  }

  /** Declares a page with its form. If a change is refused, the page states the reason. */
  const declare = (
    pattern: string,
    show: typeof onePage,
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
    return `${address(pressed === 'delete' ? pages.webhooks : pages.webhook)}?done=${pressed}`
  })
}

const types = [...eventTypes.keys()]

const idIn = (ctx: PageContext) => ctx.params['endpoint'] ?? ''

/** Reads the fields of an endpoint from the form. */
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
