import { type AreaTools, toolsOf } from './operator.ts'
import type { Tool } from './tool.ts'

const products = toolsOf('digital_products')
const events = toolsOf('events')

const product = 'id slug title summary fileName state publishedAt archivedAt createdAt buyerCount'
const event =
  'id slug title summary location startsAt endsAt state publishedAt archivedAt createdAt registrationCount'

/** What may be done with anything that is made as a draft, published and archived. */
function releaseTools({ change }: AreaTools, noun: string, words: string): Tool[] {
  const byId = { takes: { id: 'ID!' } } as const
  return [
    change({
      name: `create_${noun}`,
      title: `Make ${words}`,
      description: `Makes ${words}, as a draft that visitors do not see. publish_${noun} shows it.`,
    }),
    change({
      name: `update_${noun}`,
      title: `Change ${words}`,
      description: `Changes ${words}; what is left out stays.`,
      destroys: true,
    }),
    change({
      name: `publish_${noun}`,
      title: `Publish ${words}`,
      description: `Shows ${words} to visitors, now or from a moment on.`,
      takes: { id: 'ID!', at: 'DateTime' },
    }),
    change({
      name: `unpublish_${noun}`,
      title: `Take ${words} back`,
      description: `Makes ${words} a draft again. Those who have it keep it.`,
      ...byId,
      destroys: true,
    }),
    change({
      name: `archive_${noun}`,
      title: `Archive ${words}`,
      description: `Puts ${words} away. Those who have it keep it; restore_${noun} brings it back.`,
      ...byId,
      destroys: true,
    }),
    change({
      name: `restore_${noun}`,
      title: `Bring back ${words}`,
      description: `Brings back ${words} that was archived, as it was.`,
      ...byId,
    }),
  ]
}

const productTools = [
  products.list({
    name: 'list_site_digital_products',
    title: 'Digital products of the site',
    description: "Lists the digital products of the token's site, drafts included.",
    list: 'digitalProducts',
    filters: { search: 'String', state: 'ReleaseState', sort: 'DigitalProductSort' },
    nodes: product,
  }),
  products.find({
    name: 'get_site_digital_product',
    title: 'A digital product of the site',
    description: "Returns one digital product of the token's site, by its id or its slug.",
    field: 'digitalProduct',
    by: { id: 'ID', slug: 'String' },
    selection: product,
  }),
  ...releaseTools(products, 'digital_product', 'a digital product'),
]

const eventTools = [
  events.list({
    name: 'list_site_events',
    title: 'Events of the site',
    description:
      "Lists the events of the token's site, drafts included, in the order in which they begin.",
    list: 'events',
    filters: { search: 'String', state: 'ReleaseState', sort: 'EventSort' },
    nodes: event,
  }),
  events.find({
    name: 'get_site_event',
    title: 'An event of the site',
    description: "Returns one event of the token's site, by its id or its slug.",
    field: 'event',
    by: { id: 'ID', slug: 'String' },
    selection: event,
  }),
  ...releaseTools(events, 'event', 'an event'),
  events.change({
    name: 'register_for_event',
    title: 'Register somebody for an event',
    description: 'Registers a person of the site for an event.',
    takes: { eventId: 'ID!', personId: 'ID!' },
  }),
  events.change({
    name: 'cancel_registration',
    title: 'Cancel a registration',
    description: 'Cancels the registration of a person for an event.',
    takes: { id: 'ID!' },
    destroys: true,
  }),
]

/** What the site offers besides courses. */
export const productAndEventTools: readonly Tool[] = [...productTools, ...eventTools]
