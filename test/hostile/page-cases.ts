import { setTimeout as delay } from 'node:timers/promises'

import { paths } from '../../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { asClaude, authorizeUrl } from '../support/client.ts'
import { editList, rowsOf } from '../support/database.ts'
import { june, noor, notes, portal } from '../support/gatehouse.ts'
import { hiddenField, makePagePerson, submitPage, targetOf } from '../support/page-person.ts'
import { eventually } from '../support/programs.ts'
import { answerOf, encode, postForm, send } from '../support/wire.ts'
import { answered, numbered, type Row, row, tableOf } from './case.ts'
import type { World } from './world.ts'

const application = '/admin/northlight/applications/northlight-portal'
const evil = { name: 'Evil', redirect_uris: 'https://evil.example/', auth_method: 'none' }
const document = { client_id: 'https://claude.ai/client.json' }
type Strings = Record<string, string>
type TokenOf = (world: World) => Promise<Strings>

/** Forms that change something. An attacker makes an operator's browser submit them. */
const forms: readonly (readonly [what: string, path: string, fields?: Strings])[] = [
  ['creating an application', '/admin/northlight/applications', { ...evil, scope: 'account:read' }],
  ['deleting an application', `${application}/delete`],
  ['disabling an application', `${application}/disable`],
  ['creating a secret', `${application}/secrets`],
  ['ending all grants', `${application}/people/end-all`],
  ['registering a resource server', '/admin/northlight/resource-servers', { name: 'Evil' }],
  ['disabling MCP connections', '/admin/northlight/beta/off'],
  ['approving a document', '/admin/northlight/self-declared-clients/approved', document],
  ['removing an app', '/account/apps/remove', { client: notes.clientId }],
  ['signing out everywhere', '/account/sign-out-everywhere'],
  ['signing out', '/sign-out'],
  ['removing a person', '/admin/northlight/people/per_noor/remove'],
]

