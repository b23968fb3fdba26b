import { makePlatformCallbacks } from '../src/oauth/clients/platform-callbacks.ts'
import {
  FREE_SEGMENT,
  isRedirectPattern,
  matchesPattern,
} from '../src/platform/http/redirect-uri.ts'
import { cleanUpAt } from './support/clean-up.ts'
import { askToAuthorize, openAuthorization, register } from './support/client.ts'
import { withDatabases } from './support/database.ts'
import { defaultsInForce } from './support/figures.ts'
import { olivia, startService, startWith } from './support/gatehouse.ts'
import { follow } from './support/identity-provider.ts'
import { withoutLimits } from './support/limits.ts'
import { signIn } from './support/relying-party.ts'
import { fresh } from './support/shared.ts'
import { forEachStorage, sharedService } from './support/storages.ts'
import { expectAnswer, refusalOf } from './support/wire.ts'

const clientId = 'integration-chatgpt'
const base = 'https://chatgpt.com/connector/oauth/'
const pattern = `${base}${FREE_SEGMENT}`
const uri = `${base}FLLrQdlez6Uf`
const DAY_MS = 86_400_000
const NOW_MS = 1_800_000_000_000

describe('a callback pattern (design 6)', () => {
  for (const segment of ['FLLrQdlez6Uf', 'callback', '6MFBM1In3Ey-', '_', 'a'.repeat(128)]) {
    it(`admits ${segment.slice(0, 20)} as its free segment`, () => {
      expect(matchesPattern(base + segment, pattern)).to.equal(true)
    })
  }

  for (const address of [
    // Dot segments, encoded characters and further segments.
    ...[`${base}a/../../evil`, `${base}..`, `${base}.`, `${base}a.b`, `${base}%2e%2e`],
    ...[`${base}a%2f..%2fevil`, `${base}a%2Fb`, `${base}%61`, `${base}a\\b`, `${base}a/b`],
    // No segment, or text after the segment.
    ...[`${base}a/`, base, base.slice(0, -1), `${base}a?next=https://evil.example`],
    ...[`${base}a?`, `${base}a#b`, `${base}a#`],
    // Another host, or another spelling of the same host.
    ...[
      ...['https://chatgpt.com@evil.example', 'https://a:b@chatgpt.com', 'http://chatgpt.com'],
      ...['https://chatgpt.com:8443', 'https://chatgpt.com:443', 'https://CHATGPT.com'],
      ...['HTTPS://chatgpt.com', 'https://chatgpt.com.', 'https://evil.chatgpt.com'],
      'https://chatgpt.com.evil.example',
    ].map((origin) => `${origin}/connector/oauth/a`),
    'https://chatgpt.com/connector/oauth2/a',
    // Characters that a segment cannot have (the а of the last address is Cyrillic), and too long a segment.
    ...[pattern, `${base}*`, `${base}a b`, `${base}a\n`, `${base}\ta`, `${base}a\0`, `${base}аbc`],
    `${base}${'a'.repeat(129)}`,
  ])
    it(`does not admit ${JSON.stringify(address).slice(0, 80)} [92]`, () =>
      expect(matchesPattern(address, pattern)).to.equal(false))

  it('may have text after the segment', () => {
    const connections = 'https://app.example/connections'
    const inside = `${connections}/${FREE_SEGMENT}/callback`
    expect(isRedirectPattern(inside)).to.equal(true)
    expect(matchesPattern(`${connections}/a-1/callback`, inside)).to.equal(true)
    expect(matchesPattern(`${connections}/callback`, inside)).to.equal(false)
    expect(matchesPattern(`${connections}//callback`, inside)).to.equal(false)
    const app = `vscode://publisher.extension/callback/${FREE_SEGMENT}`
    expect(isRedirectPattern(app)).to.equal(true)
    expect(matchesPattern('vscode://publisher.extension/callback/a-1', app)).to.equal(true)
  })

  for (const bad of [
    ...['https://chatgpt.com/connector', 'https://{segment}/connector', '{segment}', ''],
    ...['https://{segment}.example/a', 'https://a.example/{segment}/{segment}'],
    ...['https://a.example/x{segment}', 'http://a.example/{segment}'],
    ...['https://a.example/%2e/{segment}', 'https://a.example/../{segment}'],
    ...['https://a.example/*/{segment}', 'https://a.example/{segment}?a=b'],
    ...['https://a.example/{segment}#b', 'https://u@a.example/{segment}'],
    ...['javascript://a/{segment}', 'vscode://A.b/{segment}?a=b'],
    ...['https://A.example/{segment}', 'https://a.example:443/{segment}'],
  ])
    it(`cannot be ${bad || 'empty'} in the configuration`, () =>
      expect(isRedirectPattern(bad)).to.equal(false))
})

