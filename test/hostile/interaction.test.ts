import { expect } from 'chai'

import { paths } from '../../src/platform/http/paths.ts'
import { storedId } from '../../src/platform/store/oauth-state.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { authorizeUrl, obtainCode } from '../support/client.ts'
import {
  amir,
  june,
  noor,
  notes,
  olivia,
  portal,
  type RunningService,
  sam,
  startService,
} from '../support/gatehouse.ts'
import { sharedService } from '../support/shared-service.ts'
import { encode, type Fields, send } from '../support/wire.ts'

/** Hostile requests at the pages between an authorization request and its answer. */
const service = sharedService()

interface Page {
  readonly url: URL
  readonly text: string
  readonly headers: Headers
  readonly csrf: string
  readonly action: string
}

/** Follows redirects with this person's cookies until a page is shown. */
async function openPage(person: HeadlessPerson, start: URL): Promise<Page> {
  let url = start
  for (let step = 0; step < 10; step += 1) {
    const answer = await person.open(url)
    const location = answer.headers.get('location')
    const text = await answer.text()
    if (!location) {
      const csrf = /name="csrf" value="([^"]+)"/.exec(text)?.[1] ?? ''
      const action = /<form method="post" action="([^"]+)"/.exec(text)?.[1] ?? ''
      return { url, text, headers: answer.headers, csrf, action }
    }
    url = new URL(location, url)
  }
  throw new Error('no page came')
}

async function submit(
  ...[person, page, fields, headers = {}]: [HeadlessPerson, Page, Fields, Record<string, string>?]
): Promise<Response> {
  return await person.open(new URL(page.action, page.url), {
    method: 'POST',
    body: encode(fields),
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
  })
}

async function openSignIn(fields: Fields = {}) {
  const person = makeHeadlessPerson(sam)
  return { person, page: await openPage(person, authorizeUrl(service().url, fields)) }
}

/** Signs in and stops where the person is asked for consent. */
async function openConsent(fields: Fields = {}, answers = sam) {
  const { person, page } = await openSignIn(fields)
  const posted = await submit(person, page, { csrf: page.csrf, ...answers })
  const next = new URL(posted.headers.get('location') ?? '', page.url)
  return { person, page: await openPage(person, next) }
}

function expectErrorPage(text: string): void {
  expect(text).to.include('id="error-page"')
  expect(text).to.not.match(/sam@|Sam Student|Course Notes|name="csrf"/)
}

