import { readScope } from '../../directory/scopes/catalogue.ts'
import { eventTypes } from '../../platform/audit/event-types.ts'
import { badInput, ChangeRefused } from '../../school/changes/refusals.ts'
import type { EndpointInput, WebhookEndpoint } from '../../school/webhooks/webhook-endpoints.ts'
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
    rotateWebhookSecret: changes('rotate'),
    disableWebhookEndpoint: changes('disable'),
    enableWebhookEndpoint: async (
      _source,
      { id, missed }: ById & { readonly missed: 'resume' | 'skip' },
      context,
    ) => {
      await context.parts.webhooks.enable(actorOf(context), id, missed)
      return await payload(id, context)
    },
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
        throw badInput('since', 'must be a time, or null together with an eventId')
      }
      const which = eventId == null ? { sinceMs: since ?? 0 } : { eventId }
      return { id, count: await context.parts.webhooks.replay(actorOf(context), id, which) }
    },
    testWebhookEndpoint: async (_source, { id, type }: ById & { type: string }, context) => {
      await context.parts.webhooks.test(actorOf(context), id, type)
      return await payload(id, context)
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

/** Whether the token may read what an event contains. */
function reads({ scopes }: AdminCaller, type: string): boolean {
  const area = eventTypes.get(type)?.area
  return area !== undefined && scopes.includes(readScope(area))
}

/** Requires the read scope of each event type, so `school:write` alone gives no access to data. @throws ChangeRefused */
function mustRead(caller: AdminCaller, types: readonly string[]): void {
  const type = types.find((name) => eventTypes.has(name) && !reads(caller, name))
  if (type === undefined) return
  const scope = readScope(eventTypes.get(type)?.area ?? '')
  throw new ChangeRefused('FORBIDDEN', `${type} needs the scope ${scope}; request a token with it`)
}

function changes(name: 'rotate' | 'disable') {
  return async (_source: undefined, { id }: ById, context: AdminContext) => {
    await context.parts.webhooks[name](actorOf(context), id)
    return await payload(id, context)
  }
}

async function payload(id: string, { caller, parts }: AdminContext) {
  const endpoint = await parts.webhooks.find(caller.siteId, id)
  return { id, isNew: false, secret: endpoint?.secret, endpoint }
}
