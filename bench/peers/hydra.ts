import { join } from 'node:path'

import { notes } from '../../test/support/gatehouse.ts'
import { installOnce } from '../../test/support/install.ts'
import { eventually, freePort, searchPath } from '../../test/support/programs.ts'
import { collectTokens } from '../prepared-tokens.ts'
import { SECRET } from '../servers.ts'
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

const version = '2.3.0'
const moduleName = 'github.com/ory/hydra/v2'
const BUILD_TIMEOUT_MS = 1_800_000
const ADMIN_TIMEOUT_MS = 30_000
const PERSON = 'sam'

/** A server in Go with opaque tokens. It has no pages, so the bench approves requests through its admin port. */
export const hydra: Peer = {
  name: 'Hydra',
  version,
  install: (signal) =>
    installOnce(`go-hydra-${version}`, async (folder) => {
      const go = async (cwd: string, ...words: string[]) =>
        await run('go', words, { cwd, signal, timeout: BUILD_TIMEOUT_MS })
      // `go install` refuses a module with replace directives, so build its source.
      const { stdout } = await go(folder, 'mod', 'download', '-json', `${moduleName}@v${version}`)
      const source = join(folder, 'source')
      await run('cp', ['-r', '--no-preserve=mode', JSON.parse(stdout).Dir, source])
      // Hydra's go.mod replaces the client module with a folder that is missing from the published module.
      await go(source, 'mod', 'edit', '-dropreplace=github.com/ory/hydra-client-go/v2')
      await go(source, 'build', '-mod=mod', '-o', join(folder, 'hydra'), '.')
    }),
  async start(folder, place) {
    const { port, url, databaseUrl } = place
    const adminPort = await freePort()
    const admin = `http://127.0.0.1:${adminPort}`
    const program = join(folder, 'hydra')
    const options = `sslmode=disable&max_conns=${MORE_DATABASE_CONNECTIONS}`
    const variables = {
      ...{ DSN: `${databaseUrl}?${options}`, SECRETS_SYSTEM: SECRET, LOG_LEVEL: 'info' },
      ...{ SERVE_PUBLIC_HOST: '127.0.0.1', SERVE_PUBLIC_PORT: String(port) },
      ...{ SERVE_ADMIN_HOST: '127.0.0.1', SERVE_ADMIN_PORT: String(adminPort) },
      ...{ URLS_SELF_ISSUER: url, URLS_LOGIN: `${url}/login`, URLS_CONSENT: `${url}/consent` },
    }
    const env = { ...variables, PATH: searchPath, HOME: folder }
    await run(program, ['migrate', 'sql', '-e', '--yes'], { env })
    const command = ['/bin/sh', '-c', 'exec "$0" serve all --dev --sqa-opt-out 2>&1', program]
    const server = await startServer(command, variables, { ...place, url: `${url}/health/ready` })
    // The admin port may open after the public one.
    const made = await eventually(ADMIN_TIMEOUT_MS, () =>
      request('POST', `${admin}/admin/clients`, {
        ...{ redirect_uris: [notes.redirectUri], token_endpoint_auth_method: 'none' },
        ...{ grant_types: ['authorization_code', 'refresh_token'], response_types: ['code'] },
        scope: `${SCOPE} offline_access`,
      }),
    )
    const client = { client_id: String(made['client_id']) }
    const scope = `${SCOPE} offline_access`
    const start = requestUrl(`${url}/oauth2/auth`, client.client_id, scope)
    const approve = (page: URL) => approveAt(admin, page)
    const supply = await collectTokens(url, await openBrowsers(start, approve), {
      endpoints: {
        ...{ token: '/oauth2/token', userinfo: '/userinfo', jwks: '/.well-known/jwks.json' },
        introspection: '/admin/oauth2/introspect',
        discovery: '/.well-known/openid-configuration',
      },
      // The admin port of Hydra authenticates no caller.
      ...{ client, caller: {} },
    })
    return Object.assign(server, { supply, urls: { introspection: admin } })
  },
}

/** Approves a login or consent request through the admin port, as an operator's own pages would. */
async function approveAt(admin: string, { pathname, searchParams }: URL): Promise<Step> {
  const kind = pathname.slice(1)
  const challenge = searchParams.get(`${kind}_challenge`)
  if (challenge === null) throw new Error(`unexpected page ${pathname}?${searchParams}`)
  const approvals: Readonly<Record<string, object>> = {
    login: { subject: PERSON, remember: true, remember_for: 3600 },
    consent: {
      grant_scope: `${SCOPE} offline_access`.split(' '),
      ...{ remember: true, remember_for: 3600 },
      session: { id_token: { name: 'Sam Student', email: 'sam@northlight.example' } },
    },
  }
  const accept = `${admin}/admin/oauth2/auth/requests/${kind}/accept?${kind}_challenge=${challenge}`
  const { redirect_to } = await request('PUT', accept, approvals[kind] ?? {})
  return [new URL(String(redirect_to))]
}

async function request(method: string, url: string, body: object) {
  const headers = { 'content-type': 'application/json' }
  const response = await fetch(url, { method, headers, body: JSON.stringify(body) })
  const answer = (await response.json()) as Readonly<Record<string, unknown>>
  if (!response.ok) throw new Error(`Hydra: ${JSON.stringify(answer)}`)
  return answer
}
