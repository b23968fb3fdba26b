import {
  type Attendance,
  cancelRegistration,
  countNotCancelled,
  events,
  findRegistration,
  listRegistrations,
  registerForEvent,
} from '../../school/commerce/events.ts'
import type { PageArguments } from '../graphql/connections.ts'
import { type AdminContext, actorOf } from './context.ts'
import { batched, changes, itemResolvers, payloadWith, siteList } from './field-resolvers.ts'

const resolvers = itemResolvers('Event', events, {
  registrationCount: batched('standing registrations', countNotCancelled, 0),
  registrations: async ({ id }: { readonly id: string }, args: PageArguments, context) => {
    const list = listRegistrations(context.parts.database, id)
    return await siteList(context, args, list, 'event registrations', id)
  },
})

const registrationPayload = payloadWith('registration', findRegistration)

/** Events of the site and their registrations: `events:read` and `events:write`. */
export const eventResolvers = {
  ...resolvers,
  Mutation: {
    ...resolvers.Mutation,
    registerForEvent: async (_source: unknown, attendance: Attendance, context: AdminContext) => {
      const id = await registerForEvent(context.parts.database, actorOf(context), attendance)
      return registrationPayload(id, context)
    },
    cancelRegistration: changes(cancelRegistration, registrationPayload),
  },
}
