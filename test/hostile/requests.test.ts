import { gzipSync } from 'node:zlib'

import { addressOf, enginePages, pages, paths } from '../../src/platform/http/paths.ts'
import { authorizeUrl } from '../support/client.ts'
import { everyPattern, someAddress } from '../support/every-address.ts'
import { olivia } from '../support/gatehouse.ts'
import { postRaw } from '../support/mcp.ts'
import { makePagePerson } from '../support/page-person.ts'
import { forEachDatabase, sharedService } from '../support/storages.ts'
import { encode, get, send, sendBytes } from '../support/wire.ts'

/** Every path of the service, except those that forward bodies to the platform. */
const ours = everyPattern.map(someAddress).filter((address) => !address.startsWith('/admin/api/'))

// [RFC 9110 §15.5.16]
describe('a compressed body', () => {
  const service = sharedService()

  for (const encoding of ['gzip', 'deflate', 'br', 'zstd', 'x', 'gzip, gzip', '*', 'Identity, x']) {
    it(`is refused at every address before it is read: ${encoding}`, async () => {
      for (const path of ours) {
        for (const [type, plain] of [
          ['application/x-www-form-urlencoded', 'a=b'],
          ['application/json', '{"query":"{ __typename }"}'],
        ] as const) {
          for (const body of [plain, gzipSync(plain).toString('latin1')]) {
            const headers = ['Content-Type', type, 'Content-Encoding', encoding]
            const answer = await send(service().url, { method: 'POST', path, headers, body })
            const seen = [answer.status, answer.headers.get('accept-encoding')]
            expect(seen, path).to.deep.equal([415, 'identity'])
          }
        }
      }
    })
  }

  it('is accepted with the encoding identity', async () => {
    const ping = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    for (const encoding of ['identity', 'Identity']) {
      const { status } = await postRaw(service().url, ping, { 'content-encoding': encoding })
      expect(status, encoding).to.equal(200)
    }
  })
})

// [RFC 9112 §9.6]
describe('a connection after a body that is too large', () => {
  const service = sharedService()

  const form = 'application/x-www-form-urlencoded'
  for (const [path, type, status] of [
    [paths.authorization, form, '413'],
    [paths.endSession, form, '413'],
    [addressOf(pages.login, { uid: 'x' }), form, '413'],
    [paths.userinfo, form, '413'],
    [paths.introspection, form, '413'],
    [paths.registration, 'application/json', '413'],
    [paths.mcp, 'application/json', '413'],
    // The engine handles these paths, and may respond with another 4xx status.
    [paths.token, form, '4\\d\\d'],
    [paths.revocation, form, '4\\d\\d'],
    [enginePages.confirmSignOut, form, '4\\d\\d'],
  ] as const) {
    it(`is closed after the complete response of ${path}`, async () => {
      const { host } = new URL(service().url)
      const head = `POST ${path} HTTP/1.1\r\nHost: ${host}\r\nContent-Type: ${type}\r\n`
      // The first 1.6 MB of an endless body.
      const chunks = `2710\r\n${'x'.repeat(10_000)}\r\n`.repeat(160)
      const sent = `${head}Transfer-Encoding: chunked\r\n\r\n${chunks}`
      const startedAt = performance.now()
      const received = await sendBytes(service().url, sent)
      expect(performance.now() - startedAt).to.be.below(2000)
      expect(received).to.match(new RegExp(`^HTTP/1\\.1 ${status} `))
      expect(received.toLowerCase()).to.include('connection: close')
    })
  }

  it('stays open when the rest is small and the response is not 413', async () => {
    const head = `POST ${paths.token} HTTP/1.1\r\nHost: x\r\nContent-Type: ${form}\r\n`
    const large = `${head}Content-Length: 300000\r\n\r\n${'x'.repeat(300_000)}`
    const next = `GET ${paths.health} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`
    const received = await sendBytes(service().url, large + next)
    expect(received.match(/HTTP\/1\.1 \d+/g)).to.deep.equal(['HTTP/1.1 400', 'HTTP/1.1 200'])
  })
})

/** NUL, a lone surrogate, bytes that are not UTF-8, and broken percent-encodings. */
const brokenTexts = [
  ...['%00', 'a%00b', '%ED%A0%80', '%C0%80', '%ff', '%', '%zz', '%F4%90%80%80', '%ef%bf%bf'],
]

