import { createServer } from 'node:http'

import Koa from 'koa'
import { sql } from 'kysely'
import { pino } from 'pino'

import { errorHandler } from '../src/platform/http/error-handler.ts'
import { paths } from '../src/platform/http/paths.ts'
import { requestLog } from '../src/platform/http/request-log.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { mutationOf, startOperator } from './support/admin-api.ts'
import {
  asPortal,
  asResourceServer,
  authorizeUrl,
  codeVerifier,
  introspect,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
  userinfo,
} from './support/client.ts'
import { rowsOf } from './support/database.ts'
import {
  amir,
  flushingSoon,
  notes,
  olivia,
  portal,
  type RunningService,
  sam,
  startService,
} from './support/gatehouse.ts'
import { listen } from './support/listen.ts'
import { hiddenField } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { rejection } from './support/rejection.ts'
import { sharedService } from './support/storages.ts'
import { type Answer, basic, bearer, type Fields, postForm, send } from './support/wire.ts'

async function lineOf({ log }: { readonly log: readonly string[] }, { headers }: Answer) {
  return await eventually(20_000, async () => {
    const lines = log.map((line) => JSON.parse(line))
    const found = lines.filter(({ id }) => id === headers.get('x-request-id'))
    expect(found).to.have.lengthOf(1)
    return found[0]
  })
}

// [RFC 9700 §4.9.3; threat 14]
it('log: no code, token, secret, password, cookie, form token or verifier in any line (RFC 9700 §4.2; OSVDB-118830) [119]', async () => {
  await using service = await startService({ policy: flushingSoon })
  const secrets = await useEverything(service)
  const text = service.log.join('')
  expect(service.log.length).to.be.greaterThan(60)
  expect(secrets.size).to.be.greaterThan(40)
  expect(text).to.include('per_sam').and.include(notes.clientId).and.include(portal.clientId)
  const leakedTo = (kept: string) =>
    [...secrets].filter((one) => kept.includes(one) || kept.includes(encodeURIComponent(one)))
  expect(leakedTo(text)).to.deep.equal([])
  const events = await eventually(20_000, async () => {
    const rows = await rowsOf(service.kysely, 'audit_event')
    const actions = rows.map(({ action }) => action)
    expect(actions).to.include.members(['sign_in.success', 'client.refused', 'sign_in.failure'])
    return JSON.stringify(rows)
  })
  expect(leakedTo(events)).to.deep.equal([])
})

/** Runs a complete set of flows, including failed ones. Returns the secrets in them. */
async function useEverything({ url }: RunningService): Promise<ReadonlySet<string>> {
  const passwords = [sam, olivia, amir].map(({ password }) => password)
  const clients = [asPortal.client_secret, asResourceServer.client_secret]
  const secrets = new Set([...passwords, ...clients, codeVerifier])
  const { fetch } = globalThis
  using restoring = new DisposableStack()
  restoring.defer(() => Object.assign(globalThis, { fetch }))
  globalThis.fetch = async (...request) => {
    const answer = await fetch(...request)
    for (const cookie of answer.headers.getSetCookie()) keep(/=([^;]+)/.exec(cookie)?.[1])
    keep(hiddenField(await answer.clone().text()))
    keep(/\/interaction\/([\w-]{20,})/.exec(answer.headers.get('location') ?? '')?.[1])
    return answer
  }
  function keep<Value>(value: Value): Value {
    if (typeof value === 'string' && value.length >= 8) secrets.add(value)
    return value
  }
  const post = async (path: string, fields: Fields, headers: readonly string[] = []) =>
    await postForm(url + path, fields, headers)
  const { client_id, client_secret, redirect_uri } = asPortal
  for (const [fields, answers, more] of [
    [{}, sam, {}],
    [{ client_id, redirect_uri }, olivia, { client_secret }],
  ] as const) {
    const obtained = await obtainCode(url, fields, answers)
    keep(obtained.code)
    const redeeming = { ...obtained.form, ...more }
    const wrong = keep(`wrong-verifier-${'x'.repeat(40)}`)
    await post(paths.token, { ...redeeming, code_verifier: wrong })
    await post(paths.token, { ...redeeming, resource: 'https://evil.example' })
    await post(paths.token, { ...obtained.form, client_secret: keep('a-wrong-secret-0001') })
    const { body: answer } = await post(paths.token, redeeming)
    const access = keep(String(answer.access_token))
    const refreshToken = keep(String(answer.refresh_token))
    keep(answer.id_token)

    for (const token of [access, refreshToken, keep('a-token-that-nobody-has')]) {
      await send(url, { path: paths.userinfo, headers: bearer(token) })
      await send(url, { path: `${paths.userinfo}?access_token=${token}` })
      await post(paths.introspection, { ...asResourceServer, token })
      await post(paths.introspection, { token })
      await post(paths.graphql, {}, bearer(token))
      await post(paths.mcp, {}, bearer(token))
      await send(url, { path: `/no-such-place/${token}?code=${token}` })
    }
    const own = { client_id: obtained.form['client_id'], ...more }
    const asked = { grant_type: 'refresh_token', ...own }
    const { body: next } = await post(paths.token, { ...asked, refresh_token: refreshToken })
    keep(next.access_token)
    const token = keep(String(next.refresh_token))
    await post(paths.token, { ...asked, refresh_token: refreshToken, scope: 'admin' })
    await post(paths.token, { ...asked, refresh_token: keep('no-refresh-token-at-all') })
    await post(paths.revocation, { ...own, token })
    await post(paths.token, { ...asked, refresh_token: token })
    await post(paths.token, redeeming)
  }

  await post(paths.token, { grant_type: 'password' }, basic(client_id, keep('wrong-basic-1')))
  await post(paths.token, {}, ['Authorization', `Basic ${keep('bm8tY29sb24taGVyZQ')}`])
  await post(paths.registration, { client_name: 'x' }, bearer(keep('initial-access-token')))
  for (const wrong of [
    { ...sam, password: keep('a-wrong-password-1') },
    { ...sam, password: keep('correct-horse-battery') },
    { ...sam, password: keep('x'.repeat(2000)) },
    { login: keep('my-password-typed-as-the-login'), password: 'x' },
    { ...sam, refuse: true },
  ]) {
    await obtainCode(url, {}, wrong).catch(() => {})
  }
  const person = makeHeadlessPerson(sam)
  const state = keep('a-state-that-is-secret-0001')
  const nonce = keep('a-nonce-that-is-secret-0001')
  await person.authorize(authorizeUrl(url, { state, nonce }), notes.redirectUri)
  await person.open(authorizeUrl(url, { state, redirect_uri: `https://evil.example/${state}` }))
  await person.open(authorizeUrl(url, { state, scope: 'nothing', nonce }))
  await person.open(authorizeUrl(url, { client_id: keep('a-secret-as-client-id') }))
  await person.open(new URL(`${paths.endSession}?id_token_hint=${keep('a.b.c-hint')}`, url))
  return secrets
}

