import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

import { expect } from 'chai'
import * as oidc from 'openid-client'

import { makeDocumentReviews } from '../src/oauth/clients/document-review.ts'
import { paths } from '../src/platform/http/paths.ts'
import { makeGuardedFetch } from '../src/platform/outgoing/guarded-fetch.ts'
import { authorizeUrl, introspect, userinfo } from './support/client.ts'
import { type DocumentHost, documentAnswer, startDocumentHost } from './support/document-host.ts'
import { marco, olivia, type RunningService, sam, startService } from './support/gatehouse.ts'
import { getTokens, signIn } from './support/relying-party.ts'
import { requireProgram } from './support/skipped.ts'
import { forEachStorage, type Start } from './support/storages.ts'

const clientId = 'https://client.example/app/client.json'
const redirectUri = 'https://client.example/callback'
const document = { client_id: clientId, client_name: 'A client', redirect_uris: [redirectUri] }
const identity = {
  clientId,
  redirectUri,
  scope: 'openid profile',
  resource: false,
  person: sam,
} as const
const operator = { clientId, redirectUri, person: olivia } as const
const HOUR_MS = 3_600_000

interface Setup {
  /** Admits documents of any host. */
  readonly open?: boolean
  /** Admits no documents. */
  readonly off?: boolean
  readonly begin?: Start
}

