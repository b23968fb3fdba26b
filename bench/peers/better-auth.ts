import { copyFileSync } from 'node:fs'
import { join } from 'node:path'

import { notes, sam } from '../../test/support/gatehouse.ts'
import { install } from '../../test/support/install.ts'
import { collectTokens } from '../prepared-tokens.ts'
import { SECRET } from '../servers.ts'
import {
  DATABASE_CONNECTIONS,
  openBrowsers,
  type Peer,
  type Person,
  requestUrl,
  run,
  SCOPE,
  type Step,
  startServer,
} from './peer.ts'

const version = '1.7.5'
const SERVER = 'better-auth-server.mjs'

/** A library. better-auth-server.mjs uses it with its OAuth provider, opaque tokens and ES256. */
export const betterAuth: Peer = {
  name: 'better-auth',
  version,
  install: (signal) =>
    install(
      {
        ...{ registry: 'npm', name: 'better-auth', version },
        // The exact peer dependencies of the provider. With newer versions, npm reports a conflict.
        with: [
          ...[`@better-auth/oauth-provider@${version}`, `@better-auth/core@${version}`],
          ...['@better-auth/utils@0.4.2', '@better-fetch/fetch@1.3.2', 'better-call@1.4.0'],
          'pg@8.23.1',
        ],
      },
      signal,
    ),
  async start(folder, place) {
    const { port, url, databaseUrl } = place
    const file = join(folder, SERVER)
    copyFileSync(join(import.meta.dirname, SERVER), file)
    const variables = {
      ...{ PORT: String(port), DATABASE_URL: databaseUrl, REDIRECT_URI: notes.redirectUri },
      ...{ EMAIL: sam.login, PASSWORD: sam.password, SECRET, NODE_ENV: 'production' },
      DATABASE_CONNECTIONS: String(DATABASE_CONNECTIONS),
    }
    // Creates the tables, the person and the client.
    const { stdout } = await run(process.execPath, [file, 'prepare'], { env: variables })
    const { client_id, client_secret } = JSON.parse(stdout)
    const base = `${url}/api/auth`
    const server = await startServer([process.execPath, file], variables, {
      ...place,
      url: `${base}/ok`,
    })
    const scope = `${SCOPE} offline_access`
    const start = requestUrl(`${base}/oauth2/authorize`, client_id, scope)
    // better-auth does not redirect. It responds with the next URL as JSON, for a script.
    const follow = async (_page: URL, response: Response): Promise<Step> => {
      const { url: next } = (await response.json()) as { url: string }
      return [new URL(next, base)]
    }
    const browsers = await openBrowsers(start, follow, (person) => signIn(person, base))
    const client = { client_id, client_secret }
    const path = '/api/auth/oauth2'
    const supply = await collectTokens(url, browsers, {
      endpoints: {
        ...{ token: `${path}/token`, userinfo: `${path}/userinfo` },
        ...{ introspection: `${path}/introspect`, jwks: '/api/auth/jwks' },
        discovery: '/api/auth/.well-known/openid-configuration',
      },
      // Only the client of a token may introspect it.
      ...{ client, caller: client },
    })
    return Object.assign(server, { supply })
  },
}

async function signIn(person: Person, base: string): Promise<void> {
  const response = await person.open(new URL(`${base}/sign-in/email`), {
    method: 'POST',
    headers: { 'content-type': 'application/json', origin: new URL(base).origin },
    body: JSON.stringify({ email: sam.login, password: sam.password }),
  })
  if (response.status !== 200) throw new Error(`no sign-in: ${await response.text()}`)
}
