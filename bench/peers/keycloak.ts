import { cpSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { notes, resourceServer, sam } from '../../test/support/gatehouse.ts'
import { install, installOnce } from '../../test/support/install.ts'
import { eventually } from '../../test/support/programs.ts'
import { collectTokens } from '../prepared-tokens.ts'
import {
  MORE_DATABASE_CONNECTIONS,
  openBrowsers,
  type Peer,
  requestUrl,
  run,
  SCOPE,
  type Step,
  startServer,
} from './peer.ts'

const version = '26.7.0'
const BUILD_TIMEOUT_MS = 600_000
const IMPORT_TIMEOUT_MS = 300_000

/** A server in Java with one realm, signed access tokens (ES256) and rotated refresh tokens. */
export const keycloak: Peer = {
  name: 'Keycloak',
  version,
  async install(signal) {
    const name = 'org.keycloak:keycloak-quarkus-dist'
    const delivered = await install({ registry: 'maven', name, version }, signal)
    if (delivered.kind === 'missing') return delivered
    // `kc.sh build` changes the program, so run it in a copy.
    return await installOnce(`keycloak-${version}-postgres`, async (folder) => {
      cpSync(join(delivered.folder, 'program'), folder, { recursive: true })
      const words = ['build', '--db=postgres', '--cache=local']
      await run(join(folder, 'bin/kc.sh'), words, { signal, timeout: BUILD_TIMEOUT_MS })
    })
  },
  async start(folder, place) {
    const { port, url } = place
    const { host, pathname, username } = new URL(place.databaseUrl)
    mkdirSync(join(folder, 'data/import'), { recursive: true })
    writeFileSync(join(folder, 'data/import/bench-realm.json'), JSON.stringify(realm))
    const server = await startServer(
      [
        ...[join(folder, 'bin/kc.sh'), 'start', '--optimized', '--import-realm'],
        ...['--http-enabled=true', '--http-host=127.0.0.1', `--http-port=${port}`],
        ...[`--hostname=${url}`, '--http-management-port=0'],
        ...[`--db-url=jdbc:postgresql://${host}${pathname}`, `--db-username=${username}`],
        ...['--db-password=none', `--db-pool-max-size=${MORE_DATABASE_CONNECTIONS}`],
      ],
      { JAVA_OPTS_KC_HEAP: '-Xms64m -Xmx1g' },
      { ...place, url: `${url}/realms/bench` },
    )
    // Keycloak responds before it has imported the realm.
    await eventually(IMPORT_TIMEOUT_MS, async () => {
      const { status } = await fetch(`${url}/realms/bench`)
      if (status !== 200) throw new Error(`the realm responds with ${status}`)
    })
    const path = '/realms/bench/protocol/openid-connect'
    const start = requestUrl(`${url}${path}/auth`, notes.clientId, SCOPE)
    const supply = await collectTokens(url, await openBrowsers(start, signIn), {
      endpoints: {
        ...{ token: `${path}/token`, userinfo: `${path}/userinfo`, jwks: `${path}/certs` },
        introspection: `${path}/token/introspect`,
        discovery: '/realms/bench/.well-known/openid-configuration',
      },
      client: { client_id: notes.clientId },
      caller: {
        client_id: resourceServer.clientId,
        client_secret: resourceServer.clientSecret,
      },
    })
    return Object.assign(server, { supply })
  },
}

/** Submits the sign-in page. */
async function signIn(url: URL, response: Response): Promise<Step> {
  const page = await response.text()
  const [, action] = /action="([^"]+)"/.exec(page) ?? []
  if (action === undefined) throw new Error(`no form at ${url.pathname}: ${response.status}`)
  const body = new URLSearchParams({ username: sam.login, password: sam.password })
  return [new URL(action.replaceAll('&amp;', '&')), { method: 'POST', body }]
}

const realm = {
  ...{ realm: 'bench', enabled: true, sslRequired: 'none', defaultSignatureAlgorithm: 'ES256' },
  ...{ revokeRefreshToken: true, refreshTokenMaxReuse: 0 },
  ...{ accessTokenLifespan: 3600, accessCodeLifespan: 600 },
  clients: [
    {
      ...{ clientId: notes.clientId, publicClient: true, redirectUris: [notes.redirectUri] },
      attributes: { 'pkce.code.challenge.method': 'S256' },
      // Introspection reports a token as active only to a client in its audience.
      protocolMappers: [
        {
          ...{ name: 'audience', protocol: 'openid-connect' },
          protocolMapper: 'oidc-audience-mapper',
          config: {
            'included.client.audience': resourceServer.clientId,
            ...{ 'access.token.claim': 'true', 'introspection.token.claim': 'true' },
          },
        },
      ],
    },
    {
      ...{ clientId: resourceServer.clientId, secret: resourceServer.clientSecret },
      standardFlowEnabled: false,
    },
  ],
  users: [
    {
      ...{ username: sam.login, email: sam.login, emailVerified: true, enabled: true },
      ...{ firstName: 'Sam', lastName: 'Student' },
      credentials: [{ type: 'password', value: sam.password }],
    },
  ],
}
