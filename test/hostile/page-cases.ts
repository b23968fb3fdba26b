import { setTimeout as delay } from 'node:timers/promises'

import { expect } from 'chai'

import { findApplication } from '../../src/pages/applications/application-lists.ts'
import {
  makeApplicationStore,
  type NewApplication,
} from '../../src/pages/applications/application-store.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { asClaude, authorizeUrl } from '../support/client.ts'
import { june, noor, notes } from '../support/gatehouse.ts'
import { makePagePerson } from '../support/page-person.ts'
import { eventually } from '../support/programs.ts'
import { type Answer, answerOf, encode, get, send } from '../support/wire.ts'
import { type Row, tableOf } from './case.ts'
import type { Browser, World } from './world.ts'

/** Every form of the pages that changes something, at the site that the operator operates. */
const forms: readonly (readonly [what: string, path: string, fields: Record<string, string>])[] = [
  [
    'a new application',
    '/admin/northlight/applications',
    {
      name: 'Evil',
      redirect_uris: 'https://evil.example/',
      auth_method: 'none',
      scope: 'account:read',
    },
  ],
  ['the end of an application', '/admin/northlight/applications/northlight-portal/delete', {}],
  ['an application switched off', '/admin/northlight/applications/northlight-portal/disable', {}],
  ['a new secret', '/admin/northlight/applications/northlight-portal/secrets', {}],
  ['the end of all grants', '/admin/northlight/applications/northlight-portal/people/end-all', {}],
  ['a resource server', '/admin/northlight/resource-servers', { name: 'Evil' }],
  ['MCP connections switched off', '/admin/northlight/beta/off', {}],
  [
    'a document approved',
    '/admin/northlight/self-declared-clients/approved',
    { client_id: 'https://claude.ai/client.json' },
  ],
  ['an app removed', '/account/apps/remove', { client: notes.clientId }],
  ['a sign-out everywhere', '/account/sign-out-everywhere', {}],
  ['a sign-out', '/sign-out', {}],
]

const FOREIGN = 'page 403 invalid_request'

type Way = readonly [
  what: string,
  answer: string,
  send: (form: { path: string; fields: Record<string, string> }, world: World) => Promise<Answer>,
]

