import { readScope, writeScope } from '../../directory/scopes/catalogue.ts'
import { makeAdminSchema } from '../admin-api/admin-api.ts'
import { adminCaller } from '../admin-api/context.ts'
import { once } from '../graphql/once.ts'
import { type DocumentDefinition, makeDocumentTool, pageSelection } from './document-tool.ts'
import { signedInCaller, type Tool } from './tool.ts'

/** Creates a tool for operators of a site. It runs one fixed document of the Admin API (design 15 and 23). */
export const operatorTool: (definition: DocumentDefinition) => Tool = makeDocumentTool({
  schema: once(makeAdminSchema),
  execute: async (call, document, variables) => {
    const caller = adminCaller(signedInCaller(call), call.request)
    return await call.parts.executeAdmin(document, variables, caller)
  },
  // People who can be enrolled or registered need not be students, so refer to the list of members.
  listOf: {
    ...{ course: 'list_site_courses', event: 'list_site_events', post: 'list_site_posts' },
    ...{ section: 'get_site_curriculum', lecture: 'get_site_curriculum' },
    ...{ enrolment: 'get_site_student', person: 'list_site_members' },
    registration: 'get_site_event',
    file: 'list_site_files',
    'digital product': 'list_site_digital_products',
  },
})

/** Returns the name of the tool that lists the ids and slugs of an area's objects. Some areas have no such tool. */
function listToolOf(area: string): string {
  return area === 'curriculum' ? 'get_site_curriculum' : `list_site_${area}`
}

interface FindDefinition
  extends Pick<DocumentDefinition, 'name' | 'title' | 'description' | 'selection'> {
  readonly field: string
}

/** Creates a tool that returns one object of an area. */
export function lookupTool(area: string, { field, ...described }: FindDefinition): Tool {
  return operatorTool({
    ...described,
    scopes: [readScope(area)],
    path: [field],
    listedBy: listToolOf(area),
  })
}

interface ReadDefinition {
  /** The noun for an object, such as `order`, for tool names and texts. */
  readonly noun: string
  /** The arguments that select one object, as text for the description; by default, `id`. */
  readonly by?: string
  readonly selection: string
  /** Additional fields for the tool that returns a single object. */
  readonly details?: string
  /** Text to append to the description of the list tool. */
  readonly order?: string
}

/** Creates the tools that list and get one kind of object: `list_site_orders` and `get_site_order`. */
export function readBoth(area: string, definition: ReadDefinition): Tool[] {
  const { noun, by = 'id', selection, details = '', order = '' } = definition
  const words = noun.replaceAll('_', ' ')
  const field = camelCase(noun)
  return [
    operatorTool({
      name: `list_site_${noun}s`,
      title: `List the site's ${words}s`,
      description: `Lists the ${words}s of the token's site${order}.`,
      scopes: [readScope(area)],
      path: [`${field}s`],
      selection: pageSelection(selection),
    }),
    lookupTool(area, {
      name: `get_site_${noun}`,
      title: `Get ${withArticle(words)}`,
      description: `Returns ${withArticle(words)} of the token's site by ${by}.`,
      field,
      selection: `${selection} ${details}`,
    }),
  ]
}

/** The description of a tool, and the properties that its name does not imply. */
interface ChangeDefinition
  extends Pick<DocumentDefinition, 'description' | 'mails'>,
    Partial<Pick<DocumentDefinition, 'title' | 'effect' | 'selection'>> {
  /** The selection of the changed object, for callers with the read scope. */
  readonly returns?: string
}

/** The verbs of tools that neither remove nor overwrite data. */
const addingVerbs: ReadonlySet<string> = new Set([
  ...['assign', 'create', 'enrol', 'invite', 'publish', 'register', 'request', 'restore'],
])

/** The payload fields that the write scope covers, by verb; `id` by default. */
const payloadFields: Readonly<Record<string, string>> = {
  ...{ create: 'id isNew', enrol: 'id isNew', delete: 'deletedId', remove: 'deletedId' },
}

/**
 * Creates the tools that change an area. Each tool runs the mutation with the same name in camel case. The result has
 * the fields that the write scope covers. If the caller may read the area and the object still exists, the result also
 * has fields of the object: `returns` of the definition or, by default, `returned`.
 */
export function changeTools(
  area: string,
  definitions: Readonly<Record<string, string | ChangeDefinition>>,
  returned?: string,
): Tool[] {
  return Object.entries(definitions).map(([name, definition]) => {
    const [verb = ''] = name.split('_')
    const own = typeof definition === 'string' ? { description: definition } : definition
    const { returns = returned, ...described } = own
    return operatorTool({
      title: titleOf(name),
      effect: addingVerbs.has(verb) ? 'changes' : 'destroys',
      selection: payloadFields[verb] ?? 'id',
      ...described,
      ...(returns !== undefined &&
        payloadFields[verb] !== 'deletedId' && {
          returns: { scope: readScope(area), selection: returns },
        }),
      name,
      scopes: [writeScope(area)],
      path: [camelCase(name)],
      listedBy: listToolOf(area),
    })
  })
}

/** The records that stay valid when an item is hidden, by kind of item. */
const holdings: Readonly<Record<string, string>> = {
  ...{ course: 'Enrolments', digital_product: 'Purchases', event: 'Registrations' },
}

/** Creates the tools for a kind of item with a publication state, such as `course`. */
export function itemTools(noun: string, selection: string, details = ''): Tool[] {
  const area = `${noun}s`
  const words = noun.replaceAll('_', ' ')
  const one = withArticle(words)
  const stay = `${holdings[noun]} stay valid.`
  const definitions = {
    [`create_${noun}`]: `Creates ${one} as a draft, invisible until publish_${noun}.`,
    [`update_${noun}`]: `Changes ${one}. Omitted arguments keep their values.`,
    [`publish_${noun}`]: `Publishes ${one}, now or at a given time.`,
    [`unpublish_${noun}`]: `Reverts ${one} to draft. ${stay}`,
    [`archive_${noun}`]: `Archives ${one}, published or not: visitors no longer see it. ${stay} restore_${noun} undoes this.`,
    [`restore_${noun}`]: `Restores an archived ${words} to its earlier state.`,
    [`delete_${noun}`]: `Deletes ${one} that was never published, and frees its slug. For others, use archive_${noun}.`,
  }
  return [
    ...readBoth(area, { noun, by: 'id or slug', selection, details, order: ', in any state' }),
    ...changeTools(
      area,
      definitions,
      `${camelCase(noun)} { slug title state publishedAt archivedAt }`,
    ),
  ]
}

/** Returns the title of a tool: `Change a lecture` for `update_lecture`. */
function titleOf(name: string): string {
  const [verb = '', ...noun] = name.split('_').map((word) => shownWords[word] ?? word)
  const title = `${verb} ${withArticle(noun.join(' '))}`
  return title.charAt(0).toUpperCase() + title.slice(1)
}

/** The words for titles, where they differ from those of tool names. */
const shownWords: Readonly<Record<string, string>> = {
  update: 'change',
  delete: 'remove',
  post: 'announcement',
}

function withArticle(words: string): string {
  return `${/^[aeiou]/.test(words) ? 'an' : 'a'} ${words}`
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}
