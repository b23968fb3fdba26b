import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { expect } from 'chai'

import { paths } from '../../src/platform/http/paths.ts'
import { identityHeaders } from '../../src/resource/resource-server/identity-headers.ts'
import { obtain } from '../support/client.ts'
import { notes, type RunningService, startService } from '../support/gatehouse.ts'
import { eventually, freePort, startProgram, temporaryFolder } from '../support/programs.ts'
import { type Registered, registerResourceServer } from '../support/resource-servers.ts'
import { askForProgram, requireProgram } from '../support/skipped.ts'
import { bearer, get } from '../support/wire.ts'

const folder = join(import.meta.dirname, '../../examples/resource-servers')

interface Api {
  readonly name: string
  /** What it is started with, where it is more than what this project installs. */
  readonly needs?: string
  readonly start: (at: {
    readonly file: string
    readonly port: number
  }) => readonly [file: string, ...words: string[]]
}

const apis: readonly Api[] = [
  { name: 'in Node', start: () => [process.execPath, join(folder, 'node.mjs')] },
  { name: 'in Express', start: () => [process.execPath, join(folder, 'express.mjs')] },
  {
    ...{ name: 'in FastAPI', needs: 'uvicorn' },
    start: ({ file, port }) => [file, '--app-dir', folder, '--port', `${port}`, 'fastapi_app:app'],
  },
  {
    ...{ name: 'in Go', needs: 'go' },
    start({ file }) {
      const place = temporaryFolder()
      execFileSync(file, ['build', '-o', join(place, 'api'), join(folder, 'main.go')])
      return [join(place, 'api')]
    },
  },
]

interface Proxy {
  readonly name: string
  readonly file: string
  /** The program of it. */
  readonly ask: (context: Mocha.Context) => string
  /** Writes the example with the addresses of the test into a folder. @returns how it is started with it */
  readonly configure: (at: {
    readonly text: string
    readonly cwd: string
    readonly listen: number
    readonly application: number
    readonly service: number
  }) => readonly string[]
  /** What it prints when it is up. */
  readonly says: RegExp
  /** What its caller gets when it is refused itself. */
  readonly whenRefused: 400 | 503
}

