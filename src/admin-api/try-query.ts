import { type ExecutionResult, getOperationAST } from 'graphql'

import type { AdminApi } from './admin-api.ts'
import type { AdminCaller } from './context.ts'

/** What became of a query that somebody tried: its answer, or a sentence about why there is none. */
export type TriedQuery = { readonly result: ExecutionResult } | { readonly problem: string }

/** Runs a query that an operator has typed, with everything that an operator may read. */
export type TryQuery = (typed: TypedQuery, caller: AdminCaller) => Promise<TriedQuery>

export interface TypedQuery {
  readonly source: string
  /** JSON, or nothing at all. */
  readonly variables: string
}

/**
 * Queries only: a page is for looking, and what it changes would be done by an accident of typing. The
 * limits are those of the API.
 */
export function makeTryQuery(load: () => Promise<AdminApi>): TryQuery {
  return async ({ source, variables: typed }, caller) => {
    const api = await load()
    const prepared = api.prepare(source)
    if (prepared.kind === 'refused') return { problem: prepared.error.message }
    if (prepared.kind === 'invalid') return { result: { errors: prepared.errors } }
    const operation = getOperationAST(prepared.document)
    if (!operation) return { problem: 'Write one operation.' }
    if (operation.operation !== 'query') {
      return { problem: 'This page runs queries only. A program with a token runs mutations.' }
    }
    const variables = readVariables(typed)
    if (!variables) return { problem: 'The variables must be one JSON object.' }
    const { excess } = api.measure(prepared.document, { variables })
    if (excess) return { problem: excess.message }
    return { result: await api.execute(source, variables, caller) }
  }
}

function readVariables(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text.trim() || '{}')
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
