import { expect } from 'chai'

import { toolAddresses } from '../src/api/mcp/tool-access.ts'
import { startService } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'
import { type Answer, send } from './support/wire.ts'

const PUBLIC_HOST = 'id.campus.example'
const ping = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })

/** The origins of the Inspector's page, of a sandbox on the web, and of a page without an origin. */
const pages = ['http://localhost:6274', 'https://studio.example', 'null']

/** What the SDK's client in a page sends with a request, as the browser asks for it. */
const preflight = {
  'Access-Control-Request-Method': 'POST',
  'Access-Control-Request-Headers':
    'authorization,content-type,mcp-method,mcp-name,mcp-protocol-version',
}

interface Page {
  readonly host: string
  readonly origin: string
}

async function askFirst(url: string, path: string, { host, origin }: Page): Promise<Answer> {
  const headers = { Host: host, Origin: origin, ...preflight }
  return await send(url, { method: 'OPTIONS', path, headers })
}

async function call(url: string, path: string, { host, origin }: Page): Promise<Answer> {
  const headers = { Host: host, Origin: origin, 'Content-Type': 'application/json' }
  return await send(url, { method: 'POST', path, headers, body: ping })
}

describe('pages of other origins and the tool endpoint [design 28]', () => {
  const atHome = sharedService()
  const inPublic = sharedService({}, startInPublic)

  for (const { path, ...address } of toolAddresses) {
    for (const origin of pages) {
      it(`${origin} may call ${path} of a public address, preflight included, without credentials`, async () => {
        const { url } = inPublic()
        const asked = await askFirst(url, path, { host: PUBLIC_HOST, origin })
        expect(asked.status).to.equal(204)
        expect(asked.headers.get('access-control-allow-origin')).to.equal('*')
        expect(asked.headers.get('access-control-allow-credentials')).to.equal(null)
        const allowed = asked.headers.get('access-control-allow-headers')?.toLowerCase().split(',')
        const wanted = preflight['Access-Control-Request-Headers'].split(',')
        expect(allowed).to.include.members(wanted)
        const answer = await call(url, path, { host: PUBLIC_HOST, origin })
        expect(answer.status).to.equal('audience' in address ? 401 : 200)
        expect(answer.headers.get('access-control-allow-origin')).to.equal('*')
        expect(answer.headers.get('access-control-expose-headers')).to.include('WWW-Authenticate')
      })
    }

    it(`a page that rebound its name is refused at ${path} of a loopback address, and of a public one`, async () => {
      for (const origin of ['https://studio.example', 'http://evil.example', 'null']) {
        const { url } = atHome()
        const { host } = new URL(url)
        for (const answer of [
          await askFirst(url, path, { host, origin }),
          await call(url, path, { host, origin }),
        ]) {
          expect(answer.status, origin).to.equal(403)
          expect(answer.headers.get('access-control-allow-origin')).to.equal(null)
        }
        const rebound = { host: 'evil.example', origin }
        expect((await call(url, path, rebound)).status).to.equal(403)
        expect((await call(inPublic().url, path, rebound)).status).to.equal(403)
      }
    })
  }
})

/** A service whose clients know it by a public name, reached past the proxy that would be in front. */
async function startInPublic() {
  const running = await startService({
    environment: {
      BASE_URL: `https://${PUBLIC_HOST}`,
      SECRET: 'a-secret-of-a-test-that-is-long-enough-to-be-one',
    },
  })
  return { ...running, url: `http://127.0.0.1:${running.config.port}` }
}
