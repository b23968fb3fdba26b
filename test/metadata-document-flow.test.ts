import { createServer, type RequestListener } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

import * as oidc from 'openid-client'

import { makeDocumentReviews } from '../src/oauth/clients/document-review.ts'
import { paths } from '../src/platform/http/paths.ts'
import { askToAuthorize, exchange, introspect, userinfo } from './support/client.ts'
import { change, insert, rowOf } from './support/database.ts'
import {
  documentAnswer,
  guardedFetch,
  lookUpHere,
  startDocumentHost,
} from './support/document-host.ts'
import { marco, olivia, policyWith, sam, startService, startWith } from './support/gatehouse.ts'
import { follow } from './support/identity-provider.ts'
import { listen } from './support/listen.ts'
import { linkOf, makePagePerson } from './support/page-person.ts'
import { rejection } from './support/rejection.ts'
import { type Asking, getTokens, signIn } from './support/relying-party.ts'
import { forEachStorage, type Start } from './support/storages.ts'
import { expectAnswer, get, refusalOf } from './support/wire.ts'

const clientId = 'https://client.example/app/client.json'
const redirectUri = 'https://client.example/callback'
const local = 'http://127.0.0.1:4711/callback'
const document = { client_id: clientId, client_name: 'A client', redirect_uris: [redirectUri] }
const renamed = { ...document, client_name: 'Another client' }
const operator: Asking = { clientId, redirectUri, person: olivia }
const identity: Asking = { ...operator, scope: 'openid profile', resource: false, person: sam }
const read: Asking = { ...operator, scope: 'openid courses:read' }
const readAtKitchen: Asking = { ...read, person: marco }
const write: Asking = { ...operator, scope: 'openid courses:write' }
const asked = { redirect_uri: redirectUri, scope: 'openid', resource: undefined }
const inactive = { active: false }
const HOUR_MS = 3_600_000

type Setup = { readonly admits?: 'any' | 'none'; readonly begin?: Start }

