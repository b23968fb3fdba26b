import { readScope, writeScope } from '../../directory/scopes/catalogue.ts'
import { adminCaller } from '../admin-api/context.ts'
import { makeAdminSchema } from '../admin-api/schema.ts'
import { type DocumentDefinition, declared, makeDocumentTool, passed } from './document-tool.ts'
import { callerOf, once, type Tool } from './tool.ts'

/**
 * The tools over what operators read and change of the token's own site. Each runs one fixed document
 * of the Admin API in process: the two surfaces cannot drift (design 23). That the person still operates
 * the site is part of the verdict on the token, which is asked anew for every call (design 15).
 */

type Described = Pick<Tool, 'name' | 'title' | 'description'>

/** A tool over the Admin API. */
export const operatorTool: (definition: DocumentDefinition) => Tool = makeDocumentTool({
  schema: once(makeAdminSchema),
  execute: async (call, document, variables) =>
    await call.parts.executeAdmin(document, variables, adminCaller(callerOf(call), call.request)),
})

const page = 'pageInfo { hasNextPage endCursor } totalCount'

/** Where the ids and slugs of an area come from. */
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

function listedIn(area: string) {
  const listedBy = listOfArea[area]
  return listedBy === undefined ? {} : { listedBy }
}

interface ListDefinition extends Described {
  readonly area: string
  /** The field of the root, what it takes besides pages, and what is told of each node. */
  readonly list: string
  readonly filters?: Readonly<Record<string, string>>
  readonly nodes: string
}

/** A tool that lists something of the site, page by page. */
export function operatorList({
  area,
  list,
  filters = {},
  nodes,
  ...described
}: ListDefinition): Tool {
  const all = { first: 'Int', after: 'String', ...filters }
  return operatorTool({
    ...described,
    scopes: [readScope(area)],
    document: `query (${declared(all)}) { ${list}(${passed(all)}) { nodes { ${nodes} } ${page} } }`,
    pick: [list],
  })
}

interface FindDefinition extends Described {
  readonly areas: readonly [string, ...string[]]
  readonly field: string
  readonly by: Readonly<Record<string, string>>
  readonly selection: string
}

/** A tool that returns one thing of the site. */
export function operatorFind({ areas, field, by, selection, ...described }: FindDefinition): Tool {
  return operatorTool({
    ...described,
    ...listedIn(areas[0]),
    scopes: areas.map(readScope),
    document: `query (${declared(by)}) { ${field}(${passed(by)}) { ${selection} } }`,
    pick: [field],
  })
}

interface ChangeDefinition extends Described, Pick<DocumentDefinition, 'destroys'> {
  readonly area: string
  readonly field: string
  /** The arguments of the field, or the type of its argument `input`. */
  readonly takes: Readonly<Record<string, string>>
  /** What is told of the change: its id, unless it has another. */
  readonly selection?: string
}

/** A tool that changes something of the site. It tells what it changed and no more, as a write scope does. */
export function operatorChange({
  area,
  field,
  takes,
  selection = 'id',
  ...described
}: ChangeDefinition): Tool {
  return operatorTool({
    ...described,
    ...listedIn(area),
    scopes: [writeScope(area)],
    document: `mutation (${declared(takes)}) { ${field}(${passed(takes)}) { ${selection} } }`,
    pick: [field],
  })
}
