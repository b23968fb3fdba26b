import { scopeNames } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import type { Answers } from '../../tools/token/headless-person.ts'
import type { RunningService } from './gatehouse.ts'
import { operatorToken } from './mcp.ts'
import type { MemberAnswer } from './member-api.ts'
import { answerOf } from './wire.ts'

/** Where an operator's request goes, and by which token. */
export interface AdminAddress {
  readonly url: string
  readonly token?: string | undefined
  readonly headers?: Record<string, string>
}

/** Sends one request to the Admin API, as any GraphQL client would. */
async function askAdmin(
  { url, token, headers }: AdminAddress,
  body: unknown,
): Promise<MemberAnswer> {
  const response = await fetch(url + paths.adminGraphql, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      ...(token !== undefined && { authorization: `Bearer ${token}` }),
      ...headers,
    },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  })
  return await answerOf(response)
}

/** An operator at work: one token with all operator scopes, or with those that are named. */
export async function startOperator(
  { url }: Pick<RunningService, 'url'>,
  {
    scopes = scopeNames('operator'),
    person,
  }: { scopes?: readonly string[]; person?: Answers } = {},
) {
  const token = await operatorToken(url, scopes.join(' '), person)
  const ask = async (query: string, variables: object = {}) =>
    await askAdmin({ url, token }, { query, variables })
  return {
    url,
    token,
    ask,
    /** The data of an operation that has to succeed. */
    // biome-ignore lint/suspicious/noExplicitAny: a test looks at what it asked for
    async run(query: string, variables: object = {}): Promise<any> {
      const { body } = await ask(query, variables)
      if (!body.data || body.errors) throw new Error(`no data: ${JSON.stringify(body)}`)
      return body.data
    },
    /** What is wrong with an operation that has to fail: its code, and the argument that it names. */
    async refused(query: string, variables: object = {}) {
      const { body } = await ask(query, variables)
      const [error] = body.errors ?? []
      if (!error) throw new Error(`no error: ${JSON.stringify(body)}`)
      return { code: error.extensions?.['code'], argument: error.extensions?.['argument'] }
    },
  }
}

export type Operator = Awaited<ReturnType<typeof startOperator>>

/** The lines of the audit trail with this action. */
export async function auditEvents({ service }: RunningService, action: string) {
  return await service.stores.database.kysely
    .selectFrom('audit_event')
    .selectAll()
    .where('action', '=', action)
    .execute()
}