describe('log: each request has one line', () => {
  const service = sharedService()

  for (const [method, path, route, status] of [
    ['GET', paths.health, paths.health, 200],
    ['GET', paths.openidConfiguration, 'discovery', 200],
    ['GET', paths.authorization, 'authorization', 400],
    ['GET', `${paths.authorization}?client_id=x&code=secret`, 'authorization', 400],
    ['POST', paths.token, 'token', 400],
    ['GET', paths.userinfo, 'userinfo', 401],
    ['POST', paths.revocation, 'revocation', 400],
    ['POST', paths.introspection, 'introspection', 401],
    ['GET', '/interaction/some-uid/login', '/interaction/:uid/login', 400],
    ['GET', '/no-such-place', 'none', 404],
    ['GET', '/API/oauth/token', 'none', 404],
    ['PUT', paths.token, 'none', 405],
  ] as const) {
    it(`of ${method} ${path} with its id, the pattern of its path, and ${status}`, async () => {
      const answer = await send(service().url, { method, path })
      const line = await lineOf(service(), answer)
      expect(line).to.include({ method, route, status, msg: 'request' })
      expect(answer.status).to.equal(status)
      expect(line.ms).to.be.a('number')
    })
  }

  it('with an id of its own, which a header cannot set', async () => {
    const headers = ['X-Request-Id', 'chosen-by-the-caller']
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => send(service().url, { path: paths.health, headers })),
    )
    const ids = answers.map((answer) => answer.headers.get('x-request-id'))
    expect(new Set(ids).size).to.equal(20)
    expect(ids).to.not.include('chosen-by-the-caller')
  })

  it('with the client, and the reason that the client does not see, such as why a grant ended, at every endpoint', async () => {
    await using own = await startService()
    const { url } = own
    const { form, accessToken, refreshToken } = await obtainTokens(url)
    const again = await redeem(url, { form })
    const line = await lineOf(own, again)
    expect(line).to.include({ client: notes.clientId, error: 'invalid_grant' })
    expect(line.detail).to.be.a('string')
    expect(again.text).to.not.include(line.detail)
    const code = await obtainCode(url)
    await sql`update oauth_grant set ended_at = ${Date.now()},
      end_reason = 'the person removed it'`.execute(own.kysely)
    const answers = {
      UserInfo: await userinfo(url, accessToken),
      introspection: await introspect(url, accessToken),
      refresh: await refresh(url, refreshToken),
      'code exchange': await redeem(url, code),
    }
    for (const [what, answer] of Object.entries(answers)) {
      const { detail } = await lineOf(own, answer)
      expect(detail, what).to.include('the grant has ended: the person removed it')
      expect(JSON.stringify(answer.body), what).not.to.include('the person')
    }
  })

  it('with 499, unless it was answered, when the client disconnects', async () => {
    const client = new AbortController()
    const before = service().log.length
    const answers = Array.from({ length: 5 }, () =>
      fetch(service().url + paths.openApi, { signal: client.signal }).catch(() => 'left'),
    )
    client.abort()
    expect(await Promise.all(answers)).to.include('left')
    await send(service().url, { path: paths.health })
    for (const line of service().log.slice(before))
      expect(JSON.parse(line).status).to.be.oneOf([200, 499])
  })

  // [threat 40]
  it('that no input can split or extend', async () => {
    const forged = '"},{"level":50}\n{"msg":"forged"}'
    const answer = await send(service().url, {
      path: `/${encodeURIComponent(forged)}`,
      headers: ['User-Agent', '{"msg":"forged"}', 'Accept', 'text/html'],
    })
    await lineOf(service(), answer)
    const typed = obtainCode(service().url, {}, { login: forged, password: 'x' })
    expect((await rejection(typed)).message).to.include('wrong')
    for (const line of service().log) {
      expect(line.indexOf('\n')).to.equal(line.length - 1)
      expect(JSON.parse(line).msg).to.not.equal('forged')
    }
  })
})

