import { paths } from '../src/http/paths.ts'
import { notes, resourceServer } from '../test/support/gatehouse.ts'
import { getTokens } from '../test/support/relying-party.ts'

/** One request of a benchmark. */
export interface Call {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
}

/** What one connection does again and again; it learns from each answer what to send next. */
export interface Operation {
  readonly name: string
  prepare(url: string): Promise<{ next(): Call; learn?(body: string): void }>
}

/** The requests that a service in use answers most. */
export const operations: readonly Operation[] = [
  {
    name: 'token (refresh)',
    async prepare(url) {
      let { refresh_token: held = '' } = (await getTokens(url)).tokens
      const constant = { client_id: notes.clientId, grant_type: 'refresh_token' }
      return {
        next: () => ({
          method: 'POST',
          path: paths.token,
          form: { ...constant, refresh_token: held },
        }),
        learn(body) {
          held = JSON.parse(body).refresh_token
        },
      }
    },
  },
  {
    name: 'userinfo',
    async prepare(url) {
      const { access_token } = (await getTokens(url)).tokens
      const headers = { authorization: `Bearer ${access_token}` }
      return { next: () => ({ method: 'GET', path: paths.userinfo, headers }) }
    },
  },
  {
    name: 'introspection',
    async prepare(url) {
      const { access_token: token } = (await getTokens(url)).tokens
      const { clientId: client_id, clientSecret: client_secret } = resourceServer
      const form = { client_id, client_secret, token }
      return { next: () => ({ method: 'POST', path: paths.introspection, form }) }
    },
  },
  {
    name: 'discovery',
    prepare: async () => ({ next: () => ({ method: 'GET', path: paths.openidConfiguration }) }),
  },
]
