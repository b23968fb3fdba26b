import {
  ProtocolError,
  ProtocolErrorCode,
  ResourceNotFoundError,
  type Server,
} from '@modelcontextprotocol/server'

import { type Exchange, orFail, type Sender } from './exchange.ts'
import {
  findResource,
  isTemplate,
  type ListedNode,
  listedPage,
  type ResourceKind,
  resourceKinds,
  uriOf,
} from './resources.ts'
import { type ToolCall, type ToolParts, ToolProblem } from './tool.ts'
import { isOpen } from './tool-access.ts'
import { isServedAt } from './tool-address.ts'

/** Answers for the resources that the caller's token opens at this address. */
export function offerResources(server: Server, exchange: Exchange, parts: ToolParts): void {
  const { sender } = exchange
  const call = { ...sender, parts }

  server.setRequestHandler('resources/templates/list', () => ({
    resourceTemplates: offeredTo(sender)
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

function offeredTo({ caller, address }: Sender): ResourceKind[] {
  return resourceKinds.filter((kind) => isServedAt(address, kind) && isOpen(kind.access, caller))
}

const PAGE_SIZE = 100
const FIRST = '0'

/**
 * One page of what there is: first what has an address of its own, then one kind after the other. The
 * cursor says which kind comes next, and where in its list.
 *
 * @throws ProtocolError when the cursor did not come from a page before
 */
async function listPage(cursor: string | undefined, call: ToolCall) {
  const [section = '', after] = (cursor ?? FIRST).split(' ')
  const listed = offeredTo(call).filter(({ listedBy }) => listedBy !== undefined)
  if (!/^\d{1,2}$/.test(section) || Number(section) > listed.length) throw invalid(FOREIGN_PAGE)
  const single = offeredTo(call).filter((kind) => !isTemplate(kind))
  const fixed = cursor === undefined ? single.map(fixedResource) : []
  const kind = listed[Number(section)]
  if (!kind) return { resources: fixed }
  const { nodes, pageInfo } = await pageOfKind(kind, after, call)
  const isOver = !pageInfo.hasNextPage && Number(section) + 1 === listed.length
  const next = pageInfo.hasNextPage ? `${section} ${pageInfo.endCursor}` : `${Number(section) + 1}`
  return {
    resources: [...fixed, ...nodes.map((node) => listedResource(kind, node))],
    ...(!isOver && { nextCursor: next }),
  }
}

const FOREIGN_PAGE =
  'cursor: must be nextCursor of the page before; leave it out for the first page'

async function pageOfKind(
  { listedBy = '' }: ResourceKind,
  after: string | undefined,
  call: ToolCall,
) {
  try {
    const page = { first: PAGE_SIZE, ...(after !== undefined && { after }) }
    return await listedPage(listedBy, page, call)
  } catch (error) {
    throw error instanceof ToolProblem ? invalid(FOREIGN_PAGE) : error
  }
}

function fixedResource({ name, title, description, mimeType, uriTemplate: uri }: ResourceKind) {
  return { uri, name, title, description, mimeType }
}

function listedResource(kind: ResourceKind, node: ListedNode) {
  const { mimeType } = kind
  return { uri: uriOf(kind, node), name: node.slug, title: node.title, mimeType }
}

/**
 * Reads what a URI names.
 *
 * @throws ResourceNotFoundError when it names nothing, or nothing of the caller's
 */
async function readOne(uri: string, call: ToolCall) {
  const found = findResource(uri)
  // The front door has asked already. Asked again here, no way around it opens a resource.
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
  'There is no such resource here. Take a URI of resources/list, or fill in one of resources/templates/list.'

function invalid(message: string): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, message)
}
