import { makeMemberApi } from '../../src/api/member-api/member-api.ts'
import type { MemberCaller } from '../../src/api/member-api/resolvers.ts'
import { readConfig } from '../../src/config/config.ts'
import { MEMBER_READ, MEMBER_WRITE } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { makeCursors } from '../../src/platform/store/cursor.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { makeViewerData } from '../../src/school/viewer/viewer-data.ts'
import type { Answers } from '../../tools/token/headless-person.ts'
import { insert } from './database.ts'
import { loadDemo } from './demo-database.ts'
import { configFolder, notes, type RunningService, sam } from './gatehouse.ts'
import { getTokens } from './relying-party.ts'
import { type Json, type JsonOptions, postJson } from './wire.ts'

export type MemberAddress = JsonOptions & { readonly url: string }

export async function askMember({ url, ...options }: MemberAddress, body: unknown) {
  return await postJson(url + paths.graphql, body, options)
}

export async function readMember<Data = Json>(
  address: MemberAddress,
  query: string,
  variables?: Record<string, unknown>,
): Promise<Data> {
  const { body } = await askMember(address, { query, variables })
  if (!body.data || body.errors) throw new Error(`no data: ${JSON.stringify(body)}`)
  return body.data
}

export const readOnly: string = `openid ${MEMBER_READ}`
export const readWrite: string = `openid ${MEMBER_READ} ${MEMBER_WRITE}`

type Member = { readonly person?: Answers; readonly clientId?: string }

/** Obtains a member's access token through the whole flow, by default at Northlight. */
export async function memberToken(url: string, scope: string = readWrite, who: Member = {}) {
  return (await getTokens(url, { scope, ...who })).tokens.access_token
}

/** Creates a function that queries as one member, by default Sam at Northlight. */
export async function memberReader(url: string, person: Answers = sam) {
  const token = await memberToken(url, readWrite, { person })
  return async (query: string) => await readMember({ url, token }, query)
}

/** Creates a member application at the second site of the demo. */
export async function addKitchenClient({ kysely }: RunningService): Promise<string> {
  const client_id = 'kitchen-notes'
  await insert(kysely, 'oauth_application', {
    ...{ client_id, kind: 'site', site_id: 'sit_open_kitchen', name: 'Kitchen Notes' },
    ...{ auth_method: 'none', application_type: 'native', created_at: 1 },
    redirect_uris: JSON.stringify([notes.redirectUri]),
    scopes: JSON.stringify([MEMBER_READ, MEMBER_WRITE]),
  })
  return client_id
}

export async function withCampus<D extends Database>(database: D): Promise<D> {
  await loadDemo(database, () => CAMPUS_NOW)
  return database
}

const CAMPUS_NOW = Date.UTC(2026, 0, 15, 12)

const { memberApi: limits } = readConfig({}, configFolder).service

/** Creates a Member API on `database`, which tests call without HTTP. */
export function memberApiOver(database: Database, now: () => number = Date.now) {
  const parts = {
    data: makeViewerData(database, now),
    cursors: makeCursors([Buffer.alloc(32, 1)]),
    downloadAddress: ({ fileId }: { readonly fileId: string }) => `https://files.example/${fileId}`,
  }
  const api = makeMemberApi(parts, limits)
  return {
    ...api,
    /** Returns the data of an operation that must succeed, by default for Sam. */
    async read(query: string, variables = {}, caller = samAtNorthlight): Promise<Json> {
      const { data, errors } = await api.execute(query, variables, caller)
      if (errors) throw new Error(JSON.stringify(errors))
      return JSON.parse(JSON.stringify(data))
    },
  }
}

export const samAtNorthlight: MemberCaller = {
  personId: 'per_sam',
  siteId: 'sit_northlight',
  name: 'Sam Student',
  email: 'sam@northlight.example',
}