withDatabases('callbacks admitted by a pattern', (open) => {
  const database = fresh(open)
  let nowMs = NOW_MS
  beforeEach(() => {
    nowMs = NOW_MS
  })

  const { integrations: configured, service } = defaultsInForce()
  const make = (max = 100, integrations = configured) =>
    makePlatformCallbacks({
      ...{ database: database(), integrations, now: () => nowMs },
      registration: { ...service.registration, callbacksPerPlatformMax: max },
    })
  const rows = async () =>
    await database().kysely.selectFrom('platform_callback').selectAll().orderBy('uri').execute()
  const uris = async () => (await rows()).map((row) => row.uri)

  it('expire a day after the registration if they are unused, and can be registered again', async () => {
    const callbacks = make()
    for (let day = 0; day < 2; day += 1) {
      await callbacks.keep(clientId, [uri])
      nowMs += DAY_MS - 1
      expect(await callbacks.admits(clientId, uri)).to.equal(true)
      expect(await callbacks.admits('integration-claude', uri), 'another client').to.equal(false)
      const without = configured.map((each) => ({ ...each, redirect_patterns: [] }))
      expect(await make(100, without).admits(clientId, uri)).to.equal(false)
    }
    nowMs += 1
    expect(await callbacks.admits(clientId, uri)).to.equal(false)
    await cleanUpAt(database(), nowMs)
    expect(await rows()).to.deep.equal([])
    await callbacks.keep(clientId, [uri])
    expect(await callbacks.admits(clientId, uri)).to.equal(true)
  })

  it('live 180 days from their last use, which is written once a day at most', async () => {
    const callbacks = make()
    await callbacks.keep(clientId, [uri])
    await callbacks.use(clientId, uri, 'per_sam')
    const [first] = await rows()
    expect(first).to.include({ used_at: NOW_MS, expires_at: NOW_MS + 180 * DAY_MS })
    nowMs += DAY_MS - 1
    await callbacks.use(clientId, uri, 'per_sam')
    expect(await rows()).to.deep.equal([first])
    nowMs += 1
    await callbacks.use(clientId, uri, 'per_sam')
    await callbacks.keep(clientId, [uri])
    expect((await rows())[0]).to.include({ used_at: nowMs, expires_at: nowMs + 180 * DAY_MS })
    nowMs += 180 * DAY_MS
    expect(await callbacks.admits(clientId, uri)).to.equal(false)
  })

  it('are limited per platform, and used ones outlast a flood of registrations [92]', async () => {
    const callbacks = make(500)
    await callbacks.keep(clientId, [uri])
    await callbacks.use(clientId, uri, 'per_sam')
    for (let batch = 0; batch < 1000; batch += 1) {
      nowMs += 1
      const some = Array.from({ length: 10 }, (_, n) => `${base}flood-${batch}-${n}`)
      expect(await callbacks.keep(clientId, some)).to.equal(true)
    }
    expect(await rows()).to.have.length(500)
    expect(await callbacks.admits(clientId, uri)).to.equal(true)
    expect(await callbacks.admits(clientId, `${base}flood-999-9`)).to.equal(true)
    expect(await callbacks.admits(clientId, `${base}flood-0-0`)).to.equal(false)
  })

  it('are replaced when one person has more than fifty, so that the person cannot lock out others [157]', async () => {
    const callbacks = make(60)
    await callbacks.keep(clientId, [uri])
    await callbacks.use(clientId, uri, 'per_olivia')
    for (let turn = 0; turn < 120; turn += 1) {
      nowMs += 1
      const own = `${base}own-${turn}`
      expect(await callbacks.keep(clientId, [own])).to.equal(true)
      await callbacks.use(clientId, own, 'per_sam')
      await callbacks.use(clientId, uri, 'per_sam')
    }
    const kept = await rows()
    expect(kept.filter(({ used_by }) => used_by === 'per_sam')).to.have.length(50)
    expect(kept.find((row) => row.uri === uri)?.used_by).to.equal('per_olivia')
    nowMs += 1
    for (const one of ['a', 'b', 'c'])
      expect(await callbacks.keep(clientId, [`${base}later-${one}`])).to.equal(true)
    expect(await callbacks.admits(clientId, uri)).to.equal(true)
    expect(await callbacks.admits(clientId, `${base}own-119`)).to.equal(true)
  })

  it('do not displace others when registered again after the maximum was lowered, or when all are in use', async () => {
    await make(2).keep(clientId, [`${base}a`, `${base}b`])
    nowMs += 1000
    expect(await make(1).keep(clientId, [`${base}a`, `${base}a`])).to.equal(true)
    expect(await uris()).to.deep.equal([`${base}a`, `${base}b`])
    const expiries = (await rows()).map((row) => row.expires_at - NOW_MS)
    expect(expiries).to.deep.equal([DAY_MS + 1000, DAY_MS])
    for (const one of ['a', 'b']) await make(2).use(clientId, base + one, `per_${one}`)
    expect(await make(2).keep(clientId, [`${base}c`])).to.equal(false)
    expect(await uris()).to.deep.equal([`${base}a`, `${base}b`])
  })
})

