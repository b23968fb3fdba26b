import { readScope } from '../../directory/scopes/catalogue.ts'
import { eventTypes } from '../../platform/audit/event-types.ts'
import type { SiteActor } from '../../school/changes/change.ts'
import { badInput, ChangeRefused } from '../../school/changes/refusals.ts'
import type {
  EndpointInput,
  WebhookEndpoint,
  WebhookEndpoints,
} from '../../school/webhooks/webhook-endpoints.ts'
import { type AdminCaller, type AdminContext, type AdminResolver, actorOf } from './context.ts'

interface ById {
  readonly id: string
}

/** Resolvers for webhook endpoints of the site (scopes `school:read` and `school:write`, design 36). */
export const webhookResolvers = {
  Query: {
    webhookEndpoints: async (_source, _args, { caller, parts }) =>
      await parts.webhooks.list(caller.siteId),
  } satisfies Record<string, AdminResolver<undefined>>,
  Mutation: {
    createWebhookEndpoint: async (_source, { input }: { input: EndpointInput }, context) => {
      mustRead(context.caller, input.types)
      const { id, isNew } = await context.parts.webhooks.create(actorOf(context), input)
      return { ...(await payload(id, context)), isNew }
    },
    updateWebhookEndpoint: async (
      _source,
      { input: { id, ...input } }: { input: Partial<EndpointInput> & ById },
      context,
    ) => {
      const stored = await context.parts.webhooks.find(context.caller.siteId, id)
      mustRead(context.caller, input.types ?? stored?.types ?? [])
      await context.parts.webhooks.update(actorOf(context), id, input)
      return await payload(id, context)
    },
    rotateWebhookSecret: changed((webhooks, by, { id }) => webhooks.rotate(by, id)),
    disableWebhookEndpoint: changed((webhooks, by, { id }) => webhooks.disable(by, id)),
    enableWebhookEndpoint: changed<{ readonly missed: 'resume' | 'skip' }>(
      (webhooks, by, { id, missed }) => webhooks.enable(by, id, missed),
    ),
    testWebhookEndpoint: changed<{ readonly type: string }>((webhooks, by, { id, type }) =>
      webhooks.test(by, id, type),
    ),
    deleteWebhookEndpoint: async (_source, { id }: ById, context) => {
      await context.parts.webhooks.remove(actorOf(context), id)
      return { deletedId: id }
    },
    replayWebhookEvents: async (
      _source,
      { id, eventId, since }: ById & { readonly eventId?: string; readonly since?: number },
      context,
    ) => {
      if ((eventId == null) === (since == null)) {
        throw badInput('since', 'or eventId is required, but not both')
      }
      const which = eventId == null ? { sinceMs: since ?? 0 } : { eventId }
      return { id, count: await context.parts.webhooks.replay(actorOf(context), id, which) }
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  WebhookEndpoint: {
    deliveries: async (endpoint, _args, { caller, parts }) =>
      (await parts.webhooks.deliveries(endpoint)).map((row) =>
        reads(caller, row.type) ? row : { ...row, request: null, response: null },
      ),
  } satisfies Record<string, AdminResolver<WebhookEndpoint>>,
  WebhookContent: { FULL: 'full', THIN: 'thin' },
  MissedEvents: { RESUME: 'resume', SKIP: 'skip' },
}

/** Whether the caller has the scope to read what an event contains. */
function reads({ scopes }: AdminCaller, type: string): boolean {
  const area = eventTypes.get(type)?.area
  return area !== undefined && scopes.includes(readScope(area))
}

/** Requires the read scope of each event type, so `school:write` alone reveals no data. @throws ChangeRefused */
function mustRead(caller: AdminCaller, types: readonly string[]): void {
  const type = types.find((name) => eventTypes.has(name) && !reads(caller, name))
  if (type === undefined) return
  const scope = readScope(eventTypes.get(type)?.area ?? '')
  throw new ChangeRefused('FORBIDDEN', `${type} needs the scope ${scope}; request a token with it`)
}

/** Creates the resolver of a mutation that acts on a webhook endpoint and returns the endpoint. */
function changed<More = unknown>(
  change: (webhooks: WebhookEndpoints, by: SiteActor, args: ById & More) => Promise<unknown>,
) {
  return async (_source: undefined, args: ById & More, context: AdminContext) => {
    await change(context.parts.webhooks, actorOf(context), args)
    return await payload(args.id, context)
  }
}

async function payload(id: string, { caller, parts }: AdminContext) {
  const endpoint = await parts.webhooks.find(caller.siteId, id)
  return { id, isNew: false, secret: endpoint?.secret, endpoint }
}
