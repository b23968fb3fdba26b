import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect } from 'chai'

import { identityHeaders } from '../src/forward-auth/identity-headers.ts'
import { paths } from '../src/http/paths.ts'
import { obtain } from './support/client.ts'
import { notes, type RunningService, startService } from './support/gatehouse.ts'
import { eventually, freePort, removeAtExit, startProgram } from './support/programs.ts'
import { type Registered, registerResourceServer } from './support/resource-servers.ts'
import { requireProgram } from './support/skipped.ts'
import { bearer, get, send } from './support/wire.ts'

const folder = join(import.meta.dirname, '../examples/resource-servers')

/** The programs of docs/resource-servers.md as they stand there, against a real service. */
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

  it('in Node let a good token in, refuse others with our challenge, and know a failure from a verdict', async () => {
    const child = spawn(process.execPath, [join(folder, 'node.mjs')], {
      env: {
        ...{ PORT: '0', ISSUER: service.url },
        ...{ CLIENT_ID: registered.clientId, CLIENT_SECRET: registered.secret },
      },
    })
    try {
      const [line] = await once(child.stdout, 'data')
      const api = `http://127.0.0.1:${/\d+/.exec(String(line))?.[0]}`
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
      const write = { method: 'POST', path: '/orders', headers: bearer(tokens.access_token) }
      expect((await send(api, write)).status).to.equal(403)
      await disable(1)
      const unknown = await get(`${api}/orders`, bearer(tokens.access_token))
      expect(unknown.status).to.equal(503)
      expect(unknown.headers.get('www-authenticate')).to.equal(null)
      await disable(null)
    } finally {
      child.kill()
    }
  })

  describe('behind nginx', () => {
    let proxy = ''
    let seen: IncomingHttpHeaders = {}
    const application = createServer(({ headers }, response) => {
      seen = headers
      response.end('the application')
    })
    before(async function () {
      const file = requireProgram(this, 'nginx')
      await once(application.listen(0, '127.0.0.1'), 'listening')
      const { port } = application.address() as AddressInfo
      const listen = await freePort()
      proxy = `http://127.0.0.1:${listen}`
      const pair = Buffer.from(`${registered.clientId}:${registered.secret}`).toString('base64')
      const block = readFileSync(join(folder, 'nginx.conf'), 'utf8')
        .replace('127.0.0.1:8080', `127.0.0.1:${listen}`)
        .replace('http://127.0.0.1:9000', `http://127.0.0.1:${port}`)
        .replace('https://id.example', service.url)
        .replace('CREDENTIALS', pair)
      const cwd = mkdtempSync(join(tmpdir(), 'gatehouse-nginx-'))
      removeAtExit(cwd)
      const at = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
        .map((name) => `${name}_temp_path ${cwd}/${name};`)
        .join(' ')
      writeFileSync(
        join(cwd, 'nginx.conf'),
        `daemon off; master_process off; pid ${cwd}/pid; error_log stderr notice;
         events {} http { access_log off; ${at} ${block} }`,
      )
      await startProgram({
        ...{ file, arguments: ['-p', cwd, '-e', 'stderr', '-c', join(cwd, 'nginx.conf')], cwd },
        readyWhen: /start worker|using the "/,
      })
      await eventually(5000, async () => await get(proxy))
    })
    after(() => {
      application.close()
      application.closeAllConnections()
    })
    beforeEach(() => {
      seen = {}
    })

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
      expect(seen).not.to.have.any.keys('authorization', 'x-auth-email', 'x-auth-roles')
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

    it('a proxy that is refused itself answers 503 without a challenge, and lets nobody pass', async () => {
      const { access_token } = await obtain(service.url)
      await disable(1)
      const answer = await get(`${proxy}/orders`, bearer(access_token))
      expect(answer.status).to.equal(503)
      expect(answer.headers.get('www-authenticate')).to.equal(null)
      expect(answer.headers.get('retry-after')).to.equal('1')
      expect(seen).to.deep.equal({})
      await disable(null)
      expect((await get(`${proxy}/orders`, bearer(access_token))).status).to.equal(200)
    })
  })
})
