import { scopeNames } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import type { Answers } from '../../tools/token/headless-person.ts'
import { rowsOf } from './database.ts'
import type { RunningService, ServiceSetup } from './gatehouse.ts'
import { operatorToken } from './mcp.ts'
import { fresh, shared } from './shared.ts'
import type { Start } from './storages.ts'
import { type Json, postJson } from './wire.ts'

type Caller = { readonly scopes?: readonly string[]; readonly person?: Answers }

export async function startOperator({ url }: Pick<RunningService, 'url'>, caller: Caller = {}) {
  const { scopes = scopeNames('operator'), person } = caller
  const token = await operatorToken(url, scopes.join(' '), person)
  const ask = async (query: string, variables: object = {}) =>
    await postJson(url + paths.adminGraphql, { query, variables }, { token })
  const run = async (query: string, variables: object = {}): Promise<Json> => {
    const { body } = await ask(query, variables)
    if (!body.data || body.errors) throw new Error(`no data: ${JSON.stringify(body)}`)
    return body.data
  }
  return {
    url,
    token,
    ask,
    run,
    value: async (query: string, variables?: object): Promise<Json> =>
      Object.values(await run(query, variables))[0],
    async refused(query: string, variables: object = {}): Promise<string> {
      const { body } = await ask(query, variables)
      const [error] = body.errors ?? []
      if (!error) throw new Error(`no error: ${JSON.stringify(body)}`)
      const { code, argument } = error.extensions ?? {}
      return [code, argument].filter(Boolean).join(' ')
    },
  }
}

export type Operator = Awaited<ReturnType<typeof startOperator>>

/** Starts a service with an operator, once for a block of tests or, with `each`, for every test. */
export function operatorSite(start: Start, options: ServiceSetup & { each?: boolean } = {}) {
  const { each = false, ...setup } = options
  const now = (each ? fresh : shared)(async () => {
    const running = await start(setup)
    const operator = await startOperator(running)
    return { running, operator, [Symbol.asyncDispose]: () => running[Symbol.asyncDispose]() }
  })
  type Parameters = [query: string, variables?: object]
  return {
    running: () => now().running,
    operator: () => now().operator,
    kysely: () => now().running.kysely,
    run: async (...asked: Parameters) => await now().operator.run(...asked),
    ask: async (...asked: Parameters) => await now().operator.ask(...asked),
    value: async (...asked: Parameters) => await now().operator.value(...asked),
    refused: async (...asked: Parameters) => await now().operator.refused(...asked),
    /** Returns the audit events of an action, oldest first. */
    audited: async (action: string) => {
      const events = await rowsOf(now().running.kysely, 'audit_event', { action })
      return events.toSorted((one, other) => one.occurred_at - other.occurred_at)
    },
  }
}

/** Returns a mutation, such as `createCourse`, with one input object. Selects `fields` of the payload. */
export function mutationOf(name: string, fields = 'id'): string {
  const type = `${name.charAt(0).toUpperCase()}${name.slice(1)}Input`
  return `mutation ($input: ${type}!) { ${name}(input: $input) { ${fields} } }`
}
