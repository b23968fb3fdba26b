import { expect } from 'chai'

import { makePlatformCallbacks } from '../src/oauth/clients/platform-callbacks.ts'
import { paths } from '../src/platform/http/paths.ts'
import {
  FREE_SEGMENT,
  isRedirectPattern,
  matchesPattern,
} from '../src/platform/http/redirect-uri.ts'
import type { Database } from '../src/platform/store/database.ts'
import { cleanUpAt } from './support/clean-up.ts'
import { askToAuthorize, authorizeUrl } from './support/client.ts'
import { withDatabases } from './support/database.ts'
import { olivia, startService } from './support/gatehouse.ts'
import { signIn } from './support/relying-party.ts'
import { forEachStorage } from './support/storages.ts'

const clientId = 'integration-chatgpt'
const base = 'https://chatgpt.com/connector/oauth/'
const pattern = `${base}${FREE_SEGMENT}`
const uri = `${base}FLLrQdlez6Uf`
const DAY_MS = 86_400_000
const NOW_MS = 1_800_000_000_000

/** Addresses that a careless comparison takes for one of the pattern. */
const hostile: [title: string, uri: string][] = [
  ['dot segments', `${base}a/../../evil`],
  ['one dot segment', `${base}..`],
  ['a dot', `${base}.`],
  ['a dot in the segment', `${base}a.b`],
  ['encoded dots', `${base}%2e%2e`],
  ['an encoded slash', `${base}a%2f..%2fevil`],
  ['an encoded slash in upper case', `${base}a%2Fb`],
  ['an encoded letter', `${base}%61`],
  ['a backslash', `${base}a\\b`],
  ['two segments', `${base}a/b`],
  ['a slash behind', `${base}a/`],
  ['no segment', base],
  ['no segment and no slash', base.slice(0, -1)],
  ['a query', `${base}a?next=https://evil.example`],
  ['an empty query', `${base}a?`],
  ['a fragment', `${base}a#b`],
  ['an empty fragment', `${base}a#`],
  ['userinfo', 'https://chatgpt.com@evil.example/connector/oauth/a'],
  ['userinfo of the host itself', 'https://a:b@chatgpt.com/connector/oauth/a'],
  ['a port', 'https://chatgpt.com:8443/connector/oauth/a'],
  ['the default port', 'https://chatgpt.com:443/connector/oauth/a'],
  ['an upper-case host', 'https://CHATGPT.com/connector/oauth/a'],
  ['an upper-case scheme', 'HTTPS://chatgpt.com/connector/oauth/a'],
  ['http', 'http://chatgpt.com/connector/oauth/a'],
  ['a dot behind the host', 'https://chatgpt.com./connector/oauth/a'],
  ['a subdomain', 'https://evil.chatgpt.com/connector/oauth/a'],
  ['a longer host', 'https://chatgpt.com.evil.example/connector/oauth/a'],
  ['another path', 'https://chatgpt.com/connector/oauth2/a'],
  ['the pattern itself', pattern],
  ['a star', `${base}*`],
  ['a space', `${base}a b`],
  ['a line break', `${base}a\n`],
  ['a tab', `${base}\ta`],
  ['a NUL', `${base}a\0`],
  ['a letter of another alphabet', `${base}аbc`],
  ['an overlong segment', `${base}${'a'.repeat(129)}`],
]

describe('a callback pattern (design 6)', () => {
  for (const segment of ['FLLrQdlez6Uf', 'callback', '6MFBM1In3Ey-', '_', 'a'.repeat(128)]) {
    it(`admits ${segment.slice(0, 20)} as its free segment`, () => {
      expect(matchesPattern(base + segment, pattern)).to.equal(true)
    })
  }
  for (const [title, address] of hostile) {
    it(`does not admit ${title} [92]`, () => {
      expect(matchesPattern(address, pattern)).to.equal(false)
    })
  }

  it('may have text behind the segment', () => {
    const inside = `https://app.example/connections/${FREE_SEGMENT}/callback`
    expect(isRedirectPattern(inside)).to.equal(true)
    expect(matchesPattern('https://app.example/connections/a-1/callback', inside)).to.equal(true)
    expect(matchesPattern('https://app.example/connections/callback', inside)).to.equal(false)
    expect(matchesPattern('https://app.example/connections//callback', inside)).to.equal(false)
  })

  for (const bad of [
    ...[
      'https://chatgpt.com/connector',
      'https://{segment}/connector',
      'https://{segment}.example/a',
    ],
    ...[
      'https://a.example/{segment}/{segment}',
      'https://a.example/x{segment}',
      'http://a.example/{segment}',
    ],
    ...[
      'https://a.example/%2e/{segment}',
      'https://a.example/../{segment}',
      'https://a.example/*/{segment}',
    ],
    ...[
      'https://a.example/{segment}?a=b',
      'https://a.example/{segment}#b',
      'https://u@a.example/{segment}',
    ],
    ...['https://A.example/{segment}', 'https://a.example:443/{segment}', '{segment}', ''],
  ]) {
    it(`cannot be ${bad || 'empty'} in the configuration`, () => {
      expect(isRedirectPattern(bad)).to.equal(false)
    })
  }
})

