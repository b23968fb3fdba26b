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

/** Every form that changes something, at the operator's site. */
const forms: readonly (readonly [what: string, path: string, fields: Record<string, string>])[] = [
  [
    'creating an application',
    '/admin/northlight/applications',
    {
      name: 'Evil',
      redirect_uris: 'https://evil.example/',
      auth_method: 'none',
      scope: 'account:read',
    },
  ],
  ['deleting an application', '/admin/northlight/applications/northlight-portal/delete', {}],
  ['disabling an application', '/admin/northlight/applications/northlight-portal/disable', {}],
  ['creating a secret', '/admin/northlight/applications/northlight-portal/secrets', {}],
  ['ending all grants', '/admin/northlight/applications/northlight-portal/people/end-all', {}],
  ['registering a resource server', '/admin/northlight/resource-servers', { name: 'Evil' }],
  ['disabling MCP connections', '/admin/northlight/beta/off', {}],
  [
    'approving a document',
    '/admin/northlight/self-declared-clients/approved',
    { client_id: 'https://claude.ai/client.json' },
  ],
  ['removing an app', '/account/apps/remove', { client: notes.clientId }],
  ['signing out everywhere', '/account/sign-out-everywhere', {}],
  ['signing out', '/sign-out', {}],
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

/** Forged forms (RFC 9700 §4.7, CVE-2024-28197). */
const ways: readonly Way[] = [
  [
    'without a token',
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
    'with the token of another person',
    FOREIGN,
    async ({ path, fields }, world) =>
      await submit(await operator(world), path, {
        fields: { ...fields, csrf: (await member(world)).csrf },
      }),
  ],
  [
    'from a foreign page',
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
      [`form ${how}`, what],
      `${answer}; nothing is changed`,
      async (world) => await sendForm({ path, fields }, world),
    ],
  ),
)

/** Pages of a site, opened without operating it (CVE-2025-64431, CVE-2026-33132). */
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
    ['page of a site, opened by a member', `/admin/:site${place}`],
    'page 403 forbidden',
    async (world) => await (await member(world)).open(`/admin/northlight${place}`),
  ],
  [
    3201 + 2 * at,
    ['page of a site, opened by the operator of another', `/admin/:site${place}`],
    'page 403 forbidden',
    async (world) =>
      await (await operator(world)).open(
        `/admin/open-kitchen${place.replace('northlight-portal', 'kitchen-notes')}`,
      ),
  ],
])

