import { type ReleaseChange, releaseStateOf } from '../../school/changes/release.ts'
import {
  type Attendance,
  cancelRegistration,
  countNotCancelled,
  findRegistration,
  listRegistrations,
  registerForEvent,
} from '../../school/commerce/event-registrations.ts'
import {
  createEvent,
  type EventChanges,
  type EventCreation,
  type EventQuestion,
  findEvent,
  listEvents,
  mustFindEvent,
  releaseEvent,
  type SiteEvent,
  updateEvent,
} from '../../school/commerce/event-store.ts'
import type { PageArguments } from '../graphql/page-arguments.ts'
import { type AdminContext, type AdminResolver, actorOf } from './context.ts'
import { siteList } from './lists.ts'

interface EventListArguments
  extends PageArguments,
    Pick<EventQuestion, 'search' | 'state' | 'sort'> {}

interface EventArguments {
  readonly id?: string | null
  readonly slug?: string | null
}

/** The events of the site, and who registered for them: `events:read` and `events:write`. */
export const eventResolvers = {
  Query: {
    events: async (_source, args: EventListArguments, context) => {
      const { search, state, sort } = args
      const { caller, parts } = context
      const question = { siteId: caller.siteId, nowMs: parts.now(), search, state, sort }
      const list = listEvents(parts.database, question)
      return await siteList({ named: ['events', search, state, sort], args, context, list })
    },
    event: async (_source, { id, slug }: EventArguments, { caller, parts }) => {
      const { kysely } = parts.database
      if (id != null) return (await findEvent(kysely, caller.siteId, { id })) ?? null
      if (slug == null) return null
      return (await findEvent(kysely, caller.siteId, { slug })) ?? null
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Mutation: {
    createEvent: async (_source, { input }: { input: EventCreation }, context) =>
      await eventAfter(context, await createEvent(context.parts.database, actorOf(context), input)),
    updateEvent: async (_source, { input }: { input: EventChanges & { id: string } }, context) => {
      await updateEvent(context.parts.database, actorOf(context), input)
      return await eventAfter(context, input.id)
    },
    publishEvent: async (_source, { id, at }: { id: string; at?: number | null }, context) =>
      await released(context, id, { kind: 'publish', at: at ?? undefined }),
    unpublishEvent: async (_source, { id }: { id: string }, context) =>
      await released(context, id, { kind: 'unpublish' }),
    archiveEvent: async (_source, { id }: { id: string }, context) =>
      await released(context, id, { kind: 'archive' }),
    restoreEvent: async (_source, { id }: { id: string }, context) =>
      await released(context, id, { kind: 'restore' }),
    registerForEvent: async (_source, attendance: Attendance, context) =>
      await registrationAfter(
        context,
        await registerForEvent(context.parts.database, actorOf(context), attendance),
      ),
    cancelRegistration: async (_source, { id }: { id: string }, context) => {
      await cancelRegistration(context.parts.database, actorOf(context), id)
      return await registrationAfter(context, id)
    },
  } satisfies Record<string, AdminResolver<undefined, never>>,
  Event: {
    state: (event, _args, { parts }) => releaseStateOf(event, parts.now()),
    registrationCount: async ({ id }, _args, { oneOfMany, parts }) => {
      const ofEvents = async (ids: readonly string[]) =>
        await countNotCancelled(parts.database.kysely, ids)
      return (await oneOfMany('standing registrations', ofEvents, id)) ?? 0
    },
    registrations: async ({ id }, args: PageArguments, context) => {
      const list = listRegistrations(context.parts.database, id)
      return await siteList({ named: ['event registrations', id], args, context, list })
    },
  } satisfies Record<string, AdminResolver<SiteEvent, never>>,
}

async function released(context: AdminContext, id: string, change: ReleaseChange) {
  await releaseEvent(context.parts.database, actorOf(context), { id, change })
  return await eventAfter(context, id)
}

/** The payload of a change: the event as it is now, for whoever may read it and asks. */
async function eventAfter({ caller, parts }: AdminContext, id: string) {
  return { id, event: async () => await mustFindEvent(parts.database.kysely, caller.siteId, id) }
}

async function registrationAfter({ caller, parts }: AdminContext, id: string) {
  const { kysely } = parts.database
  return { id, registration: async () => await findRegistration(kysely, caller.siteId, id) }
}
