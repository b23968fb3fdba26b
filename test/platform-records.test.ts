import { execFile } from 'node:child_process'
import { hash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { hash as argon2 } from '@node-rs/argon2'
import { exportPKCS8, exportSPKI, SignJWT } from 'jose'

import type { ServicePolicy } from '../src/config/config.ts'
import { servicePolicy } from '../src/config/service-policy.ts'
import { readScope } from '../src/directory/scopes/catalogue.ts'
import { RECORDS_BYTES_MAX, RECORDS_MAX } from '../src/ops/import/records-route.ts'
import { paths, planPaths } from '../src/platform/http/paths.ts'
import { obtainTokens, userinfo } from './support/client.ts'
import { rowsOf } from './support/database.ts'
import { configFolder, policyWith, startService } from './support/gatehouse.ts'
import { operatorToken } from './support/mcp.ts'
import { responseValidator } from './support/openapi.ts'
import { temporaryFolder } from './support/programs.ts'
import { makeClientKey, unsignedJwt } from './support/proofs.ts'
import { forEachStorage, sharedService } from './support/storages.ts'
import { type Answer, get, type Json, postForm, postJson, refusalOf } from './support/wire.ts'

const key = await makeClientKey('ES256', 'platform-1')
const other = await makeClientKey('ES256', 'platform-1')
const { records: path } = planPaths
const createdAt = '2026-01-01T00:00:00Z'

const on = (changes: Partial<ServicePolicy['limits']> = {}) => ({
  policy: policyWith({ platformKeys: { keys: [key.publicJwk] } as object, limits: changes }),
})

const person = (id: string, more: object = {}) => ({
  ...{ type: 'person', id: `per_${id}`, email: `${id}@pottery.example`, name: id, createdAt },
  ...more,
})
const linesOf = (records: readonly object[]) =>
  records.map((record) => `${JSON.stringify(record)}\n`).join('')

type Signing = { by?: Parameters<SignJWT['sign']>[0]; header?: object; claims?: object }

/** Signs a JWT for a request body, as documented. Omits undefined claims. */
async function sign(url: string, body: string, signing: Signing = {}): Promise<string> {
  const now = Math.floor(Date.now() / 1000)
  return await new SignJWT({
    ...{ aud: url + path, jti: crypto.randomUUID(), iat: now, exp: now + 60 },
    ...{ body_sha256: hash('sha256', body, 'base64url'), ...signing.claims },
  })
    .setProtectedHeader({ alg: 'ES256', kid: key.kid, typ: 'records+jwt', ...signing.header })
    .sign(signing.by ?? key.privateKey)
}

async function post(url: string, body: string, token: string, more: Record<string, string> = {}) {
  const headers = { 'content-type': 'application/x-ndjson', ...more }
  return await postJson(url + path, body, { token, headers })
}

async function write(url: string, records: readonly object[]): Promise<Answer> {
  const body = linesOf(records)
  return await post(url, body, await sign(url, body))
}

/** Returns the result of each line: `changed`, `unchanged` or the error. */
const resultsOf = ({ body }: Answer): string[] =>
  body.results.map(({ changed, error }: Json) => error ?? (changed ? 'changed' : 'unchanged'))

forEachStorage('records of the platform', (start) => {
  const running = sharedService(on(), start)

  it('create people with hashes and roles, sites and purchases; the people can sign in', async () => {
    const { url, kysely } = running()
    const password = 'a password of the platform'
    const role = { site: 'sit_northlight', role: 'student', grantedAt: createdAt }
    const passwordHash = await argon2(password)
    const course = { id: 'crs_wheel', site: 'sit_pottery', slug: 'wheel', title: 'Wheel' }
    const lectures = ['a', 'b'].map((id) => ({ id: `lec_${id}`, title: id, durationSeconds: 1 }))
    const records = [
      { type: 'site', id: 'sit_pottery', slug: 'pottery', name: 'Pottery', createdAt },
      person('ada', { passwordHash, roles: [role] }),
      { type: 'course', ...course, summary: 'Wheel', createdAt, lectures },
      {
        ...{ type: 'coursePurchase', id: 'pur_wheel', person: 'per_ada', course: 'crs_wheel' },
        ...{ purchasedAt: createdAt, expiresAt: null },
      },
    ]
    const answer = await write(url, records)
    expect(answer.status, answer.text).to.equal(200)
    expect(answer.body.results[3]).to.deep.equal({ line: 4, ok: true, changed: true })
    expect(resultsOf(answer)).to.deep.equal(Array(4).fill('changed'))
    const login = { login: 'ada@pottery.example', password }
    const { accessToken } = await obtainTokens(url, { scope: 'openid email' }, login)
    expect((await userinfo(url, accessToken)).body).to.include({ sub: 'per_ada' })
    const events = await rowsOf(kysely, 'audit_event', { action: 'campus.imported' })
    const counted = events.map(({ subject_id, after }) => [subject_id, JSON.parse(after ?? '')])
    expect(counted).to.deep.equal([[path, { site: 1, person: 1, course: 1, coursePurchase: 1 }]])

    // Sending the same records again changes nothing. A changed field changes only its record.
    expect(resultsOf(await write(url, records))).to.deep.equal(Array(4).fill('unchanged'))
    const [site, ada, wheel, purchase] = records as [object, object, object, object]
    const moved = { ...wheel, lectures: lectures.toReversed() }
    const next = [site, { ...ada, name: 'Ada' }, moved, { ...purchase, deleted: undefined }]
    const results = ['unchanged', 'changed', 'changed', 'unchanged']
    expect(resultsOf(await write(url, next))).to.deep.equal(results)
    const withoutRole = [person('ada', { name: 'Ada', roles: [] })]
    const deleted = [{ type: 'coursePurchase', id: 'pur_wheel', deleted: true }]
    for (const change of [withoutRole, deleted]) {
      expect(resultsOf(await write(url, change))).to.deep.equal(['changed'])
      expect(resultsOf(await write(url, change))).to.deep.equal(['unchanged'])
    }
  })

  it('are rejected one by one, with the field and its problem', async () => {
    const { url } = running()
    const order = { type: 'order', id: 'ord_1', site: 'sit_none', person: 'per_bob', number: '1' }
    const paid = { totalCents: 1, currency: 'EUR', placedAt: createdAt }
    const cases: [object, RegExp][] = [
      [person('bob', { surname: 'x' }), /surname/],
      [person('eve'), /^changed$/],
      [person('fay', { email: undefined }), /^email: /],
      [person('gus', { password: 'a password of the platform' }), /^password: .*passwordHash/],
      [person('hal', { passwordHash: 'md5:x' }), /^passwordHash: /],
      [{ ...order, ...paid }, /refers to a rejected record/],
      [person('eve2', { email: 'eve@pottery.example' }), /same email/],
      [{ type: 'rocket' }, /^type: must be one of site, person/],
    ]
    const records = cases.map(([record]) => record)
    const answer = await write(url, records)
    const results = resultsOf(answer)
    for (const [index, [, said]] of cases.entries()) expect(results[index]).to.match(said)
    expect(answer.body.results[0]).to.include({ line: 1, ok: false, changed: false })
    const noJson = `{"type":\n\n${linesOf([person('ivy')])}`
    const mixed = await post(url, noJson, await sign(url, noJson))
    expect(mixed.body.results.map(({ line }: { line: number }) => line)).to.deep.equal([1, 3])
    const problem = 'the line is not valid JSON, or is longer than 1 MiB'
    expect(resultsOf(mixed)).to.deep.equal([problem, 'changed'])
  })

  it('are written once by parallel requests with the same JWT [420]', async () => {
    const { url } = running()
    const body = linesOf([person('kim')])
    const jwt = await sign(url, body)
    const answers = await Promise.all(Array.from({ length: 8 }, () => post(url, body, jwt)))
    expect(answers.map(({ status }) => status).sort()).to.deep.equal([200, ...Array(7).fill(401)])
    expect((await post(url, body, jwt)).status).to.equal(401)
  })

  it('are accepted up to the maximum of a request, also by parallel requests', async () => {
    const { url } = running()
    const many = Array.from({ length: RECORDS_MAX }, (_, index) => person(`n${index}`))
    const answers = await Promise.all([write(url, many), write(url, many.toReversed())])
    for (const { status } of answers) expect(status).to.be.oneOf([200, 503])
    const again = await write(url, many)
    expect(resultsOf(again).filter((result) => !/changed/.test(result))).to.deep.equal([])
    expect(resultsOf(await write(url, many))).to.deep.equal(Array(RECORDS_MAX).fill('unchanged'))
    const more = await write(url, [...many, person('more')])
    expect(refusalOf(more)).to.equal('413 limit_reached')
  })
})

describe('the credential of the platform', () => {
  const running = sharedService(on())
  const body = linesOf([person('mallory')])

  const hmac = async (url: string) => {
    const by = new TextEncoder().encode(await exportSPKI(key.publicKey))
    return await sign(url, body, { by, header: { alg: 'HS256' } })
  }
  const signed = (signing: Signing) => async (url: string) => await sign(url, body, signing)
  const readPeople = async () => (await rowsOf(running().kysely, 'person')).map(({ id }) => id)
  const byOther = { by: other.privateKey }
  const ago = (seconds: number) => Math.floor(Date.now() / 1000) - seconds
  const attacks: Readonly<Record<string, (url: string) => Promise<string>>> = {
    'with the audience of another service': signed({ claims: { aud: 'https://other.example' } }),
    'with the issuer as its audience': (url) => sign(url, body, { claims: { aud: url } }),
    'without an audience': signed({ claims: { aud: undefined } }),
    'that expired': signed({ claims: { iat: ago(120), exp: ago(60) } }),
    'without an expiry': signed({ claims: { exp: undefined } }),
    'that is valid for an hour': signed({ claims: { exp: ago(-3600) } }),
    'that is old but does not expire': signed({ claims: { iat: ago(300), exp: ago(-1) } }),
    'that was issued in the future': signed({ claims: { iat: ago(-120), exp: ago(-150) } }),
    'without an issue time': signed({ claims: { iat: undefined } }),
    'without a jti': signed({ claims: { jti: undefined } }),
    'for another body': async (url) => await sign(url, linesOf([person('trudy')])),
    'without a digest': signed({ claims: { body_sha256: undefined } }),
    'of an unknown key with a known kid': signed(byOther),
    'of an unknown kid': signed({ ...byOther, header: { kid: 'x' } }),
    'of another type': signed({ header: { typ: 'JWT' } }),
    'with a key of its own in the header': signed({ ...byOther, header: { jwk: other.publicJwk } }),
    'without a signature (alg none)': async (url) => {
      const body_sha256 = hash('sha256', body, 'base64url')
      return unsignedJwt({ aud: url + path, jti: 'n', iat: ago(0), exp: ago(-60), body_sha256 })
    },
    'signed with the public key as an HMAC secret (HS256)': hmac,
    'that is an access token of an operator': (url) => operatorToken(url, readScope('courses')),
  }

  for (const [which, make] of Object.entries(attacks)) {
    // [421; class token handling]
    it(`is not a JWT ${which}`, async () => {
      const { url } = running()
      const before = await readPeople()
      const answer = await post(url, body, await make(url))
      expect(refusalOf(answer), answer.text).to.equal('401 invalid_token')
      expect(answer.headers.get('www-authenticate')).to.equal('Bearer error="invalid_token"')
      expect(await readPeople()).to.deep.equal(before)
    })
  }

  it('is rejected everywhere else [422]', async () => {
    const { url } = running()
    const jwt = await sign(url, '')
    expect((await userinfo(url, jwt)).status).to.equal(401)
    for (const place of [paths.adminGraphql, paths.graphql, paths.mcpAdmin]) {
      const { status } = await postJson(url + place, { query: '{ __typename }' }, { token: jwt })
      expect(status, place).to.equal(401)
    }
    const form = { grant_type: 'client_credentials', client_assertion: jwt }
    expect((await postForm(url + paths.token, form)).status).to.equal(400)
  })

  it('is not used up by a request whose body was replaced', async () => {
    const { url } = running()
    const mine = linesOf([person('nina')])
    const jwt = await sign(url, mine)
    expect((await post(url, body, jwt)).status).to.equal(401)
    expect((await post(url, mine, jwt)).status).to.equal(200)
    const replayed = await post(url, mine, jwt)
    expect(replayed.body.error_description).to.match(/was used before.*sign a new JWT/)
  })

  it('is needed before the body is read, and the length of the body is limited [423]', async () => {
    const { url } = running()
    const large = ' '.repeat(RECORDS_BYTES_MAX + 1)
    expect((await post(url, large, 'x.y.z')).status).to.equal(401)
    expect((await post(url, large, await sign(url, large))).status).to.equal(413)
    for (const more of [{ 'content-encoding': 'gzip' }, { 'content-type': 'application/json' }]) {
      const { status } = await post(url, body, await sign(url, body), more)
      expect(status, Object.keys(more).join()).to.equal(415)
    }
    expect((await get(url + path)).status).to.equal(405)
  })

  it('can write a limited number of records', async () => {
    await using service = await startService(on({ platformRecordsMax: 2 }))
    expect((await write(service.url, [person('a'), person('b')])).status).to.equal(200)
    const exceeded = await write(service.url, [person('c')])
    expect(exceeded.status).to.equal(429)
    expect(exceeded.headers.get('ratelimit')).to.match(/^"platform-records";r=0/)
  })

  it('is described only where a key is registered', async () => {
    const { url } = running()
    const validate = responseValidator((await get(url + paths.openApi)).body)
    for (const answer of [await write(url, [person('o'), {}]), await post(url, '', 'x')])
      expect(validate(path, 'POST', answer)).to.deep.equal([])
    await using plain = await startService()
    expect((await write(plain.url, [])).status).to.equal(404)
    expect((await get(plain.url + paths.openApi)).body.paths).to.not.have.property(path)
  })

  it('may not be registered with a private or weak key', async () => {
    const text = readFileSync(join(configFolder, 'service.json'), 'utf8')
    const { x } = key.publicJwk
    for (const keys of [[{ ...key.publicJwk, d: x }], [{ kty: 'oct', k: x }], []]) {
      const { success } = servicePolicy.safeParse({ ...JSON.parse(text), platformKeys: { keys } })
      expect(success, JSON.stringify(keys)).to.equal(false)
    }
  })

  it('can be created by the program in the documentation', async () => {
    const file = join(temporaryFolder(), 'platform-key.pem')
    writeFileSync(file, await exportPKCS8(key.privateKey))
    const program = join(import.meta.dirname, '../examples/records/send.mjs')
    const env = { ISSUER: running().url, KEY_FILE: file, KEY_ID: key.kid }
    const { promise, resolve } = Promise.withResolvers<string>()
    const child = execFile(process.execPath, [program], { env }, (_error, stdout, stderr) =>
      resolve(stdout + stderr),
    )
    child.stdin?.end(linesOf([person('pat'), person('pat', { email: 'x' })]))
    expect(await promise).to.match(/^1: changed\n2: email: .+\n$/)
  })
})