describe('log: a fault is one line with its cause, and the client sees only the id (design, Errors and configuration)', () => {
  it('for storage that fails under running requests: 503, also for the probe', async () => {
    await using service = await startService()
    const { accessToken, refreshToken } = await obtainTokens(service.url)
    const running = [userinfo(service.url, accessToken), refresh(service.url, refreshToken)]
    await service.kysely.destroy()
    await Promise.all(running)
    const first = service.log.length
    for (const answer of [
      await userinfo(service.url, accessToken),
      await refresh(service.url, refreshToken),
      await introspect(service.url, accessToken),
    ]) {
      expect([answer.status, answer.body['error']]).to.deep.equal([503, 'temporarily_unavailable'])
      expect(answer.text).to.not.match(/driver|destroy|kysely|sqlite|\.ts|stack/i)
      const line = await lineOf(service, answer)
      expect(line.cause).to.match(/driver has already been destroyed|not open/)
    }
    // Skip the lines of background tasks, which log their own failures.
    const lines = service.log.slice(first).filter((line) => 'status' in JSON.parse(line))
    expect(lines, 'one line each').to.have.length(3)
    const probe = await send(service.url, { path: paths.ready })
    expect([probe.status, probe.body]).to.deep.equal([503, { status: 'unready' }])
    expect((await lineOf(service, probe)).cause).to.include('destroyed')
  })

  it('for an unexpected error: 500 with the id of its line, as JSON and as a page', async () => {
    const log: string[] = []
    const logger = pino({ base: null }, { write: (line: string) => void log.push(line) })
    const app = new Koa()
    app.on('error', () => {})
    app.use(requestLog(logger, Date.now))
    app.use(errorHandler())
    app.use(() => {
      throw new Error('the secret reason', { cause: new Error('deeper') })
    })
    await using server = await listen(createServer(app.callback()))
    for (const accept of ['application/json', 'text/html']) {
      const answer = await send(server.url, { path: '/', headers: ['Accept', accept] })
      const id = String(answer.headers.get('x-request-id'))
      expect(answer.status).to.equal(500)
      expect(answer.text).to.include('server_error').and.include(id)
      expect(answer.text).to.not.match(/secret reason|deeper|\.ts|node_modules/)
      expect((await lineOf({ log }, answer)).cause).to.include('the secret reason')
    }
  })

  it('for an unexpected error in the engine, too', async () => {
    await using service = await startService()
    const { getAll } = URLSearchParams.prototype
    using restoring = new DisposableStack()
    restoring.defer(() => Object.assign(URLSearchParams.prototype, { getAll }))
    URLSearchParams.prototype.getAll = () => {
      throw new Error('the secret reason')
    }
    const answer = await send(service.url, { path: `${paths.authorization}?state=x` })
    expect(answer.status).to.equal(500)
    expect(answer.text).to.not.include('the secret reason')
    expect((await lineOf(service, answer)).cause).to.match(/the secret reason\n +at /)
    expect(service.log.filter((text) => text.includes('the secret reason'))).to.have.lengthOf(1)
  })

  it('for a full disk: 503 for changes; the service is not ready, and recovers [193]', async () => {
    await using running = await startService()
    const { kysely } = running
    const operator = await startOperator(running)
    const create = async (slug: string) =>
      await operator.ask(mutationOf('createCourse'), {
        input: { slug, title: slug, summary: 's'.repeat(1900) },
      })
    const ready = async () => (await send(running.url, { path: paths.ready })).status

    // SQLite reports a database of the maximum size as a full disk.
    await sql`pragma max_page_count = 1`.execute(kysely)
    const statuses = new Set<number>()
    for (let turn = 0; turn < 200 && !statuses.has(503); turn += 1)
      statuses.add((await create(`s${turn}`)).status)
    expect([...statuses].filter((status) => status !== 200)).to.deep.equal([503])
    const lines = running.log.map((text) => JSON.parse(text))
    const line = JSON.stringify(lines.findLast(({ status }) => status === 503))
    expect(line).to.match(/SQLITE_FULL|database or disk is full/)
    await sql`pragma max_page_count = 1073741823`.execute(kysely)
    expect((await create('after')).status).to.equal(200)

    // With query_only, reads still work, as on a full disk.
    await sql`pragma query_only = on`.execute(kysely)
    expect(await ready()).to.equal(503)
    await sql`pragma query_only = off`.execute(kysely)
    expect(await ready()).to.equal(200)
  })
})