describe('Client ID Metadata Documents', () => {
  /** Starts a service that admits documents from client.example or, with `admits`, from any host or none. */
  async function start({ admits, begin = startService }: Setup = {}) {
    const opening = new AsyncDisposableStack()
    const host = opening.use(await startDocumentHost())
    host.serve(document)
    const clock = { ms: Date.now() }
    const sources = admits === undefined ? ['client.example'] : []
    const service = opening.use(
      await begin({
        fetch: host.fetch,
        now: () => clock.ms,
        policy: policyWith({ metadataDocuments: { sources, openRegistration: admits === 'any' } }),
      }),
    )
    const { url, kysely } = service
    const reviews = makeDocumentReviews(service.service.stores.database)
    await insert(kysely, 'platform_reviewer', { person_id: 'per_olivia', granted_at: 1 })
    return {
      ...{ url, host, kysely, reviews },
      async review(review: 'approved' | 'blocked', at?: string) {
        const siteId = at ?? 'sit_northlight'
        const shown = await reviews.findDocumentClient(siteId, clientId)
        const { fingerprint = 'of nothing' } = shown ?? {}
        const actor = { personId: 'per_olivia', requestId: 'request', now: clock.ms }
        const verdict = { clientId, review, fingerprint, siteId, forAll: !at }
        return await reviews.reviewDocumentClient(verdict, actor)
      },
      list: async () =>
        await reviews.listDocumentClients('sit_northlight', { first: 10, after: undefined }),
      later(ms: number) {
        clock.ms += ms
      },
      /** Moves the clock an hour ahead, then serves another document or response. */
      serveLater(next: RequestListener | object) {
        clock.ms += HOUR_MS
        host.serve(next)
      },
      signIn: async (asking: Asking = identity) => await signIn(url, asking),
      getTokens: async (asking: Asking = identity) => await getTokens(url, asking),
      refused: async (asking: Asking = identity) => await refusal(getTokens(url, asking)),
      introspect: async (token: string) => (await introspect(url, token)).body,
      begin: async (client_id = clientId) => await askToAuthorize(url, { ...asked, client_id }),
      [Symbol.asyncDispose]: () => opening.disposeAsync(),
    }
  }

  // [Client registration 5.2]
  it('are neither advertised nor fetched unless a host is listed or registration is open', async () => {
    await using test = await start({ admits: 'none' })
    expect(await advertised(test.url)).to.deep.equal([undefined, undefined])
    expect(await test.refused()).to.include('invalid_client')
    expect(test.host.requests).to.deep.equal([])
  })

  // [Client ID Metadata Document §5; MCP Authorization §Overview; Discovery 7]
  // [Client ID Metadata Document §4; MCP Authorization §Client ID Metadata Documents]
  // [Client registration 5.1; Authentication 8]
  it('are advertised, and pass the whole flow with identity and read scopes (Authentication 8)', async () => {
    await using test = await start()
    expect(await advertised(test.url)).to.deep.equal([true, true])
    const scope = 'openid profile courses:read orders:read'
    const { tokens, configuration } = await test.getTokens({ ...operator, scope })
    expect(tokens.scope?.split(' ')).to.have.members(scope.split(' '))
    expect(tokens.claims()?.aud).to.equal(clientId)
    await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
    expect(test.host.requests).to.deep.equal(['client.example/app/client.json'])
  })

  // [Client registration 5.6; Client ID Metadata Document §6.3]
  it('may write only after an approval, until they change, and never get account scopes (Client registration 5)', async () => {
    await using test = await start()
    expect(await test.review('approved')).to.equal('unknown')
    for (const scope of ['openid courses:write', 'openid account:read', 'openid account:write'])
      expect(await test.refused({ ...operator, scope }), scope).to.include('invalid_scope')
    expect(await test.review('approved')).to.equal('done')
    const ofClient = { subject_kind: 'document_client', subject_id: clientId } as const
    expect(await rowOf(test.kysely, 'audit_event', ofClient)).to.include({
      ...{ action: 'document_client.approved', actor_person_id: 'per_olivia' },
      before: '{"review":"unreviewed"}',
    })
    expect((await test.getTokens(write)).tokens.scope).to.include('courses:write')
    const refused = await test.refused({ ...operator, scope: 'openid account:read' })
    expect(refused).to.include('invalid_scope')
    test.serveLater(renamed)
    expect(await test.refused(write)).to.include('invalid_scope')
    const [changed] = (await test.list()).rows
    expect(changed).to.include({ clientId, state: 'changed', name: 'Another client' })
    expect(changed?.decided?.by).to.match(/Olivia/)
  })

  it('lead a person from a tool address for changes to the approval, not back to the client with an error (design 38)', async () => {
    await using test = await start()
    const ask = async () =>
      await askToAuthorize(test.url, {
        ...{ client_id: clientId, redirect_uri: redirectUri, scope: 'courses:read courses:write' },
        resource: `${test.url}/mcp/admin/change/courses.students`,
      })
    const page = await ask()
    expectAnswer(page, 403, 'id="unapproved-client-page"', 'A client', 'error=invalid_scope')
    expect(page.text).to.include(`<code>${test.url}/mcp/admin</code>`)
    expect(page.headers.get('location')).to.equal(null)
    const [list = ''] = /(?<=<ul class="plain">).*?(?=<\/ul>)/s.exec(page.text) ?? []
    expect(list.match(/<li>/g)).to.have.length(2)
    const shown = await makePagePerson(test.url, olivia).visit(linkOf(page, 'approve'))
    expect(shown.text).to.include('id="review-page"').and.include(clientId)
    await test.review('approved')
    expect((await ask()).headers.get('location')).to.include('/interaction/')
  })

  // [Client ID Metadata Document §6.6; Client ID Metadata Document §6.1]
  it('may be up to 5 KB long', async () => {
    await using test = await start()
    const addresses = Array.from({ length: 19 }, (_, n) => `${redirectUri}/${'a'.repeat(217)}${n}`)
    const large = { ...document, redirect_uris: [redirectUri, ...addresses] }
    expect(JSON.stringify(large).length).to.be.within(4900, 5120)
    test.host.serve(large)
    await test.getTokens()
  })

  forEachStorage('that an operator reviewed [design 31]', (begin) => {
    const [here, elsewhere] = ['sit_northlight', 'sit_open_kitchen']

    it('lose everything at once when they are blocked, until an approval', async () => {
      await using test = await start({ begin })
      const { tokens, configuration } = await test.getTokens()
      expect((await userinfo(test.url, tokens.access_token)).status).to.equal(200)
      await test.review('blocked')
      expect((await userinfo(test.url, tokens.access_token)).status).to.equal(401)
      expect(await test.introspect(tokens.access_token)).to.deep.equal(inactive)
      const refresh = oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      expect(await refusal(refresh)).to.include('invalid_grant')
      expect(await test.refused()).to.include('invalid_client')
      test.later(48 * HOUR_MS)
      expect(await test.refused()).to.include('invalid_client')
      expect(test.host.requests).to.have.length(1)
      expect((await test.list()).rows[0]).to.include({ clientId, state: 'blocked' })
      await test.review('approved')
      await test.getTokens()
      expect((await test.getTokens(write)).tokens.scope).to.include('courses:write')
    })

    it('may write and are remembered only at the site that approved them (design 17)', async () => {
      await using test = await start({ begin })
      await test.getTokens()
      await test.review('approved', here)
      expect((await test.getTokens(write)).tokens.scope).to.include('courses:write')
      expect(await test.refused({ ...write, person: marco })).to.include('access_denied')
      const { tokens } = await test.getTokens(readAtKitchen)
      expect(await test.introspect(tokens.access_token)).to.include({ active: true })
      const found = await test.reviews.findDocumentClient(elsewhere, clientId)
      expect(found?.state).to.equal('unreviewed')
      expect(await nextStop(await test.signIn(read))).to.include('code=')
      expect(await nextStop(await test.signIn(readAtKitchen))).to.match(/\/consent$/)
    })

    it('are blocked only at the site that blocked them', async () => {
      await using test = await start({ begin })
      const ours = (await test.getTokens(read)).tokens.access_token
      const theirs = (await test.getTokens(readAtKitchen)).tokens.access_token
      await test.review('blocked', here)
      expect(await test.introspect(ours)).to.deep.equal(inactive)
      expect(await test.introspect(theirs)).to.include({ active: true })
      expect(await test.refused(read)).to.include('access_denied')
      // An approval for all sites does not lift a block by one site.
      await test.review('approved')
      expect(await test.introspect(ours)).to.deep.equal(inactive)
    })

    it('lose write scopes where another site has the approval', async () => {
      await using test = await start({ begin })
      await test.getTokens()
      await test.review('approved', here)
      const { tokens, configuration } = await test.getTokens(write)
      await change(test.kysely, 'document_site_review', {}, { site_id: elsewhere })
      expect(await test.introspect(tokens.access_token)).to.deep.equal(inactive)
      const again = oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      expect(await refusal(again)).to.include('invalid_grant')
    })

    it('lose write scopes at the next refresh where only another site approved a change', async () => {
      await using test = await start({ begin })
      await test.getTokens()
      await test.review('approved', here)
      const scope = 'openid courses:read courses:write'
      const { tokens, configuration } = await test.getTokens({ ...operator, scope })
      test.serveLater(renamed)
      await test.getTokens()
      await test.review('approved', elsewhere)
      const next = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')
      expect(next.scope).to.include('courses:read').and.not.include('courses:write')
    })
  })

  describe('and consent', () => {
    // [Client ID Metadata Document §6.4; MCP Authorization §Localhost Redirect URI Risks]
    it('is asked for each time on a loopback address, with a warning until a review (design 17) [RFC 8252 §8.6]', async () => {
      await using test = await start()
      test.host.serve({ ...document, redirect_uris: [redirectUri, local] })
      const { person, start: request } = await test.signIn({ ...identity, redirectUri: local })
      const before = await follow(person, request)
      const warning = ['role="note"', 'We have not checked this app.']
      const there = ['id="consent-page"', 'this computer (127.0.0.1)', 'client.example']
      expectAnswer(before, 200, ...there, ...warning)
      await test.review('approved')
      const after = await follow(person, request)
      const reviewed = 'An app of client.example, reviewed by an operator.'
      expectAnswer(after, 200, 'id="consent-page"', reviewed)
      expect(after.text).not.to.include('role="note"')
    })

    for (const [title, changed] of [
      ['name', renamed],
      ['redirect URI', { ...document, redirect_uris: [redirectUri, `${redirectUri}/second`] }],
    ] as const) {
      // [Client ID Metadata Document §6.3; threat 26]
      it(`is remembered after an approval, but not with another ${title} (design 17) [99]`, async () => {
        await using test = await start()
        await test.getTokens()
        await test.review('approved')
        const signedIn = await test.signIn()
        expect(await nextStop(signedIn)).to.include('code=')
        test.serveLater(changed)
        expect(await nextStop(signedIn)).to.match(/\/consent$/)
        await test.review('approved')
        expect(await nextStop(signedIn)).to.match(/\/consent$/)
        const renewed = await signedIn.person.authorize(signedIn.start, redirectUri)
        expect(renewed.searchParams.has('code')).to.equal(true)
        expect(await nextStop(signedIn)).to.include('code=')
      })
    }
  })

  describe('are fetched', () => {
    // [Client ID Metadata Document §4.4]
    it('once for concurrent authorizations, and again when the copy is older than their host allows', async () => {
      await using test = await start()
      test.host.serve(documentAnswer(document, { 'cache-control': 'max-age=7200' }))
      const answers = await Promise.all(Array.from({ length: 20 }, async () => await test.begin()))
      expect(answers.map(({ status }) => status)).to.deep.equal(Array(20).fill(303))
      expect(test.host.requests).to.have.length(1)
      test.later(1.9 * HOUR_MS)
      await test.begin()
      expect(test.host.requests).to.have.length(1)
      test.later(0.2 * HOUR_MS)
      await test.begin()
      expect(test.host.requests).to.have.length(2)
    })

    it('by the authorization endpoint only: token, introspection and UserInfo use the copy', async () => {
      await using test = await start({ admits: 'any' })
      const { exchange: redeem } = await test.signIn()
      test.host.serve(() => {})
      test.later(48 * HOUR_MS)
      const tokens = await redeem()
      expect((await userinfo(test.url, tokens.access_token)).status).to.equal(200)
      expect(await test.introspect(tokens.access_token)).to.include({ active: true })
      const client_id = 'https://other.example/client.json'
      expect(refusalOf(await exchange(test.url, 'a', { client_id }))).to.equal('400 invalid_client')
      expect(test.host.requests).to.have.length(1)
    })
  })

  // [Client ID Metadata Document §4; Client ID Metadata Document §4.3; Client ID Metadata Document §4.4]
  it('stay valid for a week while their host is down or sends errors or redirects, but not when they are gone or invalid', async () => {
    await using test = await start()
    await test.getTokens()
    const down: RequestListener = ({ socket }) => socket.destroy()
    for (const answer of [...[500, 503, 429, 403, 302].map(statusAnswer), down]) {
      test.serveLater(answer)
      await test.getTokens()
    }
    test.later(6 * 24 * HOUR_MS)
    await test.getTokens()
    const invalid = { ...document, redirect_uris: ['https://evil.example/'] }
    for (const answer of [statusAnswer(404), statusAnswer(410), invalid]) {
      test.serveLater(answer)
      expect(await test.refused()).to.include('invalid_client')
    }
    test.serveLater(document)
    await test.getTokens()
    test.serveLater(down)
    test.later(7 * 24 * HOUR_MS)
    expect(await test.refused()).to.include('invalid_client')
  })

  describe('of a hostile host [97]', () => {
    const json = { 'content-type': 'application/json' }
    const text = JSON.stringify(document)
    const gzip = { ...json, 'content-encoding': 'gzip' }
    const bomb = gzipSync(JSON.stringify({ ...document, filler: 'x'.repeat(5_000_000) }))
    const latin1 = Buffer.from(text.replace('A client', '\xe9'), 'latin1')
    const elsewhere = { location: 'https://other.example/client.json' }
    for (const [title, answer] of [
      ['that redirects', (_request, response) => response.writeHead(302, elsewhere).end()],
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
      ['that never answers', () => {}],
      ['that sends more than 5 KB', { ...document, filler: 'x'.repeat(5121) }],
      ['that sends a zip bomb', (_request, response) => response.writeHead(200, gzip).end(bomb)],
      ['that sends HTML', documentAnswer(document, { 'content-type': 'text/html' })],
      ['that sends bad UTF-8', (_request, response) => response.writeHead(200, json).end(latin1)],
    ] as [string, RequestListener | object][]) {
      // [Client ID Metadata Document §4; Client ID Metadata Document §4.3; Client ID Metadata
      // Document §6.6; MCP Authorization §Authorization Server Abuse Protection; 97]
      it(`${title} are refused in bounded time, with one request`, async function () {
        this.retries(2)
        await using test = await start()
        test.host.serve(answer)
        const startedAtMs = performance.now()
        for (let attempt = 0; attempt < 3; attempt += 1) {
          const refused = await test.begin()
          expect([refused.status, refused.headers.get('location')]).to.deep.equal([400, null])
          expect(refused.text).to.include('invalid_client')
        }
        expect(performance.now() - startedAtMs).to.be.below(4500)
        expect(test.host.requests).to.have.length(1)
        expect((await test.list()).rows).to.deep.equal([])
        test.later(11_000)
        test.host.serve(document)
        expect((await test.begin()).status).to.equal(303)
      })
    }

    // [MCP Authorization §Authorization Server Abuse Protection]
    it('are fetched 30 times a minute at most, besides those with grants [151]', async () => {
      await using test = await start({ admits: 'any' })
      await test.getTokens()
      test.later(48 * HOUR_MS)
      test.host.requests.length = 0
      const flood = async (path: string) => {
        for (let number = 0; number < 40; number += 1)
          expect((await test.begin(`https://client.example/${path}${number}`)).status).to.equal(400)
      }
      await flood('')
      expect(test.host.requests).to.have.length(30)
      expect((await test.begin()).status).to.equal(303)
      expect(test.host.requests).to.have.length(31)
      // The stored copy is now too old, so the request succeeds only if the service fetches a new one.
      test.later(8 * 24 * HOUR_MS)
      await flood('later/')
      expect((await test.begin()).status).to.equal(303)
    })
  })

  // [Client ID Metadata Document §6.5; MCP Authorization §Authorization Server Abuse Protection]
  // [class SSRF; threat 25]
  it('are never fetched from a loopback address, not even with a connection', async () => {
    const connections: unknown[] = []
    const inside = createServer(documentAnswer(document))
    inside.on('connection', (socket) => connections.push(socket))
    await using listening = await listen(inside)
    const { fetch, failures } = guardedFetch({ lookUp: lookUpHere, port: listening.port })
    const metadataDocuments = { sources: ['client.example'] }
    await using service = await startWith({ metadataDocuments }, { fetch })
    expect(await refusal(signIn(service.url, identity))).to.include('invalid_client')
    expect(connections).to.deep.equal([])
    expect(String(failures.at(-1))).to.include('or one that is not public')
  })
})

async function advertised(url: string): Promise<unknown[]> {
  const metadata = [paths.authorizationServer, paths.openidConfiguration]
  const answers = await Promise.all(metadata.map(async (path) => await get(url + path)))
  return answers.map(({ body }) => body.client_id_metadata_document_supported)
}

/** Repeats the authorization request of a sign-in in its browser. Returns the redirect target, or the page's text. */
async function nextStop({ person, start }: Awaited<ReturnType<typeof signIn>>): Promise<string> {
  const response = await person.open(start)
  return response.headers.get('location') ?? (await response.text())
}

function statusAnswer(status: number): RequestListener {
  return (_request, response) => response.writeHead(status).end()
}

async function refusal(work: Promise<unknown>): Promise<string> {
  const error = await rejection(work)
  return `${Reflect.get(error, 'error')} ${error}`
}
