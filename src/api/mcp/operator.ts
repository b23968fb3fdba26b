import { readScope, writeScope } from '../../directory/scopes/catalogue.ts'
import { makeAdminSchema } from '../admin-api/admin-api.ts'
import { adminCaller } from '../admin-api/context.ts'
import { type DocumentDefinition, declared, makeDocumentTool, passed } from './document-tool.ts'
import { once, signedInCaller, type Tool } from './tool.ts'

type Described = Pick<Tool, 'name' | 'title' | 'description'>

/** Creates a tool for operators of a site. It runs one fixed document of the Admin API (design 15 and 23). */
export const operatorTool: (definition: DocumentDefinition) => Tool = makeDocumentTool({
  schema: once(makeAdminSchema),
  execute: async (call, document, variables) => {
    const caller = adminCaller(signedInCaller(call), call.request)
    return await call.parts.executeAdmin(document, variables, caller)
  },
})

const page = 'pageInfo { hasNextPage endCursor } totalCount'

/** The tools that list the ids and slugs of an area. */
const listOfArea: Readonly<Record<string, string>> = {
  courses: 'list_site_courses',
  curriculum: 'get_site_curriculum',
  digital_products: 'list_site_digital_products',
  events: 'list_site_events',
  lecturers: 'list_site_lecturers',
  members: 'list_site_members',
  orders: 'list_site_orders',
  posts: 'list_site_posts',
  students: 'list_site_students and list_site_courses',
}

interface ListDefinition extends Described {
  /** The root field. `filters` are its arguments except those for paging; `nodes` is the selection for each node. */
  readonly list: string
  readonly filters: Readonly<Record<string, string>>
  readonly nodes: string
}

interface FindDefinition extends Described {
  readonly field: string
  readonly by: Readonly<Record<string, string>>
  readonly selection: string
  /** Another area whose read scope the tool needs. */
  readonly also?: string
}

interface ChangeDefinition
  extends Pick<Tool, 'name' | 'description'>,
    Pick<DocumentDefinition, 'destroys'> {
  /** The title; by default, the name in words. */
  readonly title?: string
  /** The arguments of the field; by default, one `input` of the type named after the field. */
  readonly takes?: Readonly<Record<string, string>>
  /** The selection for the result; by default, the id. */
  readonly selection?: string
}

/** The common part of the definitions of mutations that remove an object by id. */
export const removal = { takes: { id: 'ID!' }, selection: 'deletedId', destroys: true } as const

interface ReadDefinition {
  /** The name of an object, for tool names and texts. */
  readonly noun: string
  readonly filters: Readonly<Record<string, string>>
  /** The arguments that select one object; by default, the id. */
  readonly by?: Readonly<Record<string, string>>
  readonly selection: string
  /** Additional fields of a single object. */
  readonly details?: string
  /** Text added to the description of the list. */
  readonly order?: string
}

/** Creates the functions that create the tools of an area. */
export function toolsOf(area: string) {
  const listedBy = listOfArea[area]
  const listed = listedBy === undefined ? {} : { listedBy }

  function list({ list: field, filters, nodes, ...described }: ListDefinition): Tool {
    const all = { first: 'Int', after: 'String', ...filters }
    return operatorTool({
      ...described,
      scopes: [readScope(area)],
      document: `query (${declared(all)}) { ${field}(${passed(all)}) { nodes { ${nodes} } ${page} } }`,
      pick: [field],
    })
  }

  function find({ field, by, selection, also, ...described }: FindDefinition): Tool {
    return operatorTool({
      ...described,
      ...listed,
      scopes: [area, ...(also === undefined ? [] : [also])].map(readScope),
      document: `query (${declared(by)}) { ${field}(${passed(by)}) { ${selection} } }`,
      pick: [field],
    })
  }

  /** Creates a tool that runs the mutation with the same name. The result contains only what the write scope covers. */
  function change({ takes, selection = 'id', ...described }: ChangeDefinition): Tool {
    const field = camelCase(described.name)
    const taken = takes ?? { input: `${capitalized(field)}Input!` }
    return operatorTool({
      title: titleOf(described.name),
      ...described,
      ...listed,
      scopes: [writeScope(area)],
      document: `mutation (${declared(taken)}) { ${field}(${passed(taken)}) { ${selection} } }`,
      pick: [field],
    })
  }

  /** Creates the tools that list and get one kind of object: `list_site_orders` and `get_site_order`. */
  function readBoth(definition: ReadDefinition): Tool[] {
    const { noun, filters, by = { id: 'ID!' }, selection, details = '', order = '' } = definition
    const words = noun.replaceAll('_', ' ')
    const field = camelCase(noun)
    return [
      list({
        name: `list_site_${noun}s`,
        title: `List ${words}s of the site`,
        description: `Lists the ${words}s of the token's site${order}.`,
        list: `${field}s`,
        filters,
        nodes: selection,
      }),
      find({
        name: `get_site_${noun}`,
        title: `Get ${withArticle(words)} of the site`,
        description: `Returns ${withArticle(words)} of the token's site by ${Object.keys(by).join(' or ')}.`,
        field,
        by,
        selection: `${selection} ${details}`,
      }),
    ]
  }
  return { list, find, change, readBoth }
}

/** Creates the tools for a kind of item with a publication state, such as `course`. */
export function itemTools(noun: string, selection: string): Tool[] {
  const { readBoth, change } = toolsOf(`${noun}s`)
  const sort = `${capitalized(camelCase(noun))}Sort`
  const words = noun.replaceAll('_', ' ')
  const one = withArticle(words)
  const byId = { takes: { id: 'ID!' } } as const
  return [
    ...readBoth({
      noun,
      filters: { search: 'String', state: 'ReleaseState', sort },
      by: { id: 'ID', slug: 'String' },
      selection,
      order: ', including drafts',
    }),
    change({
      name: `create_${noun}`,
      description: `Creates ${one} as a draft, which visitors cannot see. publish_${noun} publishes it.`,
    }),
    change({
      name: `update_${noun}`,
      description: `Changes ${one}. Omit an argument to keep its current value.`,
      destroys: true,
    }),
    change({
      name: `publish_${noun}`,
      description: `Publishes ${one}, now or at a given time.`,
      takes: { id: 'ID!', at: 'DateTime' },
    }),
    change({
      name: `unpublish_${noun}`,
      description: `Returns ${one} to draft. Existing enrolments, purchases and registrations stay valid.`,
      ...byId,
      destroys: true,
    }),
    change({
      name: `archive_${noun}`,
      description: `Archives ${one}. Existing enrolments, purchases and registrations stay valid. restore_${noun} undoes this.`,
      ...byId,
      destroys: true,
    }),
    change({
      name: `restore_${noun}`,
      description: `Restores an archived ${words} to its earlier state.`,
      ...byId,
    }),
  ]
}

/** Returns the title of a tool: `Change a lecture` for `update_lecture`. */
function titleOf(name: string): string {
  const [verb = '', ...noun] = name.split('_')
  return `${verbs[verb] ?? capitalized(verb)} ${withArticle(noun.join(' '))}`
}

const verbs: Readonly<Record<string, string>> = { update: 'Change', delete: 'Remove' }

function withArticle(words: string): string {
  return `${/^[aeiou]/.test(words) ? 'an' : 'a'} ${words}`
}

function camelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

function capitalized(name: string): string {
  return name.charAt(0).toUpperCase() + name.slice(1)
}