const proxies: readonly Proxy[] = [
  {
    ...{ name: 'nginx', file: 'nginx.conf', says: /start worker|using the "/, whenRefused: 503 },
    ask: (context) => requireProgram(context, 'nginx'),
    configure({ text, cwd, listen }) {
      const at = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${cwd}/${name};`)
        .join(' ')
      const block = text.replace('127.0.0.1:8080', `127.0.0.1:${listen}`)
      const file = join(cwd, 'nginx.conf')
      writeFileSync(
        file,
        `daemon off; master_process off; pid ${cwd}/pid; error_log stderr notice;
         events {} http { access_log off; ${at} ${block} }`,
      )
      return ['-p', cwd, '-e', 'stderr', '-c', file]
    },
  },
  {
    ...{ name: 'Caddy', file: 'Caddyfile', says: /serving initial config/, whenRefused: 400 },
    ask: (context) => askForProgram(context, 'caddy'),
    configure({ text, cwd, listen }) {
      const file = join(cwd, 'Caddyfile')
      const site = text.replace('orders.example', `http://127.0.0.1:${listen}`)
      writeFileSync(file, `{\n\tadmin off\n}\n${site}`)
      return ['run', '--config', file, '--adapter', 'caddyfile']
    },
  },
  {
    ...{
      name: 'Traefik',
      file: 'traefik-dynamic.yaml',
      says: /Starting provider/,
      whenRefused: 400,
    },
    ask: (context) => askForProgram(context, 'traefik'),
    configure({ text, cwd, listen }) {
      const file = join(cwd, 'dynamic.yaml')
      writeFileSync(file, text.replace('orders.example', '127.0.0.1'))
      return [
        ...[`--entrypoints.web.address=127.0.0.1:${listen}`, `--providers.file.filename=${file}`],
        ...['--log.level=INFO', '--global.checknewversion=false'],
      ]
    },
  },
  {
    ...{ name: 'Envoy', file: 'envoy-ext-authz.yaml', says: /main dispatch/, whenRefused: 400 },
    ask: (context) => askForProgram(context, 'envoy'),
    configure({ text, cwd, ...ports }) {
      const file = join(cwd, 'envoy.yaml')
      const local = text
        .replace('port_value: 8080', `port_value: ${ports.listen}`)
        .replace('port_value: 9000', `port_value: ${ports.application}`)
        .replace('id.example, port_value: 443', `127.0.0.1, port_value: ${ports.service}`)
        // The service of the test is without TLS.
        .replace(/ {6}transport_socket:[\s\S]*$/, '')
      writeFileSync(file, local)
      return ['-c', file, '--disable-hot-restart']
    },
  },
]

/** The programs of docs/how-to/protect-an-api.md as they stand there, against a real service. */
describe('the examples of resource servers', () => {
  let service: RunningService
  let registered: Registered
  before(async () => {
    service = await startService()
    registered = await registerResourceServer(service, 'sit_northlight')
  })
  after(async () => await service[Symbol.asyncDispose]())

  const disable = async (value: number | null) =>
    await service.service.stores.database.kysely
      .updateTable('oauth_application')
      .set({ disabled_at: value })
      .where('client_id', '=', registered.clientId)
      .execute()

  for (const { name, needs, start } of apis) {
    it(`${name} let a good token in, refuse others with our challenge, and know a failure from a verdict`, async function () {
      const file = needs ? askForProgram(this, needs) : ''
      const port = await freePort()
      const api = `http://127.0.0.1:${port}`
      const [program, ...words] = start({ file, port })
      const child = spawn(program, words, {
        env: {
          ...{ PORT: String(port), ISSUER: service.url },
          ...{ CLIENT_ID: registered.clientId, CLIENT_SECRET: registered.secret },
        },
        stdio: 'ignore',
      })
      try {
        await eventually(30_000, async () => await get(api))
        const tokens = await obtain(service.url)
        const good = await get(`${api}/orders`, bearer(tokens.access_token))
        expect(good.status).to.equal(200)
        expect(good.body).to.deep.equal({
          ...{ hello: 'per_sam', site: 'sit_northlight', roles: ['student'] },
        })
        for (const headers of [[], bearer('nonsense'), bearer(tokens.refresh_token)]) {
          const refused = await get(`${api}/orders`, headers)
          expect(refused.status).to.equal(401)
          expect(refused.headers.get('www-authenticate')).to.include(paths.protectedResource)
        }
        const { access_token } = await obtain(service.url, { authorization: { scope: 'openid' } })
        expect((await get(`${api}/orders`, bearer(access_token))).status).to.equal(403)
        await disable(1)
        const unknown = await get(`${api}/orders`, bearer(tokens.access_token))
        expect(unknown.status).to.equal(503)
        expect(unknown.headers.get('www-authenticate')).to.equal(null)
      } finally {
        await disable(null)
        child.kill()
      }
    })
  }

  for (const { name, ask, file: example, configure, says, whenRefused } of proxies) {
    describe(`behind ${name}`, () => {
      let proxy = ''
      let pair = ''
      let seen: IncomingHttpHeaders = {}
      const application = createServer(({ headers }, response) => {
        seen = headers
        response.end('the application')
      })
      before(async function () {
        const file = ask(this)
        await once(application.listen(0, '127.0.0.1'), 'listening')
        const { port } = application.address() as AddressInfo
        const listen = await freePort()
        proxy = `http://127.0.0.1:${listen}`
        pair = Buffer.from(`${registered.clientId}:${registered.secret}`).toString('base64')
        const cwd = temporaryFolder()
        const text = readFileSync(join(folder, example), 'utf8')
          .replace('CREDENTIALS', pair)
          .replace('127.0.0.1:9000', `127.0.0.1:${port}`)
          .replace('https://id.example', service.url)
        const ports = { listen, application: port, service: Number(new URL(service.url).port) }
        const words = configure({ text, cwd, ...ports })
        // Caddy keeps copies of its configuration there.
        const environment = { XDG_CONFIG_HOME: cwd, XDG_DATA_HOME: cwd }
        await startProgram({ file, arguments: words, cwd, readyWhen: says, environment })
        await eventually(10_000, async () => {
          // One that has not read its routes knows no address.
          if ((await get(proxy)).status === 404) throw new Error('it has no routes yet')
        })
      })
      after(() => {
        application.close()
        application.closeAllConnections()
      })
      beforeEach(() => {
        seen = {}
      })

      // [141]
      it('an application is told who it is, and nothing that the caller wrote about it', async () => {
        const { access_token } = await obtain(service.url, {
          authorization: { scope: 'openid account:read' },
        })
        const forged = Object.keys(identityHeaders).flatMap((name) => [name, 'forged'])
        const smuggled = [
          'X-Forward-Auth-Client',
          'Basic eDp5',
          'X-Forward-Auth-Scope',
          'account:write',
        ]
        const headers = [...bearer(access_token), ...forged, ...smuggled]
        const answer = await get(`${proxy}/orders?scope=account:write`, headers)
        expect([answer.status, answer.text]).to.deep.equal([200, 'the application'])
        expect(seen).to.include({ 'x-auth-subject': 'per_sam', 'x-auth-client': notes.clientId })
        expect(JSON.stringify(seen)).not.to.match(/"x-auth-[a-z]+":"forged"/)
        expect(seen).not.to.have.any.keys('authorization')
        // What the token does not release is empty, or is not there.
        expect([seen['x-auth-email'] ?? '', seen['x-auth-roles'] ?? '']).to.deep.equal(['', ''])
        expect(JSON.stringify(seen)).to.not.include(pair)
      })

      it('a caller without a good token gets our challenge, and the application hears nothing', async () => {
        for (const headers of [[], bearer('nonsense')]) {
          const answer = await get(`${proxy}/orders`, headers)
          expect(answer.status).to.equal(401)
          expect(answer.headers.get('www-authenticate'))
            .to.include(`${service.url}${paths.protectedResource}`)
            .and.include('scope="account:read"')
        }
        const { access_token } = await obtain(service.url, { authorization: { scope: 'openid' } })
        expect((await get(`${proxy}/orders`, bearer(access_token))).status).to.equal(403)
        expect(seen).to.deep.equal({})
      })

      it(`a proxy that is refused itself answers ${whenRefused} without a challenge, and lets nobody pass`, async () => {
        const { access_token } = await obtain(service.url)
        await disable(1)
        const answer = await get(`${proxy}/orders`, bearer(access_token))
        expect(answer.status).to.equal(whenRefused)
        expect(answer.headers.get('www-authenticate')).to.equal(null)
        if (whenRefused === 503) expect(answer.headers.get('retry-after')).to.equal('1')
        expect(seen).to.deep.equal({})
        await disable(null)
        expect((await get(`${proxy}/orders`, bearer(access_token))).status).to.equal(200)
      })
    })
  }
})