/** Sign-in to the pages and sign-out redirect to no other origin (CVE-2024-39694, CVE-2025-8129). */
const passages: readonly Row[] = [
  [
    3300,
    'sign-in response without a request',
    'page 400 invalid_request',
    async ({ url }) => await page(url, '/signed-in?code=x&state=x'),
  ],
  [
    3301,
    'sign-in response with markup as error',
    'page 400 invalid_request',
    async ({ url }) =>
      await page(url, `/signed-in?error=${encodeURIComponent('<script>alert(1)</script>')}`),
  ],
  [
    3302,
    'sign-in response with another state (login CSRF)',
    'to /account',
    async (world) => await world.comeBack((answer) => answer.set('state', 'x')),
  ],
  [
    3303,
    'sign-in response without state',
    'to /account',
    async (world) => await world.comeBack((answer) => answer.delete('state')),
  ],
  [
    3304,
    'sign-in response with state twice',
    'page 400 invalid_request',
    async (world) =>
      await world.comeBack((answer) => answer.append('state', answer.get('state') ?? '')),
  ],
  [
    3305,
    'sign-in response of another issuer (mix-up)',
    'page 400 invalid_request',
    async (world) => await world.comeBack((answer) => answer.set('iss', 'https://evil.example')),
  ],
  [
    3306,
    'sign-in response without issuer',
    'page 400 invalid_request',
    async (world) => await world.comeBack((answer) => answer.delete('iss')),
  ],
  [
    3307,
    'sign-in response with a code of another client',
    'page 400 invalid_request',
    async (world) => {
      const { code = '' } = (await world.code()) as { code?: string }
      return await world.comeBack((answer) => answer.set('code', code))
    },
  ],
  [
    3308,
    'page with a foreign Referer (CVE-2025-8129)',
    'to /oauth/authorize',
    async ({ url }) =>
      await get(`${url}/account`, ['Accept', 'text/html', 'Referer', 'https://evil.example/']),
  ],
  [
    3323,
    'page with a path longer than a cookie',
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
    'page with return URLs in the query',
    'to /oauth/authorize',
    async ({ url }) =>
      await get(`${url}/account?returnTo=https://evil.example/&next=//evil.example`, [
        'Accept',
        'text/html',
      ]),
  ],
  [
    3310,
    'path that starts with two slashes (CVE-2024-39694)',
    'page 404 not_found',
    async ({ url }) => [
      await page(url, '//evil.example/account'),
      await page(url, '/%2fevil.example/account'),
      await page(url, '/\\evil.example/account'),
    ],
  ],
  [
    3311,
    'site named like an inherited property',
    'page 404 not_found',
    async (world) => [
      await (await operator(world)).open('/admin/__proto__'),
      await (await operator(world)).open('/admin/constructor/applications'),
    ],
  ],
  [
    3312,
    'path traversal in the name of a site',
    'page 404 not_found',
    async (world) => await (await operator(world)).open('/admin/..%2f..%2fetc%2fpasswd'),
  ],
  [
    3313,
    'forged cookie of the pages',
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
    'cookie of the pages without signature',
    'to /oauth/authorize',
    async ({ url }) =>
      await get(`${url}/admin`, ['Accept', 'text/html', 'Cookie', 'gatehouse_pages=x']),
  ],
  [
    3315,
    'path traversal in an asset',
    'page 404 not_found',
    async ({ url }) => [
      await page(url, '/assets/..%2f..%2fpackage.json'),
      await page(url, '/assets/queries/..%2f..%2fpackage.json'),
      await page(url, '/assets/%2e%2e/%2e%2e/package.json'),
    ],
  ],
  [
    3316,
    'purchased file with a forged token',
    'page 404 not_found',
    async ({ url }) => [
      await page(url, '/files/x/a.pdf'),
      await page(url, '/files/__proto__/..%2fa.pdf'),
    ],
  ],
  [
    3317,
    'path traversal in a logo',
    'page 404 not_found',
    async ({ url }) => await page(url, '/assets/logos/..%2f..%2f/x'),
  ],
  [
    3318,
    'sign-out with a foreign redirect URI',
    'page 400 invalid_request',
    async ({ url }) =>
      await page(
        url,
        `${paths.endSession}?${encode({ client_id: notes.clientId, post_logout_redirect_uri: 'https://evil.example/' })}`,
      ),
  ],
  [
    3319,
    'sign-out with a javascript: URI (CVE-2026-9086)',
    'page 400 invalid_request',
    async ({ url }) =>
      await page(
        url,
        `${paths.endSession}?${encode({ client_id: notes.clientId, post_logout_redirect_uri: 'JavaScript:alert(1)' })}`,
      ),
  ],
  [
    3320,
    'sign-out with the redirect URI of another client',
    'page 400 invalid_request',
    async ({ url }) =>
      await page(
        url,
        `${paths.endSession}?${encode({ client_id: asClaude.client_id, post_logout_redirect_uri: 'https://notes.example/signed-out' })}`,
      ),
  ],
  [
    3321,
    'sign-out with an unsigned hint',
    'page 400 invalid_client',
    async ({ url }) =>
      await page(
        url,
        `${paths.endSession}?id_token_hint=${btoa('{"alg":"none"}')}.${btoa('{"sub":"per_sam"}')}.`,
      ),
  ],
  [
    3322,
    'sign-out confirmation without a request',
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

/** Requests of a password thief, started before the person signed out everywhere. */
const heldBack: readonly Row[] = [
  [
    3351,
    'consent page answered after the person signed out everywhere',
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
    'sign-in response used after the person signed out everywhere',
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

/** Changes to an application while its consent page is open. */
const takenBack: readonly Row[] = (
  [
    [3353, 'a scope', { scopes: ['account:read'] }],
    [3354, 'a redirect URI', { redirectUris: ['https://planner.example/new'] }],
  ] as const
).map(([number, what, left]) => [
  number,
  `consent after the operator removed ${what} from the application`,
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
  // Sessions have whole seconds; one of the same second as the sign-out ends in any case.
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

/** Sends the form of a page with its token. */
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

/** Data of people of other sites that operators could see. */
const strangers: readonly Row[] = [
  [
    3350,
    'finding out accounts and names of other sites by failed sign-ins at the own application',
    'page 200',
    async (world) => {
      const { url, running } = world
      const strange = ['june@openkitchen.example', 'nobody@openkitchen.example']
      for (const login of [...strange, noor.login]) {
        const failed = makeHeadlessPerson({ login, password: 'wrong' })
        await failed.authorize(authorizeUrl(url), notes.redirectUri).catch(() => {})
      }
      // The password is right, but the person has no role here.
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
