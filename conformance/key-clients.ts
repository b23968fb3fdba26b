/**
 * The suite's clients with `private_key_jwt`. Those of the plan `all-keys` belong to the conformance profile. Those of
 * the FAPI 2.0 plans are ordinary applications, which are imported.
 */

import { randomUUID } from 'node:crypto'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { exportJWK, generateKeyPair, type JWK } from 'jose'

import type { Config } from '../src/config/config.ts'
import { importCampus } from '../src/ops/cli/import-commands.ts'
import { readDemo, valuesOfKind } from '../src/ops/import/demo-campus.ts'
import { SUITE_LOGIN } from './person.ts'

/** A client in the format of the suite's configuration. */
export interface KeyClient {
  readonly client_id: string
  /** Only for FAPI 2.0, whose modules do not choose the scopes. */
  readonly scope?: string
  /** The key set with the private key, which the suite signs with. */
  readonly jwks: { readonly keys: readonly JWK[] }
}

/** The algorithm of each client's key. The algorithms differ, so that a run covers both. */
const algorithms = ['PS256', 'ES256'] as const

/**
 * Two scopes, because one module reverses their order. `profile` is not one of them, because it adds claims to the
 * id_token (site and roles) that the suite warns about.
 */
const SCOPE = 'openid email'

const SITE = 'sit_northlight'

/** The query that the suite adds to the redirect URI of its second client. */
const SECOND_QUERY = '?dummy1=lorem&dummy2=ipsum'

/** Creates two clients of the profile with new keys. Stores the private keys in the folder, for `readKeyClients`. */
export async function makeProfileClients(folder: string) {
  const made = await makeClients('oidf-key', folder)
  return made.map(({ client: { client_id }, publicJwk }) => ({
    ...{ client_id, token_endpoint_auth_method: 'private_key_jwt' as const },
    jwks: { keys: [publicJwk] },
  }))
}

/** Creates both FAPI 2.0 clients with new keys, and imports them. Stores the private keys as `makeProfileClients` does. */
export async function enterFapiClients(
  config: Config,
  folder: string,
  { suiteBaseUrl, alias }: { readonly suiteBaseUrl: string; readonly alias: string },
): Promise<void> {
  const callback = `${suiteBaseUrl}/test/a/${alias}/callback`
  const made = await makeClients('fapi', folder, SCOPE)
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
  await importCampus(config, { argument: file })
}

/** Reads the clients and private keys in the folder of a service; undefined if there are none. */
export function readKeyClients(folder: string): readonly KeyClient[] | undefined {
  const file = privateFile(folder)
  return existsSync(file) ? JSON.parse(readFileSync(file, 'utf8')) : undefined
}

/** Returns the person with a value for every claim that discovery lists, because one module requests all of them. */
async function everyClaimOfPerson(demoFolder: string, now: string) {
  const people = valuesOfKind(await readDemo(demoFolder), 'person')
  const person = people.find(({ email }) => email === SUITE_LOGIN)
  if (!person) throw new Error(`The demo campus has no ${SUITE_LOGIN}.`)
  return {
    ...{ ...person, type: 'person' },
    ...{ preferredUsername: 'sam', locale: 'en-GB', timeZone: 'Europe/Berlin' },
    ...{ emailVerifiedAt: now, updatedAt: now },
  }
}

async function makeClients(prefix: string, folder: string, scope?: string) {
  const made = await Promise.all(
    algorithms.map(async (alg, index) => {
      const pair = await generateKeyPair(alg, { extractable: true })
      const named = { kid: randomUUID(), alg, use: 'sig' }
      const client: KeyClient = {
        client_id: `${prefix}-${index + 1}`,
        ...(scope !== undefined && { scope }),
        jwks: { keys: [{ ...(await exportJWK(pair.privateKey)), ...named }] },
      }
      return { client, publicJwk: { ...(await exportJWK(pair.publicKey)), ...named } }
    }),
  )
  const clients = made.map(({ client }) => client)
  writeFileSync(privateFile(folder), JSON.stringify(clients), { mode: 0o600 })
  return made
}

function privateFile(folder: string): string {
  return join(folder, 'key-clients.json')
}