const foreignPage = { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' }

/** Ways to forge a form (RFC 9700 §4.7, CVE-2024-28197), each with the token and headers that it sends. */
const ways: readonly (readonly [what: string, TokenOf, headers?: Strings])[] = [
  ['without a token', async () => ({})],
  ['with an empty token', async () => ({ csrf: '' })],
  ['with the token of another person', async (world) => ({ csrf: (await member(world)).csrf })],
  ['from a foreign page', async (world) => ({ csrf: (await operator(world)).csrf }), foreignPage],
]

const operator = async (world: World) => await world.browser('operator')
const member = async (world: World) => await world.browser('member')

const formRows = forms.flatMap(([what, path, fields], at) =>
  numbered(
    { first: 3000 + 10 * at, attack: (how) => [`form ${how}`, what] },
    answered('page 403 invalid_request; nothing is changed', ways),
    async (world, [tokenOf, headers = {}]) => {
      const body = encode({ ...fields, ...(await tokenOf(world)) })
      return await (await operator(world)).open(path, { method: 'POST', body, headers })
    },
  ),
)

/** Pages of a site that only its operators may open (CVE-2025-64431, CVE-2026-33132). */
const places = [
  ...['', '/applications', '/applications/northlight-portal'],
  ...['/applications/northlight-portal/people', '/audit', '/beta', '/resource-servers'],
  ...['/assistants', '/queries', '/self-declared-clients', '/overview', '/overview/download'],
  ...['/audit/download/csv', '/people', '/people/per_noor', '/appearance', '/webhooks'],
  '/resource-servers/demo-resource-server',
]

const placeRows = places.flatMap((place, at): Row[] => [
  [
    3200 + 2 * at,
    ['page of a site, opened by a member', `/admin/:site${place}`],
    'page 403 forbidden',
    async (world) => await (await member(world)).open(`/admin/northlight${place}`),
  ],
  [
    3201 + 2 * at,
    ['page of a site, opened by the operator of another', `/admin/:site${place}`],
    'page 403 forbidden',
    async (world) => {
      const theirs = place.replace('northlight-portal', 'kitchen-notes')
      return await (await operator(world)).open(`/admin/open-kitchen${theirs}`)
    },
  ],
])

const notFound = 'page 404 not_found'
const invalidRequest = 'page 400 invalid_request'
const toSignIn = 'to /oauth/authorize'

const markup = `/signed-in?error=${encodeURIComponent('<script>alert(1)</script>')}`
const unasked = '/signed-in?code=x&state=x'
const forgedSignIn = { Cookie: `gatehouse_sign_in=${'A'.repeat(80)}` }
const withReturnUrls = '/account?returnTo=https://evil.example/&next=//evil.example'
const foreign = 'https://evil.example'
const repeatState: Change = (it) => it.append('state', it.get('state') ?? '')
const fromEvil = { Referer: 'https://evil.example/' }
const cookie = 'gatehouse_pages=x'
const forgedCookie = `${cookie}; gatehouse_pages.sig=x`
const inherited = ['/admin/__proto__', '/admin/constructor/applications']
const twoSlashes = ['//evil.example/account', '/%2fevil.example/account', '/\\evil.example/account']
const outOfFolder = ['..%2f..%2f', 'queries/..%2f..%2f', '%2e%2e/%2e%2e/']
const outOfAssets = outOfFolder.map((path) => `/assets/${path}package.json`)
const forgedFiles = ['/files/x/a.pdf', '/files/__proto__/..%2fa.pdf']
const ofNotes = 'https://notes.example/signed-out'

/** Requests that must neither redirect to another origin nor sign a browser in (CVE-2024-39694, CVE-2025-8129). */
const passages: readonly Row[] = [
  comesBack([3302, 'with another state (login CSRF)'], 'to /account', (it) => it.set('state', 'x')),
  comesBack([3303, 'without state'], 'to /account', (it) => it.delete('state')),
  comesBack([3304, 'with state twice'], invalidRequest, repeatState),
  comesBack([3305, 'of another issuer (mix-up)'], invalidRequest, (it) => it.set('iss', foreign)),
  comesBack([3306, 'without issuer'], invalidRequest, (it) => it.delete('iss')),
  row(3307, 'sign-in response with a code of another client', invalidRequest, async (world) => {
    const { code = '' } = (await world.code()) as { code?: string }
    return await world.comeBack((answer) => answer.set('code', code))
  }),
  row(3323, 'page with a path longer than a cookie', toSignIn, async ({ url }) => {
    return await Array.fromAsync([1900, 2100, 12_000], async (length) => {
      const path = `/admin/${'x'.repeat(length)}`
      const answer = await send(url, { path, headers: { Accept: 'text/html' } })
      const lines = answer.headers.getSetCookie()
      const cookie = lines.find((line) => line.startsWith('gatehouse_sign_in=')) ?? ''
      expect(cookie.length, String(length)).to.be.within(100, 4096)
      return answer
    })
  }),
  operatorOpens([3311, 'site named like an inherited property'], inherited),
  operatorOpens([3312, 'path traversal in the name of a site'], ['/admin/..%2f..%2fetc%2fpasswd']),
  opens([3300, 'sign-in response without a request'], invalidRequest, [unasked]),
  opens([3301, 'sign-in response with markup as error'], invalidRequest, [markup]),
  opens([3308, 'page with a foreign Referer (CVE-2025-8129)'], toSignIn, ['/account'], fromEvil),
  opens([3309, 'page with return URLs in the query'], toSignIn, [withReturnUrls]),
  opens([3310, 'path that starts with two slashes (CVE-2024-39694)'], notFound, twoSlashes),
  opens([3313, 'forged cookie of the pages'], toSignIn, ['/account'], { Cookie: forgedCookie }),
  opens([3314, 'cookie of the pages without signature'], toSignIn, ['/admin'], { Cookie: cookie }),
  opens([3315, 'path traversal in an asset'], notFound, outOfAssets),
  opens([3316, 'purchased file with a forged token'], notFound, forgedFiles),
  opens([3317, 'path traversal in a logo'], notFound, ['/assets/logos/..%2f..%2f/x']),
  signsOut([3318, 'a foreign redirect URI'], notes.clientId, 'https://evil.example/'),
  signsOut([3319, 'a javascript: URI (CVE-2026-9086)'], notes.clientId, 'JavaScript:alert(1)'),
  signsOut([3320, 'the redirect URI of another client'], asClaude.client_id, ofNotes),
  opens([3321, 'sign-out with an unsigned hint'], invalidRequest, [
    `${paths.endSession}?id_token_hint=${btoa('{"alg":"none"}')}.${btoa('{"sub":"per_sam"}')}.`,
  ]),
  opens([3324, 'sign-in response with a forged cookie'], invalidRequest, [unasked], forgedSignIn),
  row(3322, 'sign-out confirmation without a request', invalidRequest, async ({ url }) => {
    const typed = { xsrf: 'x', logout: 'yes' }
    return await postForm(`${url}${paths.endSession}/confirm`, typed, { Accept: 'text/html' })
  }),
]

type Attack = readonly [number: number, what: string]

type Change = (answer: URLSearchParams) => void

/** Creates a case that changes the authorization response of a sign-in to our own pages. */
function comesBack([number, how]: Attack, answer: string, change: Change): Row {
  return row(number, `sign-in response ${how}`, answer, (world) => world.comeBack(change))
}

/** Creates a case in which a browser without a session opens paths. */
function opens([number, attack]: Attack, answer: string, opened: string[], headers = {}): Row {
  const sent = { Accept: 'text/html', ...headers }
  const sendAll: Row[3] = async ({ url }) =>
    await Promise.all(opened.map(async (path) => await send(url, { path, headers: sent })))
  return [number, attack, answer, sendAll]
}

function operatorOpens([number, attack]: Attack, opened: string[]): Row {
  return row(number, attack, notFound, async (world) => {
    const { open } = await operator(world)
    return await Promise.all(opened.map((path) => open(path)))
  })
}

function signsOut([number, what]: Attack, client_id: string, uri: string): Row {
  const query = encode({ client_id, post_logout_redirect_uri: uri })
  return opens([number, `sign-out with ${what}`], invalidRequest, [`${paths.endSession}?${query}`])
}

/** A password thief starts to sign in before the person signs out everywhere, and finishes afterwards. */
const heldBack: Row = [
  3352,
  'sign-in response used after the person signed out everywhere',
  'to /oauth/authorize',
  async ({ url }) => {
    const thief = makeHeadlessPerson(noor)
    const start = targetOf(await thief.open(new URL('/account', url)), url)
    const back = await thief.authorize(start, `${url}/signed-in`)
    // Session times are whole seconds. A session from the same second as the sign-out would end in any case.
    await delay(1100)
    const done = await makePagePerson(url, noor).submit('/account/sign-out-everywhere')
    expect(done.path).to.equal('/account/signed-out-everywhere')
    await delay(1100)
    expect((await thief.open(back)).status).to.equal(303)
    return await answerOf(await thief.open(new URL('/account', url)))
  },
]

/** Changes to an application while its consent page is open. */
const takenBack = numbered(
  { first: 3353, attack: (what) => `consent after the operator removed ${what} from the client` },
  answered<[column: 'scopes' | 'redirect_uris', removed: string]>('page 400 page_expired', [
    ['a scope', 'scopes', 'account:write'],
    ['a redirect URI', 'redirect_uris', portal.redirectUri],
  ]),
  async ({ url, running: { kysely } }, [column, removed]) => {
    const [client_id, person] = [portal.clientId, makeHeadlessPerson(noor)]
    const scope = 'openid account:read account:write'
    const start = authorizeUrl(url, { client_id, redirect_uri: portal.redirectUri, scope })
    const signedIn = await submitPage(person, targetOf(await person.open(start), start), noor)
    const consent = targetOf(await person.open(targetOf(signedIn, start)), start)
    expect(consent.pathname).to.match(/\/consent$/)
    const body = encode({ csrf: hiddenField(await (await person.open(consent)).text()) })
    await editList(kysely, client_id, column, (all) => all.filter((each) => each !== removed))
    const agreed = await answerOf(await person.open(consent, { method: 'POST', body }))
    await editList(kysely, client_id, column, (all) => [...all, removed])
    const grants = await rowsOf(kysely, 'oauth_grant', { client_id, person_id: 'per_noor' })
    expect(grants).to.deep.equal([])
    return agreed
  },
)

/** People from other sites fail to sign in. The operator's audit trail must not name them. */
const stranger: Row = [
  3350,
  'finding out accounts and names of other sites by failed sign-ins at an application of one site',
  'page 200',
  async (world) => {
    const { url, running } = world
    for (const login of [june.login, 'nobody@openkitchen.example', noor.login]) {
      const failed = makeHeadlessPerson({ login, password: 'wrong' })
      await failed.authorize(authorizeUrl(url), notes.redirectUri).catch(() => {})
    }
    // June's password is right, but she has no role at this site.
    const stranger = makeHeadlessPerson({ ...june, refuse: true })
    await stranger.authorize(authorizeUrl(url), notes.redirectUri)
    await eventually(10_000, async () => {
      const rows = await rowsOf(running.kysely, 'audit_event', { client_id: notes.clientId })
      const people = rows.map((row) => `${row.action} ${row.person_id ?? row.actor_person_id}`)
      expect(people).to.include.members([
        ...['sign_in.failure per_june', 'sign_in.failure null', 'sign_in.failure per_noor'],
        'sign_in.success per_june',
      ])
    })
    const trail = await (await operator(world)).open('/admin/northlight/audit')
    expect(trail.text).to.include('Noor').and.not.include('June').and.not.include('no such account')
    return trail
  },
]

export const pageCases = tableOf('Pages', 'page-cases.ts', [
  ...formRows,
  ...placeRows,
  ...passages,
  stranger,
  heldBack,
  ...takenBack,
])