describe('interaction: a page belongs to the browser that it was opened in (CVE-2026-7507) [37]', () => {
  it('shows nothing to a browser without its cookie', async () => {
    const { page } = await openConsent()
    const { pathname } = page.url
    for (const path of [pathname, pathname.replace('consent', 'login'), `${pathname}/`]) {
      const answer = await send(service().url, { path, headers: ['Accept', 'text/html'] })
      expect(answer.status, path).to.be.oneOf([400, 404])
      expectErrorPage(answer.text)
    }
  })

  it('shows nothing to a browser with the cookie of another interaction', async () => {
    const victim = await openConsent()
    const attacker = await openConsent({}, olivia)
    const cookies = attacker.person.cookiesFor(attacker.page.url)
    const answer = await send(service().url, {
      path: victim.page.url.pathname,
      headers: ['Cookie', cookies, 'Accept', 'text/html'],
    })
    expect(answer.status).to.equal(400)
    expectErrorPage(answer.text)
  })

  it('takes no form from another browser, even with the token of its page', async () => {
    const victim = await openConsent()
    const attacker = await openConsent({}, olivia)
    const form = { csrf: victim.page.csrf }
    const crossed = await submit(attacker.person, { ...victim.page }, form)
    expect(crossed.status).to.equal(400)
    expectErrorPage(await crossed.text())
    const answer = await submit(victim.person, victim.page, form)
    expect(answer.status, 'the person can still agree').to.equal(303)
  })

  it('a page that stayed open while another person signed in grants nothing [166]', async () => {
    const { person, page } = await openConsent()
    const again = await openPage(person, authorizeUrl(service().url, { prompt: 'login' }))
    const posted = await submit(person, again, { csrf: again.csrf, ...noor })
    const change = await openPage(person, new URL(posted.headers.get('location') ?? '', again.url))
    const xsrf = /name="xsrf" value="([^"]+)"/.exec(change.text)?.[1] ?? ''
    const changed = await submit(person, change, { xsrf, logout: 'yes' })
    const next = await openPage(person, new URL(changed.headers.get('location') ?? '', page.url))
    expect(next.url.pathname, 'the other person is asked').to.match(/\/consent$/)

    const grants = async () => {
      const { kysely } = service().service.stores.database
      const rows = kysely.selectFrom('oauth_grant').select('id').where('person_id', '=', 'per_sam')
      return (await rows.execute()).length
    }
    const before = await grants()
    const late = await submit(person, page, { csrf: page.csrf })
    expect(late.status).to.equal(400)
    expectErrorPage(await late.text())
    expect(await grants(), 'nothing is allowed in the name of the first').to.equal(before)
    expect((await submit(person, next, { csrf: next.csrf })).status).to.equal(303)
  })

  it('does not continue an interaction of another browser at the engine either', async () => {
    const { page } = await openConsent()
    const [, uid = ''] = /\/interaction\/([^/]+)/.exec(page.url.pathname) ?? []
    const answer = await send(service().url, {
      path: `${paths.authorization}/${uid}`,
      headers: ['Accept', 'text/html'],
    })
    expect(answer.status).to.equal(400)
    expectErrorPage(answer.text)
  })

  it('answers made-up interactions as if they had expired', async () => {
    for (const uid of ['x', '__proto__', '..%2f..%2fadmin', 'x'.repeat(2000), '%00', "'--"]) {
      const path = `/interaction/${uid}/login`
      const answer = await send(service().url, { path, headers: ['Accept', 'text/html'] })
      expect(answer.status, uid).to.be.oneOf([400, 404])
      expectErrorPage(answer.text)
    }
  })

  it('needs its cookie unchanged', async () => {
    const { person, page } = await openConsent()
    const cookies = person.cookiesFor(page.url)
    for (const changed of [
      cookies.replace(/gatehouse_interaction=[^;]+/, 'gatehouse_interaction=x'),
      cookies.replace(/gatehouse_interaction\.sig=[^;]+/, 'gatehouse_interaction.sig=x'),
      cookies.replace(/gatehouse_interaction\.sig=[^;]+;? ?/, ''),
    ]) {
      expect(changed).to.not.equal(cookies)
      const answer = await send(service().url, {
        path: page.url.pathname,
        headers: ['Cookie', changed, 'Accept', 'text/html'],
      })
      expect(answer.status).to.equal(400)
      expectErrorPage(answer.text)
    }
  })
})

// [RFC 9700 §4.11.2; OpenID Connect Core §3.1.2.3; threat 7]
describe('interaction: a form is taken from its own page only [RFC 6749 §10.12] [39]', () => {
  for (const [why, change] of [
    ['no token', () => ({ csrf: undefined })],
    ['an empty token', () => ({ csrf: '' })],
    ['a token of the same length', ({ csrf }: Page) => ({ csrf: 'A'.repeat(csrf.length) })],
    ['a shortened token', ({ csrf }: Page) => ({ csrf: csrf.slice(0, -1) })],
    ['two tokens', ({ csrf }: Page) => ({ csrf: [csrf, csrf] })],
    ['the token under another name', ({ csrf }: Page) => ({ csrf: undefined, 'csrf[]': csrf })],
  ] as const) {
    it(`refuses sign-in, consent and refusal with ${why}`, async () => {
      const signIn = await openSignIn()
      const first = await submit(signIn.person, signIn.page, { ...sam, ...change(signIn.page) })
      expect(first.status).to.equal(403)
      const { person, page } = await openConsent()
      expect((await submit(person, page, change(page))).status).to.equal(403)
      const refusal = { ...page, action: `${page.action}/cancel` }
      expect((await submit(person, refusal, change(page))).status).to.equal(403)
      expect((await submit(person, page, { csrf: page.csrf })).status).to.equal(303)
    })
  }

  it('refuses the token of another interaction', async () => {
    const [one, two] = [await openConsent(), await openConsent()]
    expect((await submit(one.person, one.page, { csrf: two.page.csrf })).status).to.equal(403)
  })

  it('refuses a form that the browser says another site sent', async () => {
    for (const site of ['cross-site', 'same-site', 'nonsense']) {
      const { person, page } = await openConsent()
      const headers = { 'sec-fetch-site': site }
      const answer = await submit(person, page, { csrf: page.csrf }, headers)
      expect(answer.status, site).to.equal(403)
    }
    const { person, page } = await openConsent()
    const own = await submit(person, page, { csrf: page.csrf }, { 'sec-fetch-site': 'same-origin' })
    expect(own.status).to.equal(303)
  })

  it('takes no token from JSON, plain text, multipart or the query', async () => {
    const { person, page } = await openConsent()
    const url = new URL(page.action, page.url)
    for (const [type, body] of [
      ['application/json', JSON.stringify({ csrf: page.csrf })],
      ['text/plain', encode({ csrf: page.csrf })],
      [
        'multipart/form-data; boundary=x',
        `--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n${page.csrf}\r\n--x--\r\n`,
      ],
    ] as const) {
      const headers = { 'content-type': type }
      const answer = await person.open(url, { method: 'POST', body, headers })
      expect(answer.status, type).to.be.oneOf([403, 415])
    }
    const queried = new URL(`${url.href}?csrf=${page.csrf}`)
    expect((await person.open(queried, { method: 'POST' })).status).to.equal(403)
    expect((await person.open(new URL(`${url.href}/cancel?csrf=${page.csrf}`))).status).to.equal(
      404,
    )
  })

  it('refuses a form beyond 16 KB', async () => {
    const { person, page } = await openSignIn()
    const fields = { csrf: page.csrf, ...sam, more: 'x'.repeat(20_000) }
    expect((await submit(person, page, fields)).status).to.equal(413)
  })
})

