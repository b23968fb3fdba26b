import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'

import { paths } from '../../src/platform/http/paths.ts'
import { identityHeaders } from '../../src/resource/resource-server/identity-headers.ts'
import { obtain } from '../support/client.ts'
import { change } from '../support/database.ts'
import { notes } from '../support/gatehouse.ts'
import { eventually, freePort, startProgram, temporaryFolder } from '../support/programs.ts'
import { registerResourceServer } from '../support/resource-servers.ts'
import { serve } from '../support/serve.ts'
import { shared } from '../support/shared.ts'
import { askForProgram, requireProgram } from '../support/skipped.ts'
import { sharedService } from '../support/storages.ts'
import { bearer, get } from '../support/wire.ts'

const folder = join(import.meta.dirname, '../../examples/resource-servers')

const inFolder = ['--app-dir', folder, '--port']
type Command = readonly [file: string, ...words: string[]]
type Api = [name: string, needs: string | undefined, start: (file: string, port: number) => Command]
const apis: readonly Api[] = [
  ['Node', undefined, () => [process.execPath, join(folder, 'node.mjs')]],
  ['Express', undefined, () => [process.execPath, join(folder, 'express.mjs')]],
  ['FastAPI', 'uvicorn', (file, port) => [file, ...inFolder, `${port}`, 'fastapi_app:app']],
  [
    'Go',
    'go',
    (file) => {
      const api = join(temporaryFolder(), 'api')
      execFileSync(file, ['build', '-o', api, join(folder, 'main.go')])
      return [api]
    },
  ],
]

interface At {
  /** The source of the example. Its addresses are replaced with those of the test. */
  readonly text: string
  readonly cwd: string
  readonly listen: number
  readonly application: number
  readonly service: number
}

