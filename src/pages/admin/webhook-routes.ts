import { webhookPage, webhooksPage } from '../../../views/admin-webhooks.ts'
import type { Html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'
import { eventTypes } from '../../platform/audit/event-types.ts'
import { nothingHere } from '../../platform/http/errors.ts'
import { noticeOf } from '../../platform/http/page.ts'
import { formField, formFields } from '../../platform/http/page-form.ts'
import { pages } from '../../platform/http/paths.ts'
import { badInput, ChangeRefused } from '../../school/changes/refusals.ts'
import type { EndpointInput, WebhookEndpoints } from '../../school/webhooks/webhook-endpoints.ts'
import type { PageContext } from '../relying-party/signed-in-pages.ts'
import type { AdminParts } from './admin-parts.ts'
import { refusalText } from './ask-admin-api.ts'
import type { Operator, OperatorPages } from './operator-pages.ts'

const done = {
  created: text('adminWebhooks.done.created'),
  deleted: text('adminWebhooks.done.deleted'),
  save: text('adminWebhooks.done.save'),
  rotate: text('adminWebhooks.done.rotate'),
  test: text('adminWebhooks.done.test'),
  replay: text('adminWebhooks.done.replay'),
  disable: text('adminWebhooks.done.disable'),
  enable: text('adminWebhooks.done.enable'),
}

/** Registers the pages for webhook endpoints. They ask for the password first, because endpoints receive data. */
export function webhookRoutes(
  operatorPages: OperatorPages,
  { webhooks, now }: Pick<AdminParts, 'webhooks' | 'now'>,
): void {
  const listPage = async (
    { area, site, address }: Operator,
    ctx: PageContext,
    typed?: ReturnType<typeof typedIn>,
    problem?: Html,
  ) =>
    webhooksPage({
      area,
      siteName: site.name,
      endpoints: (await webhooks.list(site.id)).map((endpoint) => ({
        ...endpoint,
        href: address(pages.webhook, { endpoint: endpoint.id }),
      })),
      types,
      action: address(pages.webhooks),
      typed,
      problem,
      done: noticeOf(ctx, done),
    })

  const onePage = async (
    { area, site, address }: Operator,
    ctx: PageContext,
    typed?: ReturnType<typeof typedIn>,
    problem?: Html,
  ) => {
    const id = ctx.params['endpoint'] ?? ''
    const endpoint = await webhooks.find(site.id, id)
    if (!endpoint) throw nothingHere()
    return webhookPage({
      area,
      listHref: address(pages.webhooks),
      action: address(pages.webhook),
      types,
      endpoint,
      typed,
      deliveries: await webhooks.deliveries(endpoint),
      nowMs: now(),
      problem,
      done: noticeOf(ctx, done),
    })
  }

  operatorPages.freshPage(pages.webhooks, (operator, ctx) => listPage(operator, ctx))
  operatorPages.freshForm(pages.webhooks, pages.webhooks, async (operator, ctx) => {
    const { site, actor, address } = operator
    const typed = typedIn(ctx)
    try {
      const { id } = await webhooks.create({ ...actor, siteId: site.id }, typed)
      return `${address(pages.webhook, { endpoint: id })}?done=created`
    } catch (error) {
      ctx.status = 422
      return await listPage(operator, ctx, typed, problemOf(error))
    }
  })

  operatorPages.freshPage(pages.webhook, (operator, ctx) => onePage(operator, ctx))
  operatorPages.freshForm(pages.webhook, pages.webhooks, async (operator, ctx) => {
    const { site, actor, address } = operator
    const id = ctx.params['endpoint'] ?? ''
    if (!(await webhooks.find(site.id, id))) throw nothingHere()
    const by = { ...actor, siteId: site.id }
    try {
      const shown = await act(webhooks, by, id, ctx)
      return `${shown === 'deleted' ? address(pages.webhooks) : address(pages.webhook)}?done=${shown}`
    } catch (error) {
      const problem = problemOf(error)
      ctx.status = 422
      const typed = formField(ctx, 'act') === 'save' ? typedIn(ctx) : undefined
      return await onePage(operator, ctx, typed, problem)
    }
  })
}

const types = [...eventTypes.keys()]

/** Reads the fields of an endpoint from the form. */
function typedIn(ctx: PageContext): Required<EndpointInput> {
  const payload = formField(ctx, 'payload') === 'thin' ? 'thin' : 'full'
  return { url: formField(ctx, 'url').trim(), types: [...formFields(ctx, 'types')], payload }
}

/** Returns the sentence for a change that was refused. @throws any other error */
function problemOf(error: unknown): Html | undefined {
  if (!(error instanceof ChangeRefused)) throw error
  return refusalText(error)
}

/** Runs the action of a button. @returns the notice to show @throws ChangeRefused for an invalid value */
async function act(
  webhooks: WebhookEndpoints,
  by: Operator['actor'] & { readonly siteId: string },
  id: string,
  ctx: PageContext,
): Promise<keyof typeof done> {
  const pressed = formField(ctx, 'act')
  switch (pressed) {
    case 'save':
      await webhooks.update(by, id, typedIn(ctx))
      return pressed
    case 'rotate':
    case 'disable':
      await webhooks[pressed](by, id)
      return pressed
    case 'test':
      await webhooks.test(by, id, formField(ctx, 'type'))
      return pressed
    case 'replay': {
      const sinceMs = Date.parse(formField(ctx, 'since').trim())
      if (Number.isNaN(sinceMs)) {
        throw badInput('since', 'must be a time, such as 2026-11-28T09:00Z')
      }
      await webhooks.replay(by, id, { sinceMs })
      return pressed
    }
    case 'replay-one':
      await webhooks.replay(by, id, { eventId: formField(ctx, 'eventId').trim() })
      return 'replay'
    case 'resume':
    case 'skip':
      await webhooks.enable(by, id, pressed)
      return 'enable'
    case 'delete':
      await webhooks.remove(by, id)
      return 'deleted'
    default:
      throw new ChangeRefused('BAD_INPUT', 'choose one of the buttons of this page')
  }
}