// [Authentication 4; threat 6]
describe('interaction: what is agreed to is what was asked for (design 2) [41]', () => {
  // [RFC 6749 §10.12]
  it('a consent form cannot add scopes, a resource, a client, a person, a site or a grant', async () => {
    const { person, page } = await openConsent({ scope: 'openid account:read' })
    const answer = await submit(person, page, {
      csrf: page.csrf,
      scope: 'openid email account:read account:write courses:write',
      scopes: ['account:write', 'email'],
      resource: 'https://evil.example',
      client_id: portal.clientId,
      redirect_uri: 'https://evil.example/',
      accountId: 'per_olivia',
      site: 'sit_open_kitchen',
      grantId: 'another',
      prompt: 'none',
      __proto__: 'x',
    })
    expect(answer.status).to.equal(303)
    const next = new URL(answer.headers.get('location') ?? '', page.url)
    const callback = await person.authorize(next, notes.redirectUri)
    const code = callback.searchParams.get('code') ?? ''
    const { kysely } = service().service.stores.database
    const { payload } = await kysely
      .selectFrom('oauth_state')
      .select('payload')
      .where('id', '=', storedId('AuthorizationCode', code))
      .executeTakeFirstOrThrow()
    const issued = JSON.parse(payload)
    expect(issued).to.include({
      accountId: 'per_sam',
      clientId: notes.clientId,
      scope: 'openid account:read',
      redirectUri: notes.redirectUri,
      resource: service().url,
    })
    const grant = await kysely
      .selectFrom('oauth_grant')
      .select('site_id')
      .where('id', '=', issued.grantId)
      .executeTakeFirst()
    expect(grant).to.deep.equal({ site_id: 'sit_northlight' })
  })

  // [OpenID Connect Core §3.1.2.3; OpenID Connect Core §3.1.2.4; RFC 9700 §4.11.2]
  it('no step is skipped: consent cannot be given before the person has signed in [43]', async () => {
    const { person, page } = await openSignIn()
    for (const prompt of ['consent', 'select_account']) {
      const jumped = { ...page, action: page.action.replace('login', prompt) }
      const answer = await submit(person, jumped, { csrf: page.csrf, site: 'sit_northlight' })
      expect(answer.status, prompt).to.equal(400)
      const shown = await person.open(new URL(jumped.action, page.url))
      expect(shown.status, prompt).to.equal(400)
    }
    const [, uid = ''] = /\/interaction\/([^/]+)/.exec(page.url.pathname) ?? []
    const resumed = await openPage(person, new URL(`${paths.authorization}/${uid}`, service().url))
    expect(resumed.text).to.include('id="login-page"')
  })

  it('a wrong password and an unknown account are rejected', async () => {
    for (const answers of [
      { login: sam.login, password: 'wrong' },
      { login: sam.login, password: '' },
      { login: '', password: '' },
      { login: 'nobody@northlight.example', password: sam.password },
    ]) {
      const { person, page } = await openSignIn()
      const answer = await submit(person, page, { csrf: page.csrf, ...answers })
      expect(answer.status).to.equal(401)
      expect(answer.headers.getSetCookie().join()).to.not.match(/gatehouse=/)
    }
  })

  it('a site is chosen among those that the person operates, and no other', async () => {
    const operator = {
      client_id: 'integration-claude',
      redirect_uri: 'https://claude.ai/api/mcp/auth_callback',
      scope: 'openid courses:read',
    }
    const { person, page } = await openConsent(operator, amir)
    expect(page.url.pathname).to.match(/select_account$/)
    for (const site of ['sit_elsewhere', '', '__proto__', undefined, ['sit_northlight', 'x']]) {
      const answer = await submit(person, page, { csrf: page.csrf, site })
      expect(answer.status, String(site)).to.equal(422)
    }
    const chosen = await submit(person, page, { csrf: page.csrf, site: 'sit_northlight' })
    expect(chosen.status).to.equal(303)
  })

  // [RFC 6749 §4.1.2.1]
  it('refusing answers the client with access_denied, state and iss, and gives no code', async () => {
    const { person, page } = await openConsent()
    const refusal = { ...page, action: `${page.action}/cancel` }
    const answer = await submit(person, refusal, { csrf: page.csrf })
    const resumed = await person.open(new URL(answer.headers.get('location') ?? '', page.url))
    const target = new URL(resumed.headers.get('location') ?? '')
    expect(target.origin + target.pathname).to.equal(notes.redirectUri)
    const { error, state, iss, code } = Object.fromEntries(target.searchParams)
    expect([error, state, iss]).to.deep.equal(['access_denied', 'the-state', service().url])
    expect(code).to.equal(undefined)
  })

  it('a person without a role at the site gets no consent page, and the client an error', async () => {
    const { person, page } = await openSignIn()
    const posted = await submit(person, page, { csrf: page.csrf, ...june })
    const next = new URL(posted.headers.get('location') ?? '', page.url)
    const target = await person.authorize(next, notes.redirectUri)
    expect(target.searchParams.get('error')).to.equal('access_denied')
    expect(target.searchParams.get('error_description')).to.include('no role at the site')
    expect(target.searchParams.has('code')).to.equal(false)
  })

  it('a finished interaction cannot be finished again', async () => {
    const { person, page } = await openConsent()
    const first = await submit(person, page, { csrf: page.csrf })
    await person.authorize(
      new URL(first.headers.get('location') ?? '', page.url),
      notes.redirectUri,
    )
    const again = await submit(person, page, { csrf: page.csrf })
    expect(again.status).to.equal(400)
    expectErrorPage(await again.text())
  })
})