/** `whenRefused` is the status that the caller gets if the service rejects the proxy's credentials. */
const proxies = [
  {
    ...{ name: 'nginx', example: 'nginx.conf', whenRefused: 503 },
    readyWhen: /start worker|using the "/,
    configure({ text, cwd, listen }: At) {
      const places = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${cwd}/${name};`)
        .join(' ')
      return `daemon off; master_process off; pid ${cwd}/pid; error_log stderr notice; events {}
        http { access_log off; ${places} ${text.replace('127.0.0.1:8080', `127.0.0.1:${listen}`)} }`
    },
    words: (file: string, { cwd }: At) => ['-p', cwd, '-e', 'stderr', '-c', file],
  },
  {
    ...{ name: 'caddy', example: 'Caddyfile', whenRefused: 400 },
    readyWhen: /serving initial config/,
    configure: ({ text, listen }: At) =>
      `{\n\tadmin off\n}\n${text.replace('orders.example', `http://127.0.0.1:${listen}`)}`,
    words: (file: string) => ['run', '--config', file, '--adapter', 'caddyfile'],
  },
  {
    ...{ name: 'traefik', example: 'traefik-dynamic.yaml', whenRefused: 400 },
    readyWhen: /Starting provider/,
    configure: ({ text }: At) => text.replace('orders.example', '127.0.0.1'),
    words: (file: string, { listen }: At) => [
      ...[`--entrypoints.web.address=127.0.0.1:${listen}`, `--providers.file.filename=${file}`],
      ...['--log.level=INFO', '--global.checknewversion=false'],
    ],
  },
  {
    ...{ name: 'envoy', example: 'envoy-ext-authz.yaml', whenRefused: 400 },
    readyWhen: /main dispatch/,
    configure: ({ text, ...ports }: At) =>
      text
        .replace('port_value: 8080', `port_value: ${ports.listen}`)
        .replace('port_value: 9000', `port_value: ${ports.application}`)
        .replace('id.example, port_value: 443', `127.0.0.1, port_value: ${ports.service}`)
        // The service in this test does not use TLS.
        .replace(/ {6}transport_socket:[\s\S]*$/, ''),
    words: (file: string) => ['-c', file, '--disable-hot-restart'],
  },
]

/** Tests the programs of docs/how-to/protect-an-api.md unchanged, and its proxy configurations adapted to the test. */
describe('the examples of resource servers', () => {
  const service = sharedService()
  const registered = shared(async () => await registerResourceServer(service(), 'sit_northlight'))

  const disable = async (disabled_at: number | null) => {
    const ours = { client_id: registered().clientId }
    await change(service().kysely, 'oauth_application', ours, { disabled_at })
  }
  const tokenFor = async (scope?: string) => {
    const { access_token } = await obtain(service().url, scope ? { authorization: { scope } } : {})
    return bearer(access_token)
  }

  for (const [name, needs, start] of apis) {
    it(`in ${name}: accept a good token, challenge others, and answer 503 when they are disabled`, async function () {
      const port = await freePort()
      const orders = `http://127.0.0.1:${port}/orders`
      const [program, ...words] = start(needs ? askForProgram(this, needs) : '', port)
      const child = spawn(program, words, {
        env: {
          ...{ PORT: String(port), ISSUER: service().url },
          ...{ CLIENT_ID: registered().clientId, CLIENT_SECRET: registered().secret },
        },
        stdio: 'ignore',
      })
      try {
        await eventually(30_000, async () => await get(orders))
        const tokens = await obtain(service().url)
        const good = await get(orders, bearer(tokens.access_token))
        const expected = [200, { hello: 'per_sam', site: 'sit_northlight', roles: ['student'] }]
        expect([good.status, good.body]).to.deep.equal(expected)
        for (const headers of [[], bearer('nonsense'), bearer(tokens.refresh_token)]) {
          const refused = await get(orders, headers)
          expect(refused.status).to.equal(401)
          expect(refused.headers.get('www-authenticate')).to.include(paths.protectedResource)
        }
        expect((await get(orders, await tokenFor('openid'))).status).to.equal(403)
        await disable(1)
        const unknown = await get(orders, bearer(tokens.access_token))
        expect([unknown.status, unknown.headers.get('www-authenticate')]).to.deep.equal([503, null])
      } finally {
        await disable(null)
        child.kill()
      }
    })
  }

  for (const { name, example, readyWhen, configure, words, whenRefused } of proxies) {
    describe(`behind ${name}`, () => {
      let [orders, pair] = ['', '']
      let seen: IncomingHttpHeaders = {}
      shared(async function () {
        const file = name === 'nginx' ? requireProgram(this, name) : askForProgram(this, name)
        const application = await serve(({ headers }, response) => {
          seen = headers
          response.end('the application')
        })
        const { url } = service()
        pair = Buffer.from(`${registered().clientId}:${registered().secret}`).toString('base64')
        const text = readFileSync(join(folder, example), 'utf8')
          .replace('CREDENTIALS', pair)
          .replace('127.0.0.1:9000', `127.0.0.1:${application.port}`)
          .replace('https://id.example', url)
        const [cwd, listen] = [temporaryFolder(), await freePort()]
        const ports = { listen, application: application.port, service: Number(new URL(url).port) }
        const at = { text, cwd, ...ports }
        const config = join(cwd, example)
        writeFileSync(config, configure(at))
        // Caddy stores copies of its configuration in these folders.
        const environment = { XDG_CONFIG_HOME: cwd, XDG_DATA_HOME: cwd }
        await startProgram({ file, arguments: words(config, at), cwd, readyWhen, environment })
        orders = `http://127.0.0.1:${listen}/orders`
        // A proxy responds with 404 until it has read its routes.
        await eventually(10_000, async () => expect((await get(orders)).status).not.to.equal(404))
        return application
      })
      beforeEach(() => {
        seen = {}
      })

      it('the application gets the identity, but no identity headers from the caller [141]', async () => {
        const forged = Object.keys(identityHeaders).flatMap((header) => [header, 'forged'])
        const answer = await get(`${orders}?scope=account:write`, [
          ...(await tokenFor('openid account:read')),
          ...forged,
          ...['X-Forward-Auth-Client', 'Basic eDp5', 'X-Forward-Auth-Scope', 'account:write'],
        ])
        expect([answer.status, answer.text]).to.deep.equal([200, 'the application'])
        expect(seen).to.include({ 'x-auth-subject': 'per_sam', 'x-auth-client': notes.clientId })
        expect(seen).not.to.have.any.keys('authorization')
        // Headers for claims that the token does not release are empty or missing.
        expect([seen['x-auth-email'] ?? '', seen['x-auth-roles'] ?? '']).to.deep.equal(['', ''])
        expect(JSON.stringify(seen)).not.to.match(/"x-auth-[a-z]+":"forged"/)
        expect(JSON.stringify(seen)).to.not.include(pair)
      })

      it('a caller without a good token gets our challenge and does not reach the application', async () => {
        for (const headers of [[], bearer('nonsense')]) {
          const answer = await get(orders, headers)
          expect(answer.status).to.equal(401)
          expect(answer.headers.get('www-authenticate'))
            .to.include(`${service().url}${paths.protectedResource}`)
            .and.include('scope="account:read"')
        }
        expect((await get(orders, await tokenFor('openid'))).status).to.equal(403)
        expect(seen).to.deep.equal({})
      })

      it(`a disabled proxy answers ${whenRefused} without a challenge`, async () => {
        const headers = await tokenFor()
        await disable(1)
        const answer = await get(orders, headers)
        const challenge = answer.headers.get('www-authenticate')
        expect([answer.status, challenge]).to.deep.equal([whenRefused, null])
        if (whenRefused === 503) expect(answer.headers.get('retry-after')).to.equal('1')
        expect(seen).to.deep.equal({})
        await disable(null)
        expect((await get(orders, headers)).status).to.equal(200)
      })
    })
  }
})