withDatabases('callbacks that a pattern admitted', (open) => {
  let database: Database
  let nowMs = NOW_MS
  beforeEach(async () => {
    database = await open()
    nowMs = NOW_MS
  })
  afterEach(async () => await database[Symbol.asyncDispose]())

  const make = (max = 100, patterns = [pattern]) =>
    makePlatformCallbacks({
      database,
      integrations: [
        {
          ...{ client_id: clientId, client_name: 'ChatGPT', other_names: [] },
          ...{ redirect_uris: ['https://chatgpt.com/fixed'], redirect_patterns: patterns },
          token_endpoint_auth_method: 'none',
        },
      ],
      registration: {
        callbacksPerPlatformMax: max,
        unusedCallbackSeconds: 86_400,
        idleCallbackSeconds: 180 * 86_400,
      },
      now: () => nowMs,
    })
  const rows = async () =>
    await database.kysely.selectFrom('platform_callback').selectAll().orderBy('uri').execute()

  it('are admitted letter by letter, and none that was not registered', async () => {
    const callbacks = make()
    expect(await callbacks.admits(clientId, uri)).to.equal(false)
    expect(await callbacks.keep(clientId, [uri])).to.equal(true)
    expect(await callbacks.admits(clientId, uri)).to.equal(true)
    expect(await callbacks.admits(clientId, uri.toLowerCase())).to.equal(false)
    expect(await callbacks.admits('integration-claude', uri)).to.equal(false)
  })

  it('are no more when the configuration takes the pattern back', async () => {
    await make().keep(clientId, [uri])
    expect(await make(100, []).admits(clientId, uri)).to.equal(false)
  })

  it('are forgotten a day after the registration when nobody used them, and registered anew', async () => {
    const callbacks = make()
    await callbacks.keep(clientId, [uri])
    nowMs += DAY_MS - 1
    expect(await callbacks.admits(clientId, uri)).to.equal(true)
    await callbacks.keep(clientId, [uri])
    nowMs += DAY_MS - 1
    expect(await callbacks.admits(clientId, uri)).to.equal(true)
    nowMs += 1
    expect(await callbacks.admits(clientId, uri)).to.equal(false)
    await cleanUpAt(database, nowMs)
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
    expect((await rows())[0]).to.include({ used_at: nowMs, expires_at: nowMs + 180 * DAY_MS })
    await callbacks.keep(clientId, [uri])
    expect((await rows())[0]).to.include({ expires_at: nowMs + 180 * DAY_MS })
    nowMs += 180 * DAY_MS
    expect(await callbacks.admits(clientId, uri)).to.equal(false)
  })

  it('are as many as they may be after ten thousand registrations, and those in use stay [92]', async () => {
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

  it('give way beyond fifty that one person used, so that nobody keeps a platform from all others [157]', async () => {
    const callbacks = make(60)
    await callbacks.keep(clientId, [uri])
    await callbacks.use(clientId, uri, 'per_olivia')
    for (let turn = 0; turn < 120; turn += 1) {
      nowMs += 1
      const own = `${base}own-${turn}`
      expect(await callbacks.keep(clientId, [own])).to.equal(true)
      await callbacks.use(clientId, own, 'per_sam')
      // Not even what somebody else used becomes theirs.
      await callbacks.use(clientId, uri, 'per_sam')
    }
    expect((await rows()).filter(({ used_by }) => used_by === 'per_sam')).to.have.length(50)
    expect((await rows()).find((row) => row.uri === uri)?.used_by).to.equal('per_olivia')
    nowMs += 1
    for (const one of ['a', 'b', 'c']) {
      expect(await callbacks.keep(clientId, [`${base}later-${one}`])).to.equal(true)
    }
    expect(await callbacks.admits(clientId, uri)).to.equal(true)
    expect(await callbacks.admits(clientId, `${base}own-119`)).to.equal(true)
  })

  it('are refused beyond that when all of them are in use', async () => {
    const callbacks = make(2)
    for (const segment of ['a', 'b']) {
      await callbacks.keep(clientId, [base + segment])
      await callbacks.use(clientId, base + segment, `per_${segment}`)
    }
    expect(await callbacks.keep(clientId, [`${base}c`])).to.equal(false)
    expect((await rows()).map((row) => row.uri)).to.deep.equal([`${base}a`, `${base}b`])
    expect(await callbacks.keep(clientId, [`${base}a`])).to.equal(true)
  })

  it('are registered again without displacing others after the maximum was lowered', async () => {
    await make(2).keep(clientId, [`${base}a`, `${base}b`])
    nowMs += 1000
    expect(await make(1).keep(clientId, [`${base}a`, `${base}a`])).to.equal(true)
    expect((await rows()).map((row) => row.uri)).to.deep.equal([`${base}a`, `${base}b`])
    expect((await rows()).map((row) => row.expires_at - NOW_MS)).to.deep.equal([
      DAY_MS + 1000,
      DAY_MS,
    ])
  })
})

const register = async (url: string, redirect_uris: readonly string[]) => {
  const response = await fetch(url + paths.registration, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ client_name: 'ChatGPT', redirect_uris }),
  })
  return { status: response.status, headers: response.headers, body: await response.json() }
}

