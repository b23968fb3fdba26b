import { operatorChange, operatorFind, operatorList } from './operator.ts'
import type { Tool } from './tool.ts'

const product = 'id slug title summary fileName state publishedAt archivedAt createdAt buyerCount'
const event =
  'id slug title summary location startsAt endsAt state publishedAt archivedAt createdAt registrationCount'

interface Released {
  readonly area: string
  /** As in `publish_event` and `publishEvent`. */
  readonly noun: string
  readonly type: string
  readonly words: string
}

/** What may be done with anything that is made as a draft, published and archived. */
function releaseTools({ area, noun, type, words }: Released): Tool[] {
  const change = (verb: string, does: Pick<Tool, 'title' | 'description'>, destroys?: true) =>
    operatorChange({
      ...does,
      name: `${verb}_${noun}`,
      area,
      field: `${verb}${type}`,
      takes: { id: 'ID!', ...(verb === 'publish' && { at: 'DateTime' }) },
      ...(destroys && { destroys }),
    })
  return [
    operatorChange({
      name: `create_${noun}`,
      title: `Make ${words}`,
      description: `Makes ${words}, as a draft that visitors do not see. publish_${noun} shows it.`,
      area,
      field: `create${type}`,
      takes: { input: `Create${type}Input!` },
    }),
    operatorChange({
      name: `update_${noun}`,
      title: `Change ${words}`,
      description: `Changes ${words}; what is left out stays.`,
      area,
      field: `update${type}`,
      takes: { input: `Update${type}Input!` },
      destroys: true,
    }),
    change('publish', {
      title: `Publish ${words}`,
      description: `Shows ${words} to visitors, now or from a moment on.`,
    }),
    change(
      'unpublish',
      {
        title: `Take ${words} back`,
        description: `Makes ${words} a draft again. Those who have it keep it.`,
      },
      true,
    ),
    change(
      'archive',
      {
        title: `Archive ${words}`,
        description: `Puts ${words} away. Those who have it keep it; restore_${noun} brings it back.`,
      },
      true,
    ),
    change('restore', {
      title: `Bring back ${words}`,
      description: `Brings back ${words} that was archived, as it was.`,
    }),
  ]
}

const productTools = [
  operatorList({
    name: 'list_site_digital_products',
    title: 'Digital products of the site',
    description: "Lists the digital products of the token's site, drafts included.",
    area: 'digital_products',
    list: 'digitalProducts',
    filters: { search: 'String', state: 'ReleaseState', sort: 'DigitalProductSort' },
    nodes: product,
  }),
  operatorFind({
    name: 'get_site_digital_product',
    title: 'A digital product of the site',
    description: "Returns one digital product of the token's site, by its id or its slug.",
    areas: ['digital_products'],
    field: 'digitalProduct',
    by: { id: 'ID', slug: 'String' },
    selection: product,
  }),
  ...releaseTools({
    area: 'digital_products',
    noun: 'digital_product',
    type: 'DigitalProduct',
    words: 'a digital product',
  }),
]

const eventTools = [
  operatorList({
    name: 'list_site_events',
    title: 'Events of the site',
    description:
      "Lists the events of the token's site, drafts included, in the order in which they begin.",
    area: 'events',
    list: 'events',
    filters: { search: 'String', state: 'ReleaseState', sort: 'EventSort' },
    nodes: event,
  }),
  operatorFind({
    name: 'get_site_event',
    title: 'An event of the site',
    description: "Returns one event of the token's site, by its id or its slug.",
    areas: ['events'],
    field: 'event',
    by: { id: 'ID', slug: 'String' },
    selection: event,
  }),
  ...releaseTools({ area: 'events', noun: 'event', type: 'Event', words: 'an event' }),
  operatorChange({
    name: 'register_for_event',
    title: 'Register somebody for an event',
    description: 'Registers a person of the site for an event.',
    area: 'events',
    field: 'registerForEvent',
    takes: { eventId: 'ID!', personId: 'ID!' },
  }),
  operatorChange({
    name: 'cancel_registration',
    title: 'Cancel a registration',
    description: 'Cancels the registration of a person for an event.',
    area: 'events',
    field: 'cancelRegistration',
    takes: { id: 'ID!' },
    destroys: true,
  }),
]

/** What the site offers besides courses. */
export const productAndEventTools: readonly Tool[] = [...productTools, ...eventTools]