// [threat 7]
describe('interaction: pages and cookies are guarded [RFC 9700 §4.16] [45]', () => {
  // [RFC 6749 §10.13; OpenID Connect Core §3.1.2.3; RFC 9700 §4.2.4; RFC 9700 §4.16]
  it('no page may be framed, run a script, be kept, or post elsewhere than to the client', async () => {
    const signIn = await openSignIn()
    const consent = await openConsent()
    for (const { headers } of [signIn.page, consent.page]) {
      const policy = headers.get('content-security-policy') ?? ''
      expect(policy).to.include("frame-ancestors 'none'")
      expect(policy).to.include("script-src 'none'")
      expect(policy).to.include("form-action 'self' https://notes.example;")
      expect(policy).to.include("base-uri 'none'")
      expect(headers.get('x-frame-options')).to.equal('DENY')
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('referrer-policy')).to.be.oneOf(['same-origin', 'no-referrer'])
      expect(headers.get('x-content-type-options')).to.equal('nosniff')
    }
  })

  it('cookies are HttpOnly and SameSite=Lax, and those of an interaction are of its path only', async () => {
    const { pathname, search } = authorizeUrl(service().url)
    const answer = await send(service().url, { path: pathname + search })
    const cookies = answer.headers.getSetCookie()
    expect(cookies.length).to.be.greaterThan(0)
    for (const cookie of cookies) {
      expect(cookie).to.match(/; httponly/i)
      expect(cookie).to.match(/; samesite=lax/i)
      expect(cookie).to.match(/path=\/(interaction\/|oauth\/authorize\/)[A-Za-z0-9_-]{43}/i)
    }
  })

  it('signing in changes the id of the session (session fixation)', async () => {
    const first = await obtainCode(service().url)
    const before = await sessionsIn(service())
    const start = authorizeUrl(service().url, { prompt: 'login' })
    await first.person.authorize(start, notes.redirectUri)
    const after = await sessionsIn(service())
    expect(after.filter((id) => !before.includes(id))).to.have.lengthOf(1)
    expect(before.filter((id) => !after.includes(id))).to.have.lengthOf(1)
  })

  async function sessionsIn({ service: { stores } }: RunningService): Promise<string[]> {
    const rows = await stores.database.kysely
      .selectFrom('oauth_state')
      .select('id')
      .where('model', '=', 'Session')
      .execute()
    return rows.map(({ id }) => id)
  }
})