const asking = { clientId, redirectUri: uri, scope: 'openid courses:read', person: olivia } as const
const fields = { client_id: clientId, redirect_uri: uri, scope: 'openid courses:read' }

forEachStorage('a connector of ChatGPT', (start) => {
  it('signs in when it is registered, and is asked for consent each time (design 6 and 17)', async () => {
    await using service = await start()
    const before = await askToAuthorize(service.url, fields)
    expect(before.status).to.equal(400)
    expect(before.text).to.include('invalid_redirect_uri')
    expect((await register(service.url, [uri])).status).to.equal(201)

    const { person, start: request, exchange } = await signIn(service.url, asking)
    expect((await exchange()).access_token).to.be.a('string')
    const again = await person.open(request)
    expect(again.headers.get('location')).to.match(/\/consent$/)
    const page = await (
      await person.open(new URL(again.headers.get('location') ?? '', service.url))
    ).text()
    expect(page).to.include('role="note"').and.include('Is this your own connection?')
    expect(page).to.include('chatgpt.com')
    const silent = await person.open(authorizeUrl(service.url, { ...fields, prompt: 'none' }))
    expect(silent.headers.get('location')).to.include('error=consent_required')

    const other = await askToAuthorize(service.url, { ...fields, redirect_uri: `${uri}x` })
    expect(other.text).to.include('invalid_redirect_uri')
  })
})

describe('a connector of ChatGPT', () => {
  it('does not keep the consent that was given at the stable callback', async () => {
    await using service = await startService()
    await register(service.url, [uri])
    const stable = 'https://chatgpt.com/connector_platform_oauth_redirect'
    const { person, start } = await signIn(service.url, { ...asking, redirectUri: stable })
    expect((await person.open(start)).headers.get('location')).to.include('code=')
    const beside = await person.open(authorizeUrl(service.url, fields))
    expect(beside.headers.get('location')).to.match(/\/consent$/)
  })

  it('lives on when somebody allowed it something, and a look at its page is no use', async () => {
    const clock = { ms: Date.now() }
    await using service = await startService({ now: () => clock.ms })
    await register(service.url, [uri, `${base}unused`])
    await askToAuthorize(service.url, { ...fields, redirect_uri: `${base}unused` })
    await signIn(service.url, asking)
    clock.ms += 2 * DAY_MS
    expect((await askToAuthorize(service.url, fields)).status).to.equal(303)
    const unused = await askToAuthorize(service.url, { ...fields, redirect_uri: `${base}unused` })
    expect(unused.text).to.include('invalid_redirect_uri')
  })

  it('is answered 429 with Retry-After when the platform has all that it may have', async () => {
    await using service = await startService({
      policy: (policy) => ({
        ...policy,
        registration: { ...policy.registration, callbacksPerPlatformMax: 1 },
      }),
    })
    await register(service.url, [uri])
    await signIn(service.url, asking)
    const { status, headers, body } = await register(service.url, [`${base}another`])
    expect([status, Reflect.get(Object(body), 'error')]).to.deep.equal([429, 'too_many_requests'])
    expect(headers.get('retry-after')).to.match(/^\d+$/)
  })

  for (const [title, address] of hostile) {
    it(`is not registered with ${title} [92]`, async () => {
      const { status, body } = await register(hostileService.url, [address])
      expect([status, Reflect.get(Object(body), 'error')]).to.deep.equal([
        400,
        'invalid_redirect_uri',
      ])
    })
  }
  let hostileService: Awaited<ReturnType<typeof startService>>
  before(async () => {
    hostileService = await startService()
  })
  after(async () => await hostileService[Symbol.asyncDispose]())
})

describe("an app's own scheme of a platform", () => {
  it('goes through the whole flow, and is asked for consent each time [RFC 8252 §8.6]', async () => {
    await using service = await startService()
    const cursor = {
      client_id: 'integration-cursor',
      redirect_uri: 'cursor://anysphere.cursor-mcp/oauth/callback',
      scope: 'openid courses:read',
    }
    const { person, start, exchange } = await signIn(service.url, {
      ...asking,
      clientId: cursor.client_id,
      redirectUri: cursor.redirect_uri,
    })
    expect((await exchange()).access_token).to.be.a('string')
    const again = await person.open(start)
    const page = await person.open(new URL(again.headers.get('location') ?? '', service.url))
    const text = await page.text()
    expect(text).to.include('an app on this device (cursor)').and.include('any\nprogram can use')
    expect(page.headers.get('content-security-policy')).to.include("form-action 'self' cursor:;")
    for (const redirect_uri of [
      'cursor://anysphere.cursor-mcp/oauth/callback/',
      'cursor://anysphere.cursor-mcp:1/oauth/callback',
      'cursor://somebody.else/oauth/callback',
      'CURSOR://anysphere.cursor-mcp/oauth/callback',
    ]) {
      const { text: refusal } = await askToAuthorize(service.url, { ...cursor, redirect_uri })
      expect(refusal, redirect_uri).to.include('invalid_redirect_uri')
    }
  })
})
