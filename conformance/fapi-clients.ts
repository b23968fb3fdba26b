import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { exportJWK, generateKeyPair, type JWK } from 'jose'

import type { Config } from '../src/config/config.ts'
import { importCampus } from '../src/ops/cli/import-commands.ts'
import { readCampusFolder } from '../src/ops/import/campus-folder.ts'
import { SUITE_LOGIN } from './person.ts'

/**
 * The two applications of the FAPI 2.0 plan, and the person. They are applications like every other one, entered as an
 * operator's import would enter them, and the conformance profile holds for none of them.
 */

/** An application as the suite plays it. */
export interface FapiClient {
  readonly client_id: string
  /** What it asks for. */
  readonly scope: string
  /** With the private part, which the suite signs with. */
  readonly jwks: { readonly keys: readonly JWK[] }
}

/** An algorithm for each, so that both kinds of key are seen. */
const algorithms = { 'fapi-1': 'PS256', 'fapi-2': 'ES256' } as const

/**
 * Two, as one module changes their order. With `profile` the id_token names the site and the roles at it
 * (specification), and the suite warns of every claim that no standard scope stands for.
 */
const SCOPE = 'openid email'

const SITE = 'sit_northlight'

/** The suite adds this to the redirect address of its second client, to see that it is kept. */
const SECOND_QUERY = '?dummy1=lorem&dummy2=ipsum'

/**
 * Makes both applications with keys of their own, enters them into the database of a service, and leaves
 * the private keys in its folder for `readFapiClients`.
 */
export async function enterFapiClients(
  config: Config,
  folder: string,
  { suiteBaseUrl, alias }: { readonly suiteBaseUrl: string; readonly alias: string },
): Promise<void> {
  const callback = `${suiteBaseUrl}/test/a/${alias}/callback`
  const made = await Promise.all(
    Object.entries(algorithms).map(async ([clientId, alg]) => await makeClient(clientId, alg)),
  )
  const now = new Date().toISOString()
  const records = made.map(({ client, publicJwk }) => ({
    type: 'application',
    clientId: client.client_id,
    kind: 'site',
    site: SITE,
    name: `FAPI 2.0 suite, ${client.client_id}`,
    authMethod: 'private_key_jwt',
    applicationType: 'web',
    jwks: JSON.stringify({ keys: [publicJwk] }),
    pushedRequestsRequiredAt: now,
    boundTokensRequiredAt: now,
    redirectUris: [callback, callback + SECOND_QUERY],
    postLogoutRedirectUris: [],
    scopes: ['account:read'],
    createdAt: now,
  }))
  const person = await everyClaimOfPerson(config.demoFolder, now)
  const file = join(folder, 'fapi.ndjson')
  const lines = [person, ...records].map((record) => `${JSON.stringify(record)}\n`)
  writeFileSync(file, lines.join(''))
  await importCampus(config, file, {})
  const clients: readonly FapiClient[] = made.map(({ client }) => client)
  writeFileSync(privateFile(folder), JSON.stringify(clients), { mode: 0o600 })
}

/** What `enterFapiClients` left in a folder; nothing where the further plans are off. */
export function readFapiClients(folder: string): readonly FapiClient[] | undefined {
  const file = privateFile(folder)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** One module asks for every claim that discovery lists, and of the demo campus nobody has them all. */
async function everyClaimOfPerson(demoFolder: string, now: string) {
  const { people } = await readCampusFolder(demoFolder)
  const person = people.find(({ email }) => email === SUITE_LOGIN)
  if (!person) throw new Error(`The demo campus has no ${SUITE_LOGIN}.`)
  return {
    ...{ ...person, type: 'person' },
    ...{ preferredUsername: 'sam', locale: 'en-GB', timeZone: 'Europe/Berlin' },
    ...{ emailVerifiedAt: now, updatedAt: now },
  }
}

async function makeClient(clientId: string, alg: string) {
  const pair = await generateKeyPair(alg, { extractable: true })
  const named = { kid: randomUUID(), alg, use: 'sig' }
  const client: FapiClient = {
    client_id: clientId,
    scope: SCOPE,
    jwks: { keys: [{ ...(await exportJWK(pair.privateKey)), ...named }] },
  }
  return { client, publicJwk: { ...(await exportJWK(pair.publicKey)), ...named } }
}

function privateFile(folder: string): string {
  return join(folder, 'fapi-clients.json')
}
