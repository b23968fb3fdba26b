import { ResourceNotFoundError, type Server } from '@modelcontextprotocol/server'

import { MEMBER_READ, readScope } from '../../directory/scopes/catalogue.ts'
import { type Exchange, invalidParams, orFail } from './call-tool.ts'
import { type ToolAccess, type ToolCall, ToolProblem } from './tool.ts'
import { isListed, isServedAt } from './tool-access.ts'
import { toolCatalogue } from './tool-catalogue.ts'

/** A kind of resource that people attach to conversations. Tools return the same data. */
export interface ResourceKind {
  readonly name: string
  readonly title: string
  readonly description: string
  readonly access: ToolAccess
  readonly mimeType: 'application/json' | 'text/markdown'
  /** A URI, or a template in which each `{name}` is one path segment. */
  readonly uriTemplate: string
  /** Reads a resource. @throws ToolProblem if it does not exist */
  readonly read: (values: Values, call: ToolCall) => Promise<object | string>
  /** The tool from which resources/list takes the resources of this kind, if any. */
  readonly listedBy?: string
}

type Values = Readonly<Record<string, string>>

const json = { mimeType: 'application/json' } as const

export const resourceKinds: readonly ResourceKind[] = [
  {
    name: 'auth_guide',
    title: 'Authorization guide',
    description: 'How to get an access token.',
    access: { kind: 'public' },
    mimeType: 'text/markdown',
    uriTemplate: 'gatehouse://guide',
    read: async (_none, call) => await runNamed('get_auth_guide', {}, call),
  },
  {
    ...json,
    name: 'public_course',
    title: 'A published course',
    description: "A site's published course, including the lectures.",
    access: { kind: 'public' },
    uriTemplate: 'gatehouse://sites/{site}/courses/{course}',
    read: async ({ site, course: slug }, call) =>
      await runNamed('get_public_course', { site, slug }, call),
  },
  purchased('course', 'My course', 'list_enrolled_courses'),
  purchased('digital_product', 'My digital product', 'list_digital_products'),
  purchased('consultation', 'My consultation', 'list_consulting_services'),
  purchased('event', 'My event', 'list_event_registrations'),
  {
    ...json,
    name: 'site_course',
    title: 'A course at the site',
    description: "A course of the token's site with its sections and lectures, including drafts.",
    access: { kind: 'scopes', needed: [readScope('courses'), readScope('curriculum')] },
    uriTemplate: 'gatehouse://site/courses/{course}',
    read: async ({ course: slug }, call) => await runNamed('get_site_curriculum', { slug }, call),
    listedBy: 'list_site_courses',
  },
]

function purchased(noun: string, title: string, listedBy: string): ResourceKind {
  return {
    ...json,
    access: { kind: 'scopes', needed: [MEMBER_READ] },
    name: `my_${noun}`,
    title,
    description: `One ${noun.replace('_', ' ')} of the signed-in member, identified by an id from ${listedBy}.`,
    uriTemplate: `gatehouse://me/${noun}s/{id}`,
    read: async ({ id = '' }, call) => await findListed(id, listedBy, call),
    listedBy,
  }
}

const patterns = resourceKinds.map((kind) => ({
  kind,
  pattern: new RegExp(`^${kind.uriTemplate.replace(/\{(\w+)\}/g, '(?<$1>[\\w.-]{1,200})')}$`),
}))

/** Finds the kind of resource that a URI identifies, and the values of the template's variables. */
export function findResource(uri: unknown) {
  if (typeof uri !== 'string') return undefined
  for (const { kind, pattern } of patterns) {
    const found = pattern.exec(uri)
    if (found) return { kind, values: found.groups ?? {} }
  }
  return undefined
}

function isTemplate({ uriTemplate }: ResourceKind): boolean {
  return uriTemplate.includes('{')
}

function uriOf({ uriTemplate }: ResourceKind, node: ListedNode): string {
  return uriTemplate.replace(/\{(\w+)\}/, (_, name) => (name === 'id' ? node.id : node.slug))
}

/** The fields that the lists of resources have in common. */
interface ListedNode {
  readonly id: string
  readonly slug: string
  readonly title: string
}

interface ListedPage {
  readonly nodes: readonly ListedNode[]
  readonly pageInfo: { readonly hasNextPage: boolean; readonly endCursor: string | null }
}

const PURCHASE_PAGES_MAX = 10

