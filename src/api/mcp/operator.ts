import { readScope, writeScope } from '../../directory/scopes/catalogue.ts'
import { makeAdminSchema } from '../admin-api/admin-api.ts'
import { adminCaller } from '../admin-api/context.ts'
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

interface ListDefinition extends Described {
  /** The field of the root, what it takes besides pages, and what is told of each node. */
  readonly list: string
  readonly filters: Readonly<Record<string, string>>
  readonly nodes: string
}

interface FindDefinition extends Described {
  readonly field: string
  readonly by: Readonly<Record<string, string>>
  readonly selection: string
  /** Another area of which the token needs the scope. */
  readonly also?: string
}

interface ChangeDefinition extends Described, Pick<DocumentDefinition, 'destroys'> {
  /** The arguments of the field, unless it has one, `input`, of the type that is named after it. */
  readonly takes?: Readonly<Record<string, string>>
  /** What is told of the change: its id, unless it has another. */
  readonly selection?: string
}

/** What a change has that removes something by its id. */
export const removal = { takes: { id: 'ID!' }, selection: 'deletedId', destroys: true } as const

export type AreaTools = ReturnType<typeof toolsOf>

/** Makes the tools of an area. */
export function toolsOf(area: string) {
  const listedBy = listOfArea[area]
  const listed = listedBy === undefined ? {} : { listedBy }
  return {
    /** A tool that lists something of the site, page by page. */
    list({ list, filters, nodes, ...described }: ListDefinition): Tool {
      const all = { first: 'Int', after: 'String', ...filters }
      return operatorTool({
        ...described,
        scopes: [readScope(area)],
        document: `query (${declared(all)}) { ${list}(${passed(all)}) { nodes { ${nodes} } ${page} } }`,
        pick: [list],
      })
    },
    /** A tool that returns one thing of the site. */
    find({ field, by, selection, also, ...described }: FindDefinition): Tool {
      return operatorTool({
        ...described,
        ...listed,
        scopes: [area, ...(also === undefined ? [] : [also])].map(readScope),
        document: `query (${declared(by)}) { ${field}(${passed(by)}) { ${selection} } }`,
        pick: [field],
      })
    },
    /**
     * A tool that changes something of the site by the field of its name: `create_course` by `createCourse`.
     * It tells what it changed and no more, as a write scope does.
     */
    change({ takes, selection = 'id', ...described }: ChangeDefinition): Tool {
      const field = described.name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
      const taken = takes ?? { input: `${field.charAt(0).toUpperCase()}${field.slice(1)}Input!` }
      return operatorTool({
        ...described,
        ...listed,
        scopes: [writeScope(area)],
        document: `mutation (${declared(taken)}) { ${field}(${passed(taken)}) { ${selection} } }`,
        pick: [field],
      })
    },
  }
}