describe('Client ID Metadata Documents', () => {
  let openssl = ''
  before(function () {
    openssl = requireProgram(this, 'openssl')
  })

  /** A service that admits documents of client.example, and their host. */
  async function start(setup: Setup = {}) {
    const opening = new AsyncDisposableStack()
    const host = opening.use(await startDocumentHost(openssl))
    host.serve(document)
    const clock = { ms: Date.now() }
    const service = opening.use(
      await (setup.begin ?? startService)({
        fetch: host.fetch,
        now: () => clock.ms,
        policy: (policy) => ({
          ...policy,
          metadataDocuments: {
            hosts: setup.off || setup.open ? [] : ['client.example'],
            openRegistration: setup.open === true,
          },
        }),
      }),
    )
    const { kysely } = service.service.stores.database
    const owner = await kysely
      .selectFrom('person')
      .select('id')
      .where('email', '=', olivia.login)
      .executeTakeFirstOrThrow()
    const reviews = makeDocumentReviews(service.service.stores.database)
    await kysely
      .insertInto('platform_reviewer')
      .values({ person_id: owner.id, granted_at: 1 })
      .execute()
    const actor = () => ({ personId: owner.id, requestId: 'request', now: clock.ms })
    /** Decides about the document as it is now, for every site unless for one. */
    const review = async (decision: 'approved' | 'blocked', at?: string) => {
      const siteId = at ?? 'sit_northlight'
      const shown = await reviews.findDocumentClient(siteId, clientId)
      const { fingerprint = 'of nothing' } = shown ?? {}
      const verdict = { clientId, review: decision, fingerprint, siteId, forAll: at === undefined }
      return await reviews.reviewDocumentClient(verdict, actor())
    }
    return {
      service,
      host,
      reviews,
      review,
      actor,
      list: async () =>
        await reviews.listDocumentClients('sit_northlight', { first: 10, after: undefined }),
      ownerId: owner.id,
      later(ms: number) {
        clock.ms += ms
      },
      [Symbol.asyncDispose]: () => opening.disposeAsync(),
    }
  }

  // [Client registration 5.2]
  it('are neither advertised nor fetched unless a host is listed or registration is open', async () => {
    await using test = await start({ off: true })
    expect(await advertised(test.service)).to.deep.equal([undefined, undefined])
    expect(await refusal(signIn(test.service.url, identity))).to.include('invalid_client')
    expect(test.host.requests).to.deep.equal([])
  })

  // [Client ID Metadata Document §5; MCP Authorization §Overview; Discovery 7]
  it('are advertised in both discovery documents when a host is listed', async () => {
    await using test = await start()
    expect(await advertised(test.service)).to.deep.equal([true, true])
  })

  // [Client ID Metadata Document §4; MCP Authorization §Client ID Metadata Documents]
  // [Client registration 5.1; Authentication 8]
  it('make a client that goes through the whole flow with identity and read scopes (Authentication 8)', async () => {
    await using test = await start()
    const scope = 'openid profile courses:read orders:read'
    const { tokens, configuration } = await getTokens(test.service.url, { ...operator, scope })
    expect(tokens.scope?.split(' ')).to.have.members(scope.split(' '))
    expect(tokens.claims()?.aud).to.equal(clientId)
    await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
    expect(test.host.requests).to.deep.equal(['client.example/app/client.json'])
  })

  // [Client registration 5.6]
  it('are given invalid_scope for write and account scopes while nobody reviewed them (Client registration 5)', async () => {
    await using test = await start()
    for (const scope of ['openid courses:write', 'openid account:read', 'openid account:write']) {
      const { exchange } = await signIn(test.service.url, { ...operator, scope })
      expect(await refusal(exchange()), scope).to.include('invalid_scope')
    }
  })

  it('cannot say of themselves what only the service may say', async () => {
    await using test = await start()
    test.host.serve({
      ...document,
      scope: 'openid account:read courses:write',
      x_origin: 'integration',
      x_state: 'active',
      x_reviewed: true,
      x_site_id: 'sit_northlight',
      x_fingerprint: 'forged',
      application_type: 'native',
      token_endpoint_auth_method: 'none',
    })
    for (const scope of ['openid courses:write', 'openid account:read']) {
      const { exchange } = await signIn(test.service.url, { ...operator, scope })
      expect(await refusal(exchange()), scope).to.include('invalid_scope')
    }
  })

  // [Client ID Metadata Document §6.6]
  it('may be as large as 5 KB, most of it addresses', async () => {
    await using test = await start()
    const addresses = Array.from({ length: 19 }, (_, n) => `${redirectUri}/${'a'.repeat(217)}${n}`)
    const large = { ...document, redirect_uris: [redirectUri, ...addresses] }
    expect(JSON.stringify(large).length).to.be.within(4900, 5120)
    test.host.serve(large)
    expect((await getTokens(test.service.url, identity)).tokens.access_token).to.be.a('string')
  })

  it('may have loopback addresses, whose port varies', async () => {
    await using test = await start()
    test.host.serve({ ...document, redirect_uris: ['http://127.0.0.1/callback'] })
    const { tokens } = await getTokens(test.service.url, {
      ...identity,
      redirectUri: 'http://127.0.0.1:50123/callback',
    })
    expect(tokens.access_token).to.be.a('string')
  })

  // [Client ID Metadata Document §6.1]
  it('are rejected when their redirect addresses lie elsewhere', async () => {
    await using test = await start()
    test.host.serve({ ...document, redirect_uris: [redirectUri, 'https://evil.example/callback'] })
    const error = await refusal(
      signIn(test.service.url, { ...identity, redirectUri: 'https://evil.example/callback' }),
    )
    expect(error).to.include('invalid_redirect_uri')
  })

  // [Client registration 5.4]
  it('are rejected from a host that is not listed, without a request to it', async () => {
    await using test = await start()
    for (const other of [
      'https://other.example/app/client.json',
      'https://sub.client.example/app/client.json',
      'https://client.example:8443/app/client.json',
      'https://client.example/app/client.json?a=1',
      'http://client.example/app/client.json',
      'https://127.0.0.1/app/client.json',
    ]) {
      const asking = { ...identity, clientId: other }
      expect(await refusal(signIn(test.service.url, asking)), other).to.include('invalid_client')
    }
    expect(test.host.requests).to.deep.equal([])
  })

  it('are admitted from any host where registration is open', async () => {
    await using test = await start({ open: true })
    const other = 'https://other.example/client.json'
    const callback = 'https://other.example/callback'
    test.host.serve({ ...document, client_id: other, redirect_uris: [callback] })
    const asking = { ...identity, clientId: other, redirectUri: callback }
    expect((await getTokens(test.service.url, asking)).tokens.access_token).to.be.a('string')
  })

  forEachStorage('that are kept, reviewed and blocked', (begin) => {
    it('have the scopes of their review, and lose what they hold with it', async () => {
      await using test = await start({ begin })
      const { url } = test.service
      await getTokens(url, { ...operator, scope: 'openid courses:read' })
      await test.review('approved')
      test.later(HOUR_MS)
      const { tokens } = await getTokens(url, { ...operator, scope: 'openid courses:write' })
      expect((await introspect(url, tokens.access_token)).body).to.include({ active: true })
      await test.review('blocked')
      expect((await introspect(url, tokens.access_token)).body).to.deep.equal({ active: false })
      const { rows } = await test.list()
      expect(rows[0]).to.include({ clientId, state: 'blocked' })
      expect(test.host.requests).to.have.length(2)
    })
  })

  describe('reviewed by an operator', () => {
    it('may have write scopes at the next request, and never account scopes', async () => {
      await using test = await start()
      await getTokens(test.service.url, identity)
      const scope = 'openid courses:write'
      const before = await signIn(test.service.url, { ...operator, scope })
      expect(await refusal(before.exchange())).to.include('invalid_scope')
      expect(await test.review('approved')).to.equal('done')
      const { tokens } = await getTokens(test.service.url, { ...operator, scope })
      expect(tokens.scope).to.include('courses:write')
      const member = await signIn(test.service.url, { ...operator, scope: 'openid account:read' })
      expect(await refusal(member.exchange())).to.include('invalid_scope')
    })

    it('lose everything at once when they are blocked', async () => {
      await using test = await start()
      const { url } = test.service
      const { tokens, configuration } = await getTokens(url, identity)
      expect((await userinfo(url, tokens.access_token)).status).to.equal(200)
      await test.review('blocked')
      expect((await userinfo(url, tokens.access_token)).status).to.equal(401)
      expect((await introspect(url, tokens.access_token)).body).to.deep.equal({ active: false })
      const refresh = oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      expect(await refusal(refresh)).to.include('invalid_grant')
      expect(await refusal(signIn(url, identity))).to.include('invalid_client')
      test.later(48 * HOUR_MS)
      expect(await refusal(signIn(url, identity))).to.include('invalid_client')
      expect(test.host.requests).to.have.length(1)
      await test.review('approved')
      expect((await getTokens(url, identity)).tokens.access_token).to.be.a('string')
    })

    it('are listed with what was decided, by whom, and in the audit trail', async () => {
      await using test = await start()
      await getTokens(test.service.url, identity)
      expect((await test.list()).rows[0]).to.include({
        clientId,
        name: 'A client',
        state: 'unreviewed',
      })
      await test.review('approved')
      const page = await test.list()
      expect(page).to.include({ totalCount: 1, hasNextPage: false })
      expect(page.rows[0]).to.include({ state: 'approved' })
      expect(page.rows[0]?.decided?.by).to.match(/Olivia/)
      const [event] = await test.service.service.stores.database.kysely
        .selectFrom('audit_event')
        .selectAll()
        .where('subject_kind', '=', 'document_client')
        .where('subject_id', '=', clientId)
        .execute()
      expect(event).to.include({
        action: 'document_client.approved',
        actor_person_id: test.ownerId,
        before: '{"review":"unreviewed"}',
      })
    })

    // [Client ID Metadata Document §6.3]
    it('are unreviewed again when their name or redirect addresses change', async () => {
      await using test = await start()
      await getTokens(test.service.url, identity)
      await test.review('approved')
      test.host.serve({ ...document, client_name: 'Another client' })
      test.later(HOUR_MS)
      const { exchange } = await signIn(test.service.url, {
        ...operator,
        scope: 'openid courses:write',
      })
      expect(await refusal(exchange())).to.include('invalid_scope')
      const { rows } = await test.list()
      expect(rows[0]).to.include({ state: 'changed', name: 'Another client' })
    })

    it('cannot be reviewed before anybody used them', async () => {
      await using test = await start()
      expect(await test.review('approved')).to.equal('unknown')
    })
  })

  forEachStorage('that one site reviewed [design 31]', (begin) => {
    const [here, elsewhere] = ['sit_northlight', 'sit_open_kitchen']
    const write = 'openid courses:write'
    const atKitchen = { clientId, redirectUri, person: marco } as const

    it('may change something there and nowhere else', async () => {
      await using test = await start({ begin })
      const { url } = test.service
      await getTokens(url, identity)
      await test.review('approved', here)
      expect((await getTokens(url, { ...operator, scope: write })).tokens.scope).to.include(
        'courses:write',
      )
      const refused = await signIn(url, { ...atKitchen, scope: write })
      expect(await refusal(refused.exchange())).to.include('access_denied')
      const { tokens } = await getTokens(url, { ...atKitchen, scope: 'openid courses:read' })
      expect((await introspect(url, tokens.access_token)).body).to.include({ active: true })
      expect((await test.reviews.findDocumentClient(elsewhere, clientId))?.state).to.equal(
        'unreviewed',
      )
    })

    it('are remembered there only (design 17)', async () => {
      await using test = await start({ begin })
      const { url } = test.service
      await getTokens(url, identity)
      await test.review('approved', here)
      const remembered = async (asking: typeof operator | typeof atKitchen) => {
        const { person, start: request } = await signIn(url, {
          ...asking,
          scope: 'openid courses:read',
        })
        return (await nextStop(person, request)).includes('code=')
      }
      expect([await remembered(operator), await remembered(atKitchen)]).to.deep.equal([true, false])
    })

    it('are blocked there and live on elsewhere', async () => {
      await using test = await start({ begin })
      const { url } = test.service
      const scope = 'openid courses:read'
      const [ours, theirs] = [
        (await getTokens(url, { ...operator, scope })).tokens.access_token,
        (await getTokens(url, { ...atKitchen, scope })).tokens.access_token,
      ]
      await test.review('blocked', here)
      expect((await introspect(url, ours)).body).to.deep.equal({ active: false })
      expect((await introspect(url, theirs)).body).to.include({ active: true })
      const again = await signIn(url, { ...operator, scope })
      expect(await refusal(again.exchange())).to.include('access_denied')
      await test.review('approved')
      // The platform does not open what a site closed for itself.
      expect((await introspect(url, ours)).body).to.deep.equal({ active: false })
    })

    it('lose the scopes that change something where the approval is not theirs', async () => {
      await using test = await start({ begin })
      const { url } = test.service
      await getTokens(url, identity)
      await test.review('approved', here)
      const { tokens, configuration } = await getTokens(url, { ...operator, scope: write })
      const { kysely } = test.service.service.stores.database
      await kysely.updateTable('document_site_review').set({ site_id: elsewhere }).execute()
      expect((await introspect(url, tokens.access_token)).body).to.deep.equal({ active: false })
      const again = oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      expect(await refusal(again)).to.include('invalid_grant')
    })

    it('lose them at the next refresh where only another site approved what the document is now', async () => {
      await using test = await start({ begin })
      const { url } = test.service
      await getTokens(url, identity)
      await test.review('approved', here)
      const scope = 'openid courses:read courses:write'
      const { tokens, configuration } = await getTokens(url, { ...operator, scope })
      test.host.serve({ ...document, client_name: 'Another client' })
      test.later(HOUR_MS)
      await getTokens(url, identity)
      await test.review('approved', elsewhere)
      const next = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      expect(next.scope).to.include('courses:read').and.not.include('courses:write')
    })
  })

  describe('that change while their review is open [design 31]', () => {
    it('are not approved, and nothing is written', async () => {
      await using test = await start()
      await getTokens(test.service.url, identity)
      const shown = await test.reviews.findDocumentClient('sit_northlight', clientId)
      test.host.serve({ ...document, client_name: 'Another client' })
      test.later(HOUR_MS)
      await getTokens(test.service.url, identity)
      const { fingerprint = '' } = shown ?? {}
      for (const forAll of [true, false]) {
        const verdict = { clientId, fingerprint, siteId: 'sit_northlight', forAll } as const
        const reviewed = await test.reviews.reviewDocumentClient(
          { ...verdict, review: 'approved' },
          test.actor(),
        )
        expect(reviewed).to.equal('changed')
      }
      expect((await test.list()).rows[0]).to.include({ state: 'unreviewed' })
      const { exchange } = await signIn(test.service.url, {
        ...operator,
        scope: 'openid courses:write',
      })
      expect(await refusal(exchange())).to.include('invalid_scope')
    })

    it('are decided for every site by people with the role of the platform only', async () => {
      await using test = await start()
      await getTokens(test.service.url, identity)
      await test.service.service.stores.database.kysely.deleteFrom('platform_reviewer').execute()
      expect(await test.review('approved')).to.equal('forbidden')
      expect(await test.review('blocked')).to.equal('forbidden')
      expect((await test.list()).rows[0]).to.include({ state: 'unreviewed' })
    })
  })

  describe('and consent', () => {
    it('ask each time while nobody reviewed them (design 17)', async () => {
      await using test = await start()
      const { person, start: request } = await signIn(test.service.url, identity)
      expect(await nextStop(person, request)).to.match(/\/consent$/)
    })

    // [Client ID Metadata Document §6.4; MCP Authorization §Localhost Redirect URI Risks]
    it('show where they lead and who describes them, with a warning until they are reviewed (design 17)', async () => {
      await using test = await start()
      const local = 'http://127.0.0.1:4711/callback'
      test.host.serve({ ...document, redirect_uris: [local] })
      const asking = { ...identity, redirectUri: local }
      const { person, start: request } = await signIn(test.service.url, asking)
      const read = async () => {
        const location = new URL(await nextStop(person, request), test.service.url)
        return await (await person.open(location)).text()
      }
      const before = await read()
      expect(before).to.include('this computer (127.0.0.1)').and.include('client.example')
      expect(before).to.include('role="note"').and.include('describes itself')
      await test.review('approved')
      const after = await read()
      expect(after).to.include('An application of client.example, reviewed by an operator.')
      expect(after).not.to.include('role="note"')
    })

    it('are remembered when reviewed (design 17)', async () => {
      await using test = await start()
      await getTokens(test.service.url, identity)
      await test.review('approved')
      const { person, start: request } = await signIn(test.service.url, identity)
      expect(await nextStop(person, request)).to.match(
        /^https:\/\/client\.example\/callback\?code=/,
      )
    })

    it('ask each time on a loopback address, reviewed or not [RFC 8252 §8.6]', async () => {
      await using test = await start()
      const local = 'http://127.0.0.1:4711/callback'
      test.host.serve({ ...document, redirect_uris: [redirectUri, local] })
      await getTokens(test.service.url, identity)
      await test.review('approved')
      const asking = { ...identity, redirectUri: local }
      const { person, start: request } = await signIn(test.service.url, asking)
      expect(await nextStop(person, request)).to.match(/\/consent$/)
    })

    for (const [title, change] of [
      ['another name', { client_name: 'Another client' }],
      [
        'another redirect address',
        { redirect_uris: [redirectUri, 'https://client.example/second'] },
      ],
    ] as const) {
      // [Client ID Metadata Document §6.3; threat 26]
      it(`are not inherited by a document with ${title}, even after a new review [99]`, async () => {
        await using test = await start()
        await getTokens(test.service.url, identity)
        await test.review('approved')
        const { person, start: request } = await signIn(test.service.url, identity)
        expect(await nextStop(person, request)).to.include('code=')
        test.host.serve({ ...document, ...change })
        test.later(HOUR_MS)
        expect(await nextStop(person, request)).to.match(/\/consent$/)
        await test.review('approved')
        expect(await nextStop(person, request)).to.match(/\/consent$/)
        const renewed = await person.authorize(request, redirectUri)
        expect(renewed.searchParams.has('code')).to.equal(true)
        expect(await nextStop(person, request)).to.include('code=')
      })
    }
  })

  describe('are fetched', () => {
    // [Client ID Metadata Document §4.4]
    it('once, however many authorizations begin at the same time, and again when they are old', async () => {
      await using test = await start()
      const begin = () => fetch(authorizationRequest(test.service.url), { redirect: 'manual' })
      const answers = await Promise.all(Array.from({ length: 20 }, begin))
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(20).fill(303))
      expect(test.host.requests).to.have.length(1)
      test.later(59_000)
      await begin()
      expect(test.host.requests).to.have.length(1)
      test.later(2_000)
      await begin()
      expect(test.host.requests).to.have.length(2)
    })

    it('less often when their host allows it', async () => {
      await using test = await start()
      test.host.serve(documentAnswer(document, { 'cache-control': 'max-age=7200' }))
      await getTokens(test.service.url, identity)
      test.later(1.9 * HOUR_MS)
      await getTokens(test.service.url, identity)
      expect(test.host.requests).to.have.length(1)
    })

    it('by the authorization endpoint only: token, introspection and UserInfo use the copy', async function () {
      this.retries(2)
      await using test = await start()
      const { url } = test.service
      const { exchange } = await signIn(url, identity)
      test.host.serve(() => {
        // Never answers, so that whoever asked would wait.
      })
      test.later(48 * HOUR_MS)
      const startedAtMs = performance.now()
      const tokens = await exchange()
      expect((await userinfo(url, tokens.access_token)).status).to.equal(200)
      expect((await introspect(url, tokens.access_token)).body).to.include({ active: true })
      expect(performance.now() - startedAtMs).to.be.below(1500)
      expect(test.host.requests).to.have.length(1)
    })

    it('from nobody when an unknown address comes to the token endpoint', async () => {
      await using test = await start({ open: true })
      const response = await fetch(test.service.url + paths.token, {
        method: 'POST',
        body: new URLSearchParams({
          client_id: 'https://other.example/client.json',
          grant_type: 'authorization_code',
          code: 'a',
          redirect_uri: 'https://other.example/callback',
          code_verifier: 'a'.repeat(43),
        }),
      })
      expect(response.status).to.be.within(400, 401)
      expect(test.host.requests).to.deep.equal([])
    })
  })

  describe('whose host is down', () => {
    it('are used as they were for a week, and asked for again every ten seconds', async () => {
      await using test = await start()
      await getTokens(test.service.url, identity)
      test.host.goDown()
      test.later(48 * HOUR_MS)
      expect((await getTokens(test.service.url, identity)).tokens.access_token).to.be.a('string')
      test.later(6 * 24 * HOUR_MS)
      expect(await refusal(signIn(test.service.url, identity))).to.include('invalid_client')
    })

    // [Client ID Metadata Document §4.3; Client ID Metadata Document §4]
    it('are used as they were when it answers with an error or asks for a sign-in', async () => {
      await using test = await start()
      await getTokens(test.service.url, identity)
      for (const status of [500, 503, 429, 403, 302]) {
        test.later(HOUR_MS)
        test.host.serve((_request, response) => response.writeHead(status).end())
        const { tokens } = await getTokens(test.service.url, identity)
        expect(tokens.access_token, String(status)).to.be.a('string')
      }
    })

    // [Client ID Metadata Document §4.4]
    it('are rejected when it says that they are gone, or are no valid document any more', async () => {
      await using test = await start()
      await getTokens(test.service.url, identity)
      for (const status of [404, 410]) {
        test.later(HOUR_MS)
        test.host.serve((_request, response) => response.writeHead(status).end())
        expect(await refusal(signIn(test.service.url, identity))).to.include('invalid_client')
      }
      test.later(HOUR_MS)
      test.host.serve({ ...document, redirect_uris: ['https://evil.example/'] })
      expect(await refusal(signIn(test.service.url, identity))).to.include('invalid_client')
      test.later(HOUR_MS)
      test.host.serve(document)
      expect((await getTokens(test.service.url, identity)).tokens.access_token).to.be.a('string')
    })
  })

  describe('of a hostile host [97]', () => {
    const json = { 'content-type': 'application/json' }
    const text = JSON.stringify(document)
    const hostile: [string, Parameters<DocumentHost['serve']>[0]][] = [
      [
        'that redirects',
        (_request, response) =>
          response.writeHead(302, { location: 'https://other.example/client.json' }).end(),
      ],
      [
        'that sends one byte a second',
        async (_request, response) => {
          response.writeHead(200, json)
          for (const byte of text) {
            if (response.destroyed) return
            response.write(byte)
            await delay(1000)
          }
        },
      ],
      [
        'that never answers',
        () => {
          // The connection stays open.
        },
      ],
      ['that sends more than 5 KB', { ...document, filler: 'x'.repeat(5121) }],
      [
        'that sends a small archive of a large document',
        (_request, response) => {
          response.writeHead(200, { ...json, 'content-encoding': 'gzip' })
          response.end(gzipSync(JSON.stringify({ ...document, filler: 'x'.repeat(5_000_000) })))
        },
      ],
      ['that sends HTML', documentAnswer(document, { 'content-type': 'text/html' })],
      [
        'that sends no UTF-8',
        (_request, response) =>
          response
            .writeHead(200, json)
            .end(Buffer.from(text.replace('A client', '\xe9'), 'latin1')),
      ],
      ['that sends no JSON', (_request, response) => response.writeHead(200, json).end('{')],
      ['that answers for another client_id', { ...document, client_id: `${clientId}x` }],
      ['that sends a secret', { ...document, client_secret: 'secret' }],
    ]
    for (const [title, answer] of hostile) {
      // [Client ID Metadata Document §4; Client ID Metadata Document §4.3;
      // Client ID Metadata Document §6.6; MCP Authorization §Authorization Server Abuse Protection]
      // [97]
      it(`${title} are rejected in bounded time, and asked for once`, async function () {
        this.retries(2)
        await using test = await start()
        test.host.serve(answer)
        const startedAtMs = performance.now()
        for (let attempt = 0; attempt < 3; attempt += 1) {
          const response = await fetch(authorizationRequest(test.service.url), {
            redirect: 'manual',
            headers: { accept: 'text/html' },
          })
          const page = await response.text()
          expect([response.status, response.headers.get('location')]).to.deep.equal([400, null])
          expect(page).to.include('invalid_client')
        }
        expect(performance.now() - startedAtMs).to.be.below(4500)
        expect(test.host.requests).to.have.length(1)
        const { rows } = await test.list()
        expect(rows).to.deep.equal([])
        test.later(11_000)
        test.host.serve(document)
        expect((await getTokens(test.service.url, identity)).tokens.access_token).to.be.a('string')
      })
    }

    // [MCP Authorization §Authorization Server Abuse Protection]
    it('are asked for 30 times a minute at most, whatever addresses a stranger makes up', async () => {
      await using test = await start({ open: true })
      test.host.serve((_request, response) => response.writeHead(404).end())
      for (let number = 0; number < 40; number += 1) {
        const address = authorizationRequest(test.service.url)
        address.searchParams.set('client_id', `https://client.example/${number}`)
        expect((await fetch(address, { redirect: 'manual' })).status).to.equal(400)
      }
      expect(test.host.requests).to.have.length(30)
    })

    // [MCP Authorization §Authorization Server Abuse Protection]
    it('are asked for as ever where somebody allowed something, whatever addresses a stranger makes up [151]', async () => {
      await using test = await start({ open: true })
      await getTokens(test.service.url, identity)
      test.later(48 * HOUR_MS)
      test.host.requests.length = 0
      const begin = async (id: string) => {
        const address = authorizationRequest(test.service.url)
        address.searchParams.set('client_id', id)
        return (await fetch(address, { redirect: 'manual' })).status
      }
      for (let number = 0; number < 40; number += 1) {
        await begin(`https://client.example/${number}`)
      }
      expect(test.host.requests).to.have.length(30)
      expect(await begin(clientId)).to.equal(303)
      expect(test.host.requests).to.have.length(31)
      // Once it is too old to stand in, only a new one keeps people from being turned away.
      test.later(8 * 24 * HOUR_MS)
      for (let number = 0; number < 40; number += 1) {
        await begin(`https://client.example/later/${number}`)
      }
      expect(await begin(clientId)).to.equal(303)
    })
  })

  // [Client ID Metadata Document §6.5; MCP Authorization §Authorization Server Abuse Protection]
  // [class SSRF; threat 25]
  it('are never fetched from a loopback address, and nobody connects to one', async () => {
    let requests = 0
    let connections = 0
    await using opening = new AsyncDisposableStack()
    const inside = createServer((_request, response) => {
      requests += 1
      response.setHeader('content-type', 'application/json').end(JSON.stringify(document))
    })
    inside.on('connection', () => {
      connections += 1
    })
    await new Promise<void>((resolve) => inside.listen(0, '127.0.0.1', resolve))
    opening.defer(() => {
      inside.close()
      inside.closeAllConnections()
    })
    const address = inside.address()
    const port = typeof address === 'object' ? address?.port : undefined
    let failure: unknown
    const guarded = makeGuardedFetch({
      lookUp: async () => [{ address: '127.0.0.1', family: 4 }],
      port: Number(port),
    })
    await using service = await startService({
      policy: (policy) => ({
        ...policy,
        metadataDocuments: { hosts: ['client.example'], openRegistration: false },
      }),
      // As if the name resolved to this machine; everything else is as it is.
      fetch: async (input, init) => {
        try {
          return await guarded(input, init)
        } catch (error) {
          failure = error
          throw error
        }
      },
    })
    expect(await refusal(signIn(service.url, identity))).to.include('invalid_client')
    expect(requests).to.equal(0)
    expect(connections).to.equal(0)
    expect(String(failure)).to.include('outside the public network')
  })
})

async function advertised({ url }: RunningService): Promise<unknown[]> {
  const read = async (path: string) => (await (await fetch(url + path)).json()) as object
  const documents = await Promise.all(
    [paths.authorizationServer, paths.openidConfiguration].map(read),
  )
  return documents.map((each) => Reflect.get(each, 'client_id_metadata_document_supported'))
}

/** The authorization request of a browser that nobody is signed in with. */
function authorizationRequest(url: string): URL {
  const fields = { client_id: clientId, redirect_uri: redirectUri, scope: 'openid' }
  return authorizeUrl(url, { ...fields, resource: undefined, state: undefined })
}

/** Where the same person's browser is sent when the request is opened again. */
async function nextStop(
  person: Awaited<ReturnType<typeof signIn>>['person'],
  request: URL,
): Promise<string> {
  const response = await person.open(request)
  return response.headers.get('location') ?? (await response.text())
}

/** Name and words of what was refused, by a page or by an OAuth error. */
async function refusal(work: Promise<unknown>): Promise<string> {
  return await work.then(
    () => 'nothing was refused',
    (error: unknown) => {
      const code: unknown = Reflect.get(Object(error), 'error')
      return `${typeof code === 'string' ? code : ''} ${String(error)}`
    },
  )
}