const registerUris = async (url: string, ...redirect_uris: string[]) =>
  await register(url, { client_name: 'ChatGPT', redirect_uris })

const asking = { clientId, redirectUri: uri, scope: 'openid courses:read', person: olivia } as const
const fields = { client_id: clientId, redirect_uri: uri, scope: 'openid courses:read' }

forEachStorage('a connector of ChatGPT', (start) => {
  it('signs in once it is registered, with consent each time (design 6 and 17)', async () => {
    await using service = await start()
    const { url } = service
    expectAnswer(await askToAuthorize(url, fields), 400, 'invalid_redirect_uri')
    expect((await registerUris(url, uri)).status).to.equal(201)

    const signedIn = await signIn(url, asking)
    expect((await signedIn.exchange()).access_token).to.be.a('string')
    const page = await follow(signedIn.person, signedIn.start)
    const warning = ['role="note"', 'Is this your own connection?']
    expectAnswer(page, 200, 'id="consent-page"', 'chatgpt.com', ...warning)
    const silent = await openAuthorization(signedIn.person, url, { ...fields, prompt: 'none' })
    expect(silent.href).to.include('error=consent_required')

    for (const redirect_uri of [`${uri}x`, uri.toLowerCase()]) {
      const other = await askToAuthorize(url, { ...fields, redirect_uri })
      expect(other.text).to.include('invalid_redirect_uri')
    }
  })
})

describe('a connector of ChatGPT', () => {
  const shared = sharedService({ policy: withoutLimits })

  it('does not inherit the consent of the stable callback', async () => {
    const { url } = shared()
    await registerUris(url, uri)
    const stable = 'https://chatgpt.com/connector_platform_oauth_redirect'
    const { person, start } = await signIn(url, { ...asking, redirectUri: stable })
    expect((await person.open(start)).headers.get('location')).to.include('code=')
    expect((await openAuthorization(person, url, fields)).pathname).to.match(/\/consent$/)
  })

  it('stays when a person authorized it, not when its page was only opened', async () => {
    const clock = { ms: Date.now() }
    await using service = await startService({ now: () => clock.ms })
    const unused = { ...fields, redirect_uri: `${base}unused` }
    await registerUris(service.url, uri, unused.redirect_uri)
    await askToAuthorize(service.url, unused)
    await signIn(service.url, asking)
    clock.ms += 2 * DAY_MS
    expect((await askToAuthorize(service.url, fields)).status).to.equal(303)
    expect((await askToAuthorize(service.url, unused)).text).to.include('invalid_redirect_uri')
  })

  it('is refused with 429 and Retry-After when the platform has its maximum', async () => {
    await using service = await startWith({ registration: { callbacksPerPlatformMax: 1 } })
    await registerUris(service.url, uri)
    await signIn(service.url, asking)
    const refused = await registerUris(service.url, `${base}another`)
    expect(refusalOf(refused)).to.equal('429 too_many_requests')
    expect(refused.headers.get('retry-after')).to.match(/^\d+$/)
    expect((await registerUris(service.url, uri)).status).to.equal(201)
    expect((await askToAuthorize(service.url, fields)).status).to.equal(303)
  })
})

it('a custom URI scheme of a platform completes the flow, with consent each time [RFC 8252 §8.6]', async () => {
  await using service = await startService()
  const { url } = service
  const redirectUri = 'cursor://anysphere.cursor-mcp/oauth/callback'
  const client_id = 'integration-cursor'
  const cursor = { ...asking, clientId: client_id, redirectUri }
  const signedIn = await signIn(url, cursor)
  expect((await signedIn.exchange()).access_token).to.be.a('string')
  const page = await follow(signedIn.person, signedIn.start)
  const said = ['an app on this device (cursor)', 'Any program can use this name.']
  expectAnswer(page, 200, 'id="consent-page"', ...said)
  for (const redirect_uri of [
    `${redirectUri}/`,
    'cursor://anysphere.cursor-mcp:1/oauth/callback',
    'cursor://somebody.else/oauth/callback',
    'CURSOR://anysphere.cursor-mcp/oauth/callback',
  ]) {
    const refused = await askToAuthorize(url, { ...fields, client_id, redirect_uri })
    expect(refused.text, redirect_uri).to.include('invalid_redirect_uri')
  }
})