/** Finds an entry by id, among the first thousand entries of a list. @throws ToolProblem if there is none */
async function findListed(id: string, tool: string, call: ToolCall): Promise<object> {
  let after: string | undefined
  for (let pages = 0; pages < PURCHASE_PAGES_MAX; pages += 1) {
    const wanted = { first: PAGE_SIZE, ...(after !== undefined && { after }) }
    const { nodes, pageInfo } = (await runNamed(tool, wanted, call)) as ListedPage
    const node = nodes.find((each) => each.id === id)
    if (node) return node
    if (!pageInfo.hasNextPage) break
    after = pageInfo.endCursor ?? undefined
  }
  throw new ToolProblem(`The id is unknown. Call ${tool} for valid ids.`)
}

async function runNamed(name: string, values: object, call: ToolCall): Promise<object | string> {
  const tool = toolCatalogue.find((each) => each.name === name)
  if (!tool) throw new Error(`there is no tool ${name}`)
  return await tool.run(values, call)
}

/** Handles resource requests, for the resources that the caller may read at this endpoint. */
export function offerResources(server: Server, exchange: Exchange): void {
  const { call } = exchange

  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: offeredTo(call)
      .filter(isTemplate)
      .map(({ name, title, description, mimeType, uriTemplate }) => ({
        ...{ name, title, description, mimeType, uriTemplate },
      })),
  }))
  server.setRequestHandler(
    'resources/list',
    async ({ params }) => await orFail(exchange, listPage(params?.cursor, call)),
  )
  server.setRequestHandler(
    'resources/read',
    async ({ params }) => await orFail(exchange, readOne(params.uri, call)),
  )
}

function offeredTo({ caller, address }: ToolCall): ResourceKind[] {
  return resourceKinds.filter((kind) => isServedAt(address, kind) && isListed(kind.access, caller))
}

const PAGE_SIZE = 100
const FIRST = '0'

/** Once a page has this many resources, the list continues with `nextCursor`. Most lists fit on one page. */
const RESOURCES_ENOUGH = 400

/**
 * Lists a page of resources. Resources with a fixed URI come first, because some clients read only the first page.
 *
 * @throws ProtocolError for an invalid cursor
 */
async function listPage(cursor: string | undefined, call: ToolCall) {
  const offered = offeredTo(call)
  const kinds = offered.filter(({ listedBy }) => listedBy !== undefined)
  const fixed = offered.filter((kind) => !isTemplate(kind)).map(fixedResource)
  const resources: ReturnType<typeof listedResource>[] = cursor === undefined ? fixed : []
  let next: string | undefined = cursor ?? FIRST
  while (next !== undefined && resources.length < RESOURCES_ENOUGH) {
    const [section = '', after]: string[] = next.split(' ')
    const index = Number(section)
    if (!/^\d{1,2}$/.test(section) || index > kinds.length) throw invalidParams(FOREIGN_PAGE)
    const kind = kinds[index]
    if (!kind) return { resources }
    const { nodes, pageInfo } = await pageOfKind(kind, after, call)
    resources.push(...nodes.map((node) => listedResource(kind, node)))
    next = pageInfo.hasNextPage ? `${section} ${pageInfo.endCursor}` : `${index + 1}`
    if (next === `${kinds.length}`) next = undefined
  }
  return { resources, ...(next !== undefined && { nextCursor: next }) }
}

const FOREIGN_PAGE = '"cursor" must be the previous page\'s nextCursor. Omit it for the first page.'

async function pageOfKind(
  { listedBy = '' }: ResourceKind,
  after: string | undefined,
  call: ToolCall,
) {
  try {
    const page = { first: PAGE_SIZE, ...(after !== undefined && { after }) }
    return (await runNamed(listedBy, page, call)) as ListedPage
  } catch (error) {
    throw error instanceof ToolProblem ? invalidParams(FOREIGN_PAGE) : error
  }
}

function fixedResource({ name, title, description, mimeType, uriTemplate: uri }: ResourceKind) {
  return { uri, name, title, description, mimeType }
}

function listedResource(kind: ResourceKind, node: ListedNode) {
  const { mimeType } = kind
  return { uri: uriOf(kind, node), name: node.slug, title: node.title, mimeType }
}

/** Reads the resource with this URI. @throws ResourceNotFoundError if it does not exist for this caller */
async function readOne(uri: string, call: ToolCall) {
  const found = findResource(uri)
  // The endpoint has already checked access. Check again, in case a message bypasses that check.
  if (!found || !offeredTo(call).includes(found.kind)) {
    throw new ResourceNotFoundError(uri, UNKNOWN)
  }
  const { kind, values } = found
  try {
    const content = await kind.read(values, call)
    const text = typeof content === 'string' ? content : JSON.stringify(content)
    return { contents: [{ uri, mimeType: kind.mimeType, text }] }
  } catch (error) {
    throw error instanceof ToolProblem ? new ResourceNotFoundError(uri, error.message) : error
  }
}

const UNKNOWN =
  'There is no resource with this URI at this endpoint. Use one from resources/list or resources/templates/list.'
