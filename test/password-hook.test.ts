import { writeFileSync } from 'node:fs'
import type { RequestListener } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import { makeGuardedFetch, type SendOutgoing } from '../src/platform/outgoing/guarded-fetch.ts'
import { openSignIn } from './support/client.ts'
import { change, rowOf } from './support/database.ts'
import { certificate, lookUpHere, startHttpsHost } from './support/document-host.ts'
import { olivia, type RunningService, sam, startWith } from './support/gatehouse.ts'
import { freePort, startProgram, temporaryFolder } from './support/programs.ts'

const CHECK = 'https://client.example/password-check'
const stranger = { login: 'nobody@northlight.example', password: sam.password }

describe('the password check of the platform', () => {
  async function startChecked(fetch: SendOutgoing, timeoutMs: number) {
    const passwordCheck = { url: CHECK, timeoutMs }
    const service = await startWith({ signIn: { passwordCheck } }, { fetch })
    await change(service.kysely, 'person', { email_canonical: sam.login }, { password_hash: null })
    return service
  }

  const disable = async ({ kysely }: RunningService, who: typeof sam, disabled_at: number | null) =>
    await change(kysely, 'person', { email_canonical: who.login }, { disabled_at })
  const readHash = async ({ kysely }: RunningService) =>
    (await rowOf(kysely, 'person', { email_canonical: sam.login })).password_hash

  async function signIn({ url }: RunningService, typed: typeof sam) {
    const answer = await openSignIn(url)
    const startedMs = performance.now()
    const { status, text } = await answer(typed)
    return { status, text, ms: performance.now() - startedMs }
  }

  /** Starts the service, and a platform that responds with `answer`. */
  async function startBoth(answer: RequestListener, timeoutMs = 1000) {
    const asked: { email: string; password: string }[] = []
    const listener: RequestListener = async (request, response) => {
      asked.push(JSON.parse(await text(request)))
      answer(request, response)
    }
    await using opening = new AsyncDisposableStack()
    const platform = await startHttpsHost(listener, { admits: () => false })
    const service = opening.use(await startChecked(opening.use(platform).fetch, timeoutMs))
    const open = opening.move()
    return { service, asked, [Symbol.asyncDispose]: () => open.disposeAsync() }
  }

  it('signs a person in with the example of the documentation, which is asked only once', async () => {
    const folder = temporaryFolder()
    const files = { TLS_KEY: join(folder, 'key.pem'), TLS_CERT: join(folder, 'cert.pem') }
    const { key, cert } = certificate
    writeFileSync(files.TLS_KEY, key)
    writeFileSync(files.TLS_CERT, cert)
    const port = await freePort()
    const options = { lookUp: lookUpHere, certificates: cert, port }
    await using service = await startChecked(makeGuardedFetch(options), 5000)
    const platform = await startProgram({
      file: process.execPath,
      arguments: [join(import.meta.dirname, '../examples/password-check/server.mjs')],
      cwd: import.meta.dirname,
      environment: {
        ...{ ...files, PORT: String(port), ISSUER: service.url, URL_OF_CHECK: CHECK },
        PEOPLE: JSON.stringify({ [sam.login]: sam.password, [stranger.login]: stranger.password }),
      },
      readyWhen: /listening/,
    })
    expect((await signIn(service, { ...sam, password: 'wrong' })).status).to.equal(401)
    expect((await signIn(service, stranger)).status).to.equal(401)
    expect((await signIn(service, sam)).status).to.equal(303)
    expect(await readHash(service)).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
    await platform.kill()
    expect((await signIn(service, sam)).status).to.equal(303)
    expect((await signIn(service, olivia)).status).to.equal(303)
    expect(service.log.join('')).to.not.include(sam.password)
  })

  for (const [what, answer] of [
    ['redirects', (_, res) => res.writeHead(307, { location: CHECK }).end()],
    ['never answers', () => {}],
    ['answers slowly', (_, res) => void res.writeHead(200).write('{"valid":')],
    ['answers with 1 MB', (_, res) => void res.end(`{"valid":true,"x":"${'x'.repeat(1e6)}"}`)],
    ['answers with text', (_, res) => void res.end('"valid":true')],
    ['answers with another type', (_, res) => void res.end('{"valid":"true"}')],
    ['echoes the password', (_, res) => void res.end(`valid ${sam.password}`)],
    ['answers with 201', (_, res) => res.writeHead(201).end('{"valid":true}')],
    ['closes the connection', (req) => void req.socket.destroy()],
  ] as const satisfies readonly (readonly [string, RequestListener])[]) {
    it(`answers every rejected sign-in alike if the platform ${what} [224]`, async () => {
      await using both = await startBoth(answer, 400)
      for (const typed of [sam, stranger, { ...olivia, password: 'wrong' }]) {
        const { status, text, ms } = await signIn(both.service, typed)
        expect(status, typed.login).to.equal(503)
        expect(text).to.include('Passwords cannot be checked at the moment')
        expect(ms).to.be.within(440, 5000)
      }
      expect((await signIn(both.service, olivia)).status).to.equal(303)
      expect(await readHash(both.service)).to.equal(null)
      const log = both.service.log.join('')
      expect(log).to.include('a password check by the platform failed')
      for (const secret of [sam.password, olivia.password, 'wrong'])
        expect(log).to.not.include(secret)
    })
  }

  // [225]
  it('refuses after the same time and always asks, but sends only the data of people without a hash', async () => {
    await using both = await startBoth((_, response) => void response.end('{"valid":false}'), 400)
    const { service, asked } = both
    await disable(service, olivia, Date.now())
    const typed = [sam, stranger, { login: 'amir@northlight.example', password: 'wrong' }, olivia]
    for (const attempt of typed) {
      const { status, ms } = await signIn(service, attempt)
      expect(status).to.equal(401)
      expect(ms).to.be.within(440, 5000)
    }
    expect(asked[0]).to.deep.equal({ email: sam.login, password: sam.password })
    for (const { email, password } of asked.slice(1)) {
      expect(email).to.match(/@decoy\.invalid$/)
      expect(typed.map((each) => each.password)).to.not.include(password)
    }
    expect(asked).to.have.length(4)
  })

  it('does not sign in people whom only the platform knows, or whose account is disabled', async () => {
    await using both = await startBoth((_, response) => void response.end('{"valid":true}'), 400)
    const { service } = both
    await disable(service, sam, Date.now())
    for (const typed of [stranger, sam, { ...olivia, password: 'wrong' }])
      expect((await signIn(service, typed)).status).to.equal(401)
    await disable(service, sam, null)
    // Only one of these parallel sign-ins stores the hash; the others find it stored.
    const all = await Promise.all(Array.from({ length: 4 }, () => signIn(service, sam)))
    expect(all.map(({ status }) => status)).to.deep.equal([303, 303, 303, 303])
  })
})