async function submit(
  browser: Browser,
  path: string,
  { fields, headers = {} }: { fields: Record<string, string>; headers?: Record<string, string> },
): Promise<Answer> {
  return await browser.open(path, {
    method: 'POST',
    body: encode(fields),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
}

/** How a form is sent that its person did not send (RFC 9700 §4.7, CVE-2024-28197). */
const ways: readonly Way[] = [
  [
    'without its token',
    FOREIGN,
    async ({ path, fields }, world) => await submit(await operator(world), path, { fields }),
  ],
  [
    'with an empty token',
    FOREIGN,
    async ({ path, fields }, world) =>
      await submit(await operator(world), path, { fields: { ...fields, csrf: '' } }),
  ],
  [
    'with the token of somebody else',
    FOREIGN,
    async ({ path, fields }, world) =>
      await submit(await operator(world), path, {
        fields: { ...fields, csrf: (await member(world)).csrf },
      }),
  ],
  [
    'from a page of another site',
    FOREIGN,
    async ({ path, fields }, world) => {
      const browser = await operator(world)
      return await submit(browser, path, {
        fields: { ...fields, csrf: browser.csrf },
        headers: { 'sec-fetch-site': 'cross-site', origin: 'https://evil.example' },
      })
    },
  ],
]

const browsers = new WeakMap<World, Map<string, Promise<Browser>>>()

function kept(world: World, who: 'operator' | 'member'): Promise<Browser> {
  const known = browsers.get(world) ?? new Map<string, Promise<Browser>>()
  browsers.set(world, known)
  const browser = known.get(who) ?? world.browser(who)
  known.set(who, browser)
  return browser
}

const operator = async (world: World) => await kept(world, 'operator')
const member = async (world: World) => await kept(world, 'member')

const formRows = forms.flatMap(([what, path, fields], at) =>
  ways.map(
    ([how, answer, sendForm], position): Row => [
      3000 + 10 * at + position,
      `${what}, by a form ${how}`,
      `${answer}; nothing is changed`,
      async (world) => await sendForm({ path, fields }, world),
    ],
  ),
)

/** Pages of a site, opened by who does not operate it (CVE-2025-64431, CVE-2026-33132). */
const places = [
  '',
  '/applications',
  '/applications/northlight-portal',
  '/applications/northlight-portal/people',
  '/audit',
  '/beta',
  '/resource-servers',
  '/assistants',
  '/queries',
  '/self-declared-clients',
]

const placeRows = places.flatMap((place, at): Row[] => [
  [
    3200 + 2 * at,
    `the page /admin/northlight${place} by a member who is no operator`,
    'page 403 forbidden',
    async (world) => await (await member(world)).open(`/admin/northlight${place}`),
  ],
  [
    3201 + 2 * at,
    `the page /admin/open-kitchen${place} by the operator of another site`,
    'page 403 forbidden',
    async (world) =>
      await (await operator(world)).open(
        `/admin/open-kitchen${place.replace('northlight-portal', 'kitchen-notes')}`,
      ),
  ],
])

/** The way into the pages, and out of them: nobody is sent to another origin (CVE-2024-39694, CVE-2025-8129). */
const passages: readonly Row[] = [
  [
    3300,
    'a sign-in that nobody began',
    'page 400 invalid_request',
    async ({ url }) => await page(url, '/signed-in?code=x&state=x'),
  ],
  [
    3301,
    'a sign-in with the error of a stranger, in markup',
    'page 400 invalid_request',
    async ({ url }) =>
      await page(url, `/signed-in?error=${encodeURIComponent('<script>alert(1)</script>')}`),
  ],
  [
    3302,
    'a sign-in with another state than it began with (CSRF of the sign-in)',
    'to /account',
    async (world) => await world.comeBack((answer) => answer.set('state', 'x')),
  ],
  [
    3303,
    'a sign-in without a state',
    'to /account',
    async (world) => await world.comeBack((answer) => answer.delete('state')),
  ],
  [
    3304,
    'a sign-in with the state twice',
    'page 400 invalid_request',
    async (world) =>
      await world.comeBack((answer) => answer.append('state', answer.get('state') ?? '')),
  ],
  [
    3305,
    'a sign-in by another issuer (mix-up)',
    'page 400 invalid_request',
    async (world) => await world.comeBack((answer) => answer.set('iss', 'https://evil.example')),
  ],
  [
    3306,
    'a sign-in without an issuer',
    'page 400 invalid_request',
    async (world) => await world.comeBack((answer) => answer.delete('iss')),
  ],
  [
    3307,
    'a sign-in with the code of somebody else',
    'page 400 invalid_request',
    async (world) => {
      const { code = '' } = (await world.code()) as { code?: string }
      return await world.comeBack((answer) => answer.set('code', code))
    },
  ],
  [
    3308,
    'a page with a Referer of a stranger (CVE-2025-8129)',
    'to /oauth/authorize',
    async ({ url }) =>
      await get(`${url}/account`, ['Accept', 'text/html', 'Referer', 'https://evil.example/']),
  ],
  [
    3323,
    'a page whose address is longer than a cookie that browsers keep',
    'to /oauth/authorize',
    async ({ url }) => {
      const answers = []
      for (const length of [1900, 2100, 12_000]) {
        const answer = await page(url, `/admin/${'x'.repeat(length)}`)
        const [kept = ''] = answer.headers.getSetCookie()
        expect(kept.length, String(length)).to.be.within(100, 4096)
        answers.push(answer)
      }
      return answers
    },
  ],
  [
    3309,
    'a page with the way back in its address',
    'to /oauth/authorize',
    async ({ url }) =>
      await get(`${url}/account?returnTo=https://evil.example/&next=//evil.example`, [
        'Accept',
        'text/html',
      ]),
  ],
  [
    3310,
    'a page whose address begins with two slashes (CVE-2024-39694)',
    'page 404 not_found',
    async ({ url }) => [
      await page(url, '//evil.example/account'),
      await page(url, '/%2fevil.example/account'),
      await page(url, '/\\evil.example/account'),
    ],
  ],
  [
    3311,
    'a page of a site that is a name of every object',
    'page 404 not_found',
    async (world) => [
      await (await operator(world)).open('/admin/__proto__'),
      await (await operator(world)).open('/admin/constructor/applications'),
    ],
  ],
  [
    3312,
    'a page of a site out of its folder',
    'page 404 not_found',
    async (world) => await (await operator(world)).open('/admin/..%2f..%2fetc%2fpasswd'),
  ],
  [
    3313,
    'a cookie of the pages that was made up',
    'to /oauth/authorize',
    async ({ url }) =>
      await get(`${url}/account`, [
        'Accept',
        'text/html',
        'Cookie',
        'gatehouse_pages=x; gatehouse_pages.sig=x',
      ]),
  ],
  [
    3314,
    'the cookie of the pages without its signature',
    'to /oauth/authorize',
    async ({ url }) =>
      await get(`${url}/admin`, ['Accept', 'text/html', 'Cookie', 'gatehouse_pages=x']),
  ],
  [
    3315,
    'an asset out of its folder',
    'page 404 not_found',
    async ({ url }) => [
      await page(url, '/assets/..%2f..%2fpackage.json'),
      await page(url, '/assets/queries/..%2f..%2fpackage.json'),
      await page(url, '/assets/%2e%2e/%2e%2e/package.json'),
    ],
  ],
  [
    3316,
    'the file of a purchase by a token that was made up',
    'page 404 not_found',
    async ({ url }) => [
      await page(url, '/files/x/a.pdf'),
      await page(url, '/files/__proto__/..%2fa.pdf'),
    ],
  ],
  [
    3317,
    'a logo of a site out of its folder',
    'page 404 not_found',
    async ({ url }) => await page(url, '/assets/logos/..%2f..%2f/x'),
  ],
  [
    3318,
    'a sign-out that sends people to a stranger',
    'page 400 invalid_request',
    async ({ url }) =>
      await page(
        url,
        `${paths.endSession}?${encode({ client_id: notes.clientId, post_logout_redirect_uri: 'https://evil.example/' })}`,
      ),
  ],
  [
    3319,
    'a sign-out that runs script (CVE-2026-9086)',
    'page 400 invalid_request',
    async ({ url }) =>
      await page(
        url,
        `${paths.endSession}?${encode({ client_id: notes.clientId, post_logout_redirect_uri: 'JavaScript:alert(1)' })}`,
      ),
  ],
  [
    3320,
    'a sign-out with the address of another client',
    'page 400 invalid_request',
    async ({ url }) =>
      await page(
        url,
        `${paths.endSession}?${encode({ client_id: asClaude.client_id, post_logout_redirect_uri: 'https://notes.example/signed-out' })}`,
      ),
  ],
  [
    3321,
    'a sign-out with a hint that nobody signed',
    'page 400 invalid_client',
    async ({ url }) =>
      await page(
        url,
        `${paths.endSession}?id_token_hint=${btoa('{"alg":"none"}')}.${btoa('{"sub":"per_sam"}')}.`,
      ),
  ],
  [
    3322,
    'a sign-out confirmed from nowhere',
    'page 400 invalid_request',
    async ({ url }) =>
      await send(url, {
        method: 'POST',
        path: `${paths.endSession}/confirm`,
        headers: ['Accept', 'text/html', 'Content-Type', 'application/x-www-form-urlencoded'],
        body: 'xsrf=x&logout=yes',
      }),
  ],
]

/** Everything that a thief of a password held back before its person signed out everywhere. */
const heldBack: readonly Row[] = [
  [
    3351,
    'a consent page that waited until after its person signed out everywhere',
    'the sign-in',
    async ({ url }) => {
      const thief = makeHeadlessPerson(noor)
      const start = authorizeUrl(url, { prompt: 'consent' })
      const login = await thief.open(start)
      const signedIn = await answerPage(thief, addressIn(login, url), noor)
      const consent = addressIn(await thief.open(addressIn(signedIn, url)), url)
      expect(consent.pathname).to.match(/\/consent$/)
      await signOutEverywhere(url)
      const agreed = await answerPage(thief, consent)
      const resumed = await answerOf(await thief.open(addressIn(agreed, url)))
      const again = await answerOf(await thief.open(authorizeUrl(url)))
      return [resumed, again]
    },
  ],
  [
    3352,
    'a way back to the pages that waited until after its person signed out everywhere',
    'to /oauth/authorize',
    async ({ url }) => {
      const thief = makeHeadlessPerson(noor)
      const start = addressIn(await thief.open(new URL('/account', url)), url)
      const back = await thief.authorize(start, `${url}/signed-in`)
      await signOutEverywhere(url)
      expect((await thief.open(back)).status).to.equal(303)
      return await answerOf(await thief.open(new URL('/account', url)))
    },
  ],
]

/** What an operator took from an application while a member had its consent page open. */
const takenBack: readonly Row[] = (
  [
    [3353, 'a scope', { scopes: ['account:read'] }],
    [3354, 'a redirect address', { redirectUris: ['https://planner.example/new'] }],
  ] as const
).map(([number, what, left]) => [
  number,
  `consent by a page that waited until after the operator had taken ${what} from the application`,
  'page 400 invalid_request',
  async ({ url, running }) => {
    const { database } = running.service.stores
    const store = makeApplicationStore(database)
    const actor = { personId: 'per_olivia', requestId: 'x', now: running.service.now() }
    const redirectUri = 'https://planner.example/callback'
    const entry: NewApplication = {
      name: `Planner ${number}`,
      redirectUris: [redirectUri],
      postLogoutRedirectUris: [],
      authMethod: 'none',
      applicationType: 'web',
      scopes: ['account:read', 'account:write'],
    }
    const made = await store.create('sit_northlight', entry, actor)
    if (typeof made === 'string') throw new Error(made)
    const { clientId } = made
    const person = makeHeadlessPerson(noor)
    const start = authorizeUrl(url, {
      ...{ client_id: clientId, redirect_uri: redirectUri },
      scope: 'openid account:read account:write',
    })
    const signedIn = await answerPage(person, addressIn(await person.open(start), url), noor)
    const consent = addressIn(await person.open(addressIn(signedIn, url)), url)
    const csrf = tokenIn(await (await person.open(consent)).text())
    const app = await findApplication(database.kysely, 'sit_northlight', clientId)
    if (!app) throw new Error('there is no such application')
    await store.update(app, { ...entry, ...left }, actor)
    const body = new URLSearchParams({ csrf })
    const agreed = await person.open(consent, { method: 'POST', body })
    const { grants } = await database.kysely
      .selectFrom('oauth_grant')
      .select(({ fn }) => fn.countAll<number>().as('grants'))
      .where('client_id', '=', clientId)
      .executeTakeFirstOrThrow()
    expect(Number(grants)).to.equal(0)
    return await answerOf(agreed)
  },
])

async function signOutEverywhere(url: string): Promise<void> {
  // A session knows whole seconds, and one of the very second of the sign-out is over in any case.
  await delay(1100)
  const owner = makePagePerson(url, noor)
  const asked = await owner.visit('/account/sign-out-everywhere')
  const done = await owner.send(asked, '/account/sign-out-everywhere')
  expect(done.path).to.equal('/account/signed-out-everywhere')
  await delay(1100)
}

function addressIn({ headers }: Pick<Response, 'headers'>, url: string): URL {
  return new URL(headers.get('location') ?? '', url)
}

/** Sends the form of a page, with the token that stands in it. */
async function answerPage(
  person: HeadlessPerson,
  page: URL,
  fields: Record<string, string> = {},
): Promise<Response> {
  const csrf = tokenIn(await (await person.open(page)).text())
  return await person.open(page, { method: 'POST', body: new URLSearchParams({ csrf, ...fields }) })
}

function tokenIn(page: string): string {
  return /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? ''
}

/** What operators could see of people who are none of theirs. */
const strangers: readonly Row[] = [
  [
    3350,
    'whether somebody of another site has an account, and their name, by failing with it at one’s own application',
    'page 200',
    async (world) => {
      const { url, running } = world
      const strange = ['june@openkitchen.example', 'nobody@openkitchen.example']
      for (const login of [...strange, noor.login]) {
        const failed = makeHeadlessPerson({ login, password: 'wrong' })
        await failed.authorize(authorizeUrl(url), notes.redirectUri).catch(() => {})
      }
      // They go through the right password, and are told that this is not for them.
      const stranger = makeHeadlessPerson({ ...june, refuse: true })
      await stranger.authorize(authorizeUrl(url), notes.redirectUri)
      const { kysely } = running.service.stores.database
      await eventually(10_000, async () => {
        const rows = await kysely
          .selectFrom('audit_event')
          .select(['action', 'person_id', 'actor_person_id'])
          .where('client_id', '=', notes.clientId)
          .execute()
        const people = rows.map((row) => `${row.action} ${row.person_id ?? row.actor_person_id}`)
        for (const kind of [
          'failure per_june',
          'failure null',
          'failure per_noor',
          'success per_june',
        ])
          expect(people).to.include(`sign_in.${kind}`)
      })
      const trail = await (await operator(world)).open('/admin/northlight/audit')
      expect(trail.text).to.include('Noor').and.not.include('June')
      expect(trail.text).to.not.include('no such account')
      return trail
    },
  ],
]

async function page(url: string, path: string): Promise<Answer> {
  return await send(url, { path, headers: ['Accept', 'text/html'] })
}

export const pageCases = tableOf('Pages', 'page-cases.ts', [
  ...formRows,
  ...placeRows,
  ...passages,
  ...strangers,
  ...heldBack,
  ...takenBack,
])
