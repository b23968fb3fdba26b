import { findPrompt } from './prompts.ts'
import { findResource, findTemplate } from './resources.ts'
import type { ToolAccess, ToolAddress } from './tool.ts'
import { accessTo } from './tool-access.ts'
import { audienceOf, isServedAt } from './tool-address.ts'
import { findTool } from './tool-catalogue.ts'

/** What a message uses, and who may use it. */
export interface Use {
  /** For the log. */
  readonly name: string
  readonly access: ToolAccess
  /** Whether it changes something of a site, which leaves a line in the audit trail. */
  readonly changesSite?: boolean
}

/**
 * What a message wants to use: a tool, a prompt or a resource. The front door asks this one function, so
 * that none of them has a way past it. Nothing for a message that uses none, and for what the address does
 * not have, which is answered as unknown.
 */
export function accessOf(message: unknown, address: ToolAddress): Use | undefined {
  const { method, params } = (message ?? {}) as { method?: unknown; params?: Params | null }
  const use = usedBy(method, params ?? {}, address)
  return use && isServedAt(address, use) ? use : undefined
}

interface Params {
  readonly name?: unknown
  readonly arguments?: unknown
  readonly uri?: unknown
  readonly ref?: { readonly name?: unknown; readonly uri?: unknown } | null
}

function usedBy(method: unknown, params: Params, address: ToolAddress): Use | undefined {
  switch (method) {
    case 'tools/call': {
      const tool = findTool(params.name, address)
      if (!tool) return undefined
      const changesSite = tool.effect !== 'reads' && audienceOf(tool) === 'operator'
      return { name: tool.name, access: accessTo(tool, params.arguments), changesSite }
    }
    case 'prompts/get':
      return findPrompt(params.name)
    case 'resources/read':
      return findResource(params.uri)?.kind
    case 'completion/complete':
      return findPrompt(params.ref?.name) ?? findTemplate(params.ref?.uri)
    default:
      return undefined
  }
}