forEachDatabase('invalid text', (start) => {
  const service = sharedService(undefined, start)

  it('is refused in the path of every page and endpoint', async () => {
    for (const pattern of [...Object.values(paths), ...Object.values(pages)]) {
      // A pattern without parameters gets the text at its end.
      const open = pattern.includes(':') ? pattern : `${pattern}/:text`
      for (const broken of brokenTexts) {
        const path = open.replaceAll(/:\w+/g, broken)
        for (const method of ['GET', 'POST']) {
          const { status } = await send(service().url, { method, path })
          expect(status, `${method} ${path}`).to.be.below(500).and.not.equal(200)
        }
      }
    }
  })

  it('is refused or finds nothing in every parameter of an authorization request', async () => {
    for (const name of [
      ...authorizeUrl(service().url).searchParams.keys(),
      ...['login_hint', 'claims', 'prompt', 'ui_locales', 'acr_values', 'id_token_hint'],
      ...['request_uri', 'request', 'response_mode', 'nonce'],
    ]) {
      const address = authorizeUrl(service().url, { [name]: undefined })
      for (const broken of brokenTexts) {
        const { status } = await get(`${address}&${name}=${broken}`)
        expect(status, `${name}=${broken}`).to.be.below(500)
      }
    }
  })

  it('is refused in every query and form of a page, for a signed-in person', async () => {
    const person = makePagePerson(service().url, olivia)
    await person.visit(pages.admin)
    // A session has one CSRF token, which is valid in all forms.
    const csrf = await person.csrf()
    expect(csrf).to.not.equal('')
    const parameters = ['after', 'client', 'name', 'q', 'search']
    const fields = ['name', 'client', 'grant', 'redirectUris', 'scopes', 'site', 'id', 'reviewed']
    for (const path of Object.values(pages).map(someAddress)) {
      for (const broken of ['%00', 'a%00', '%ED%A0%80', '%C0%80']) {
        const asked = `${path}?${parameters.map((name) => `${name}=${broken}`).join('&')}`
        const { status } = await person.open(asked)
        expect(status, asked).to.be.below(500)
        if (broken.includes('%00')) expect(status, asked).to.be.within(400, 404)
      }
    }
    // These forms end the session of the test.
    const ending: readonly string[] = [pages.signOut, pages.signOutEverywhere]
    const forms = Object.values(pages).filter((pattern) => !ending.includes(pattern))
    for (const path of forms.map(someAddress)) {
      for (const broken of ['\0', 'a\0b', '\ud800']) {
        const body = encode({ ...Object.fromEntries(fields.map((name) => [name, broken])), csrf })
        const { status } = await person.open(path, { method: 'POST', body })
        expect(status, path).to.be.below(500)
      }
    }
  })
})

describe('at every path for programs', () => {
  const service = sharedService()
  const addresses = Object.values(paths).map(someAddress)
  const each = (methods: readonly string[], given: readonly string[]) =>
    given.flatMap((path) => methods.map((method) => ({ method, path })))

  // [RFC 6749 §5.2; Errors 1]
  it('an error is JSON, although Java clients accept HTML by default', async () => {
    const headers = ['Accept', 'text/html, image/gif, image/jpeg, *; q=.2, */*; q=.2']
    const forPeople: readonly string[] = [paths.authorization, paths.endSession]
    const given = addresses.filter((path) => !forPeople.includes(path))
    for (const request of each(['GET', 'POST', 'PUT'], [...given, '/mcp/admin/change/courses'])) {
      const answer = await send(service().url, { ...request, headers })
      if (answer.status < 400) continue
      const said = `${request.method} ${request.path} ${answer.status}`
      expect(answer.headers.get('content-type'), said).to.match(/^application\/json/)
      expect(answer.body.error, said).to.be.a('string')
    }
  })

  // [RFC 9110 §15.5.6]
  it('another method gets 405 with Allow, or the challenge for a missing token', async () => {
    const anyMethod = [paths.forwardAuth, someAddress(paths.upstream)]
    const given = addresses.filter((path) => !anyMethod.includes(path))
    for (const request of each(['PUT', 'DELETE', 'PATCH'], given)) {
      const { status, headers } = await send(service().url, request)
      const said = `${request.method} ${request.path} ${status}`
      const name = status === 401 ? 'www-authenticate' : 'allow'
      expect(status, said).to.be.oneOf([401, 405])
      expect(headers.get(name), said).to.match(/^(GET|POST|Bearer)\b/)
    }
  })
})