// [threat 5]
describe('interaction: whether an account exists cannot be found out (CVE-2026-23511) [47]', () => {
  const RUNS = 25
  const WITHIN = 0.3

  it('an unknown address, a wrong password and a disabled account read the same', async () => {
    const texts = []
    for (const login of ['nobody@northlight.example', sam.login, 'theo@northlight.example']) {
      const { person, page } = await openSignIn()
      const fields = { csrf: page.csrf, login, password: 'correct-horse-theo' }
      const answer = await submit(person, page, fields)
      expect(answer.status, login).to.equal(401)
      texts.push(withoutIds(await answer.text(), login))
    }
    expect(new Set(texts).size).to.equal(1)
  })

  it('and take the same time', async function () {
    this.timeout(120_000)
    // A statistical statement on a shared machine: a real difference shows in each of the runs.
    this.retries(4)
    const unlimited = {
      failuresPerAccountAndAddressMax: 1000,
      failuresPerAccountMax: 1000,
      failuresPerAddressMax: 1000,
    }
    await using own = await startService({
      realHashes: true,
      policy: (policy) => ({ ...policy, signIn: { ...policy.signIn, ...unlimited } }),
    })
    const person = makeHeadlessPerson(sam)
    const page = await openPage(person, authorizeUrl(own.url))
    const logins = ['nobody@northlight.example', sam.login, 'theo@northlight.example'] as const
    const times = new Map(logins.map((login) => [login, [] as number[]]))
    // In turn, so that whatever else the machine does strikes all alike.
    for (let run = 0; run < RUNS; run += 1) {
      for (const login of logins) {
        const started = performance.now()
        const fields = { csrf: page.csrf, login, password: 'wrong' }
        const answer = await submit(person, page, fields)
        times.get(login)?.push(performance.now() - started)
        expect(answer.status).to.equal(401)
        await answer.text()
      }
    }
    // Of each the fastest: a busy machine makes any of them slower, and none of them faster.
    const [unknown = 0, ...known] = [...times.values()].map((all) => Math.min(...all))
    for (const fastest of known) expect(fastest).to.be.within(...around(unknown))
  })

  function withoutIds(page: string, login: string): string {
    return page
      .replaceAll(login, 'LOGIN')
      .replaceAll(/\/interaction\/[^/"]+/g, '/interaction/UID')
      .replaceAll(/name="csrf" value="[^"]+"/g, 'CSRF')
  }

  const around = (value: number): [number, number] => [value * (1 - WITHIN), value * (1 + WITHIN)]
})

describe('interaction: one address is one account (GHSA-7rqj-j65f-68wh) [49]', () => {
  const attempt = async (login: string) => {
    const { person, page } = await openSignIn()
    return (await submit(person, page, { csrf: page.csrf, login, password: sam.password })).status
  }

  it('letter case and spaces around it do not matter', async () => {
    for (const login of ['SAM@NORTHLIGHT.EXAMPLE', '  sam@Northlight.example\t']) {
      expect(await attempt(login), login).to.equal(303)
    }
  })

  it('what only looks the same is another address', async () => {
    for (const login of [
      'sam＠northlight.example',
      's.am@northlight.example',
      'sam+x@northlight.example',
      'ѕam@northlight.example',
      'sam@northlight.example.',
      'sam@northlight.example\0',
      'sam@\u200bnorthlight.example',
      'ſam@northlight.example',
      'sam@northlight.example,olivia@northlight.example',
    ]) {
      expect(await attempt(login), JSON.stringify(login)).to.equal(401)
    }
  })
})
