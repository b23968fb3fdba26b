import { paths } from '../../src/platform/http/paths.ts'
import { sha256 } from '../../src/platform/store/digest.ts'
import { storedId } from '../../src/platform/store/oauth-state.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { asClaude, authorize, authorizeUrl, obtainCode } from '../support/client.ts'
import { rowOf, rowsOf } from '../support/database.ts'
import { amir, june, noor, notes, olivia, portal, sam, startService } from '../support/gatehouse.ts'
import { follow } from '../support/identity-provider.ts'
import { withoutAnyLimit } from '../support/limits.ts'
import { hiddenField, targetOf } from '../support/page-person.ts'
import { sharedService } from '../support/storages.ts'
import { encode, type Fields, send } from '../support/wire.ts'

const service = sharedService()

type Page = Awaited<ReturnType<typeof openPage>>

/** Follows redirects with this person's cookies until a page is shown. */
async function openPage(person: HeadlessPerson, start: URL) {
  const { url, text, headers } = await follow(person, start)
  const action = /<form method="post" action="([^"]+)"/.exec(text)?.[1] ?? ''
  return { url, text, headers, csrf: hiddenField(text), action }
}

/** Submits the form of a page with its CSRF token, unless `fields` replace the token. */
async function submit(person: HeadlessPerson, page: Page, fields: Fields = {}, headers = {}) {
  const body = encode({ csrf: page.csrf, ...fields })
  return await person.open(new URL(page.action, page.url), { method: 'POST', body, headers })
}

/** Returns the engine's URL at which the interaction of a page continues. */
function resumeOf({ url }: Page): URL {
  return new URL(url.pathname.replace(/^.interaction(.*)\/\w+$/, `${paths.authorization}$1`), url)
}

async function openSignIn(fields: Fields = {}) {
  const person = makeHeadlessPerson(sam)
  return { person, page: await openPage(person, authorizeUrl(service().url, fields)) }
}

/** Signs in. Returns the person and the consent page. */
async function openConsent(fields: Fields = {}, answers = sam) {
  const { person, page } = await openSignIn(fields)
  const posted = await submit(person, page, answers)
  return { person, page: await openPage(person, targetOf(posted, page.url)) }
}

async function shows(path: string, cookies?: string): Promise<number> {
  const headers = ['Accept', 'text/html', ...(cookies === undefined ? [] : ['Cookie', cookies])]
  const { status, text } = await send(service().url, { path, headers })
  expectErrorPage(text)
  return status
}

function expectErrorPage(text: string): void {
  expect(text).to.include('id="error-page"')
  expect(text).to.not.match(/sam@|Sam Student|Course Notes|name="csrf"/)
}

/** Expects the error page with status 400. Returns its text. */
async function expectRefused(response: Response): Promise<string> {
  expect(response.status).to.equal(400)
  const text = await response.text()
  expectErrorPage(text)
  return text
}

/**
 * Plants the attacker's cookies for a URL in the victim's browser, as a sibling host can. Plants only cookies with a
 * path other than `/`, because these cannot use the `__Host-` prefix.
 */
function plant(victim: HeadlessPerson, attacker: HeadlessPerson, url: URL): void {
  const cookies = attacker.cookiesFor(url).split('; ')
  const planted = cookies.filter((pair) => /^gatehouse_(interaction|resume|sign_in)[.=]/.test(pair))
  expect(planted).to.not.deep.equal([])
  const lines = planted.map((pair) => `${pair}; path=${url.pathname}`)
  victim.keep(url, lines)
}

// [threat 7; class CSRF]
describe('interaction: cookies that a sibling host plants', () => {
  const victims = async () => {
    const used = makeHeadlessPerson(noor)
    await openPage(used, authorizeUrl(service().url))
    return [makeHeadlessPerson(noor), used]
  }

  it('neither show a page nor sign the victim in for the attacker [286]', async () => {
    for (const victim of await victims()) {
      const attacker = await openSignIn()
      plant(victim, attacker.person, attacker.page.url)
      for (const address of [attacker.page.url, new URL(`${attacker.page.url}/cancel`)]) {
        const posted = await submit(victim, { ...attacker.page, action: address.pathname }, noor)
        expect(posted.status, address.pathname).to.equal(400)
      }
      const text = await expectRefused(await victim.open(attacker.page.url))
      expect(text).to.include('start again').and.include('href="/account"')
      const resumed = await openPage(attacker.person, resumeOf(attacker.page))
      expect(resumed.text, 'for the attacker').to.include('id="login-page"')
    }
  })

  it('do not sign the victim in as the attacker [287]', async () => {
    for (const victim of await victims()) {
      const { person, page } = await openSignIn()
      const resume = targetOf(await submit(person, page, sam), page.url)
      plant(victim, person, resume)
      expect(await expectRefused(await victim.open(resume)))
        .to.include('page_expired')
        .and.include('start again')
      expect(victim.cookiesFor(resume)).not.to.match(/gatehouse=/)
      expect((await openPage(person, resume)).url.pathname).to.match(/consent$/)
    }
  })

  it('do not sign the victim in to our own pages as the attacker [288]', async () => {
    const url = new URL('/account', service().url)
    for (const victim of await victims()) {
      const attacker = makeHeadlessPerson(sam)
      const start = (await attacker.open(url)).headers.get('location') ?? ''
      const signedIn = new URL('/signed-in', url).href
      const callback = await attacker.authorize(new URL(start, url), signedIn)
      plant(victim, attacker, callback)
      expect(await expectRefused(await victim.open(callback))).not.to.include('application')
      expect(victim.cookiesFor(url)).not.to.include('gatehouse_pages')
      expect((await attacker.open(callback)).status, 'the attacker').to.equal(303)
    }
  })

  it('are not confused with the cookies of nine tabs in one browser', async () => {
    const person = makeHeadlessPerson(sam)
    const start = authorizeUrl(service().url, { prompt: 'consent' })
    const tabs = await Array.fromAsync(Array(9), async () => await openPage(person, start))
    for (const tab of tabs.filter((_tab, index) => index % 4 === 0)) {
      const next = await openPage(person, targetOf(await submit(person, tab, sam), tab.url))
      expect(next.url.pathname).to.match(/consent$/)
    }
  })
})

describe('interaction: a page belongs to one browser (CVE-2026-7507) [37]', () => {
  it('is not shown or continued without the cookies of that browser, even with its form token', async () => {
    const { person, page } = await openConsent()
    const { pathname } = page.url
    for (const path of [pathname, pathname.replace('consent', 'login'), `${pathname}/`])
      expect(await shows(path), path).to.be.oneOf([400, 404])
    expect(await shows(resumeOf(page).pathname), 'at the engine').to.equal(400)

    const attacker = await openConsent({}, olivia)
    const cookies = person.cookiesFor(page.url)
    for (const changed of [
      attacker.person.cookiesFor(attacker.page.url),
      cookies.replace(/gatehouse_interaction=[^;]+/, 'gatehouse_interaction=x'),
      cookies.replace(/gatehouse_interaction\.sig=[^;]+/, 'gatehouse_interaction.sig=x'),
      cookies.replace(/gatehouse_interaction\.sig=[^;]+;? ?/, ''),
    ]) {
      expect(changed).to.not.equal(cookies)
      expect(await shows(pathname, changed), changed).to.equal(400)
    }
    await expectRefused(await submit(attacker.person, page))
    expect((await submit(person, page)).status, 'the person can still consent').to.equal(303)
  })

  it('grants nothing on a page that stayed open while another person signed in [166]', async () => {
    const { person, page } = await openConsent()
    const again = await openPage(person, authorizeUrl(service().url, { prompt: 'login' }))
    const change = await openPage(person, targetOf(await submit(person, again, noor), again.url))
    const xsrf = hiddenField(change.text, 'xsrf')
    const changed = await submit(person, change, { csrf: undefined, xsrf, logout: 'yes' })
    const next = await openPage(person, targetOf(changed, page.url))
    expect(next.url.pathname, 'the other person is asked').to.match(/\/consent$/)

    const grants = async () =>
      (await rowsOf(service().kysely, 'oauth_grant', { person_id: 'per_sam' })).length
    const before = await grants()
    await expectRefused(await submit(person, page))
    expect(await grants(), 'no grant of the first person').to.equal(before)
    expect((await submit(person, next)).status).to.equal(303)
  })
})

// [RFC 9700 §4.11.2; OpenID Connect Core §3.1.2.3; threat 7; class CSRF]
describe('interaction: forms carry the token of their page [RFC 6749 §10.12] [39]', () => {
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
      expect((await submit(person, page)).status).to.equal(303)
    })
  }

  it('refuses the token of another interaction, and a form that the browser marks as sent by another site', async () => {
    const { person, page } = await openConsent()
    const { csrf } = (await openConsent()).page
    expect((await submit(person, page, { csrf })).status).to.equal(403)
    const sentBy = async (site: string) =>
      (await submit(person, page, {}, { 'sec-fetch-site': site })).status
    for (const site of ['cross-site', 'same-site', 'nonsense'])
      expect(await sentBy(site), site).to.equal(403)
    expect(await sentBy('same-origin')).to.equal(303)
  })

  it('does not read a token from JSON, plain text, multipart or the query', async () => {
    const { person, page } = await openConsent()
    const url = new URL(page.action, page.url)
    const part = `--x\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n${page.csrf}\r\n--x--\r\n`
    for (const [type, body] of [
      ['application/json', JSON.stringify({ csrf: page.csrf })],
      ['text/plain', encode({ csrf: page.csrf })],
      ['multipart/form-data; boundary=x', part],
    ] as const) {
      const headers = { 'content-type': type }
      const answer = await person.open(url, { method: 'POST', body, headers })
      expect(answer.status, type).to.be.oneOf([403, 415])
    }
    const queried = new URL(`${url.href}?csrf=${page.csrf}`)
    expect((await person.open(queried, { method: 'POST' })).status).to.equal(403)
    const cancel = new URL(`${url.href}/cancel?csrf=${page.csrf}`)
    expect((await person.open(cancel)).status).to.equal(404)
  })
})

// [Authentication 4; threat 6]
describe('interaction: consent covers exactly the request (design 2) [41]', () => {
  // [RFC 6749 §10.12]
  it('takes no scope, resource, client, person, site or grant from the form, and cannot be finished twice', async () => {
    const { person, page } = await openConsent({ scope: 'openid account:read' })
    const answer = await submit(person, page, {
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
    const callback = await person.authorize(targetOf(answer, page.url), notes.redirectUri)
    const code = callback.searchParams.get('code') ?? ''
    const { kysely } = service()
    const stored = await rowOf(kysely, 'oauth_state', { id: storedId('AuthorizationCode', code) })
    const issued = JSON.parse(stored.payload)
    expect(issued).to.include({
      accountId: 'per_sam',
      clientId: notes.clientId,
      scope: 'openid account:read',
      redirectUri: notes.redirectUri,
      resource: service().url,
    })
    const grant = await rowOf(kysely, 'oauth_grant', { id: issued.grantId })
    expect(grant.site_id).to.equal('sit_northlight')
    await expectRefused(await submit(person, page))
  })

  // [OpenID Connect Core §3.1.2.3; OpenID Connect Core §3.1.2.4; RFC 9700 §4.11.2]
  it('does not accept consent before the sign-in [43]', async () => {
    const { person, page } = await openSignIn()
    for (const prompt of ['consent', 'select_account']) {
      const jumped = { ...page, action: page.action.replace('login', prompt) }
      const posted = await submit(person, jumped, { site: 'sit_northlight' })
      expect(posted.status, prompt).to.equal(400)
      expect((await person.open(new URL(jumped.action, page.url))).status, prompt).to.equal(400)
    }
    expect((await openPage(person, resumeOf(page))).text).to.include('id="login-page"')
  })

  it('offers and accepts only sites that the person operates [design 15]', async () => {
    const { person, page } = await openConsent({ ...asClaude, scope: 'openid courses:read' }, amir)
    expect(page.url.pathname).to.match(/select_account$/)
    for (const site of ['sit_elsewhere', '', '__proto__', undefined, ['sit_northlight', 'x']]) {
      const answer = await submit(person, page, { site })
      expect(answer.status, String(site)).to.equal(422)
      expect(await answer.text()).to.include('id="site-problem"')
    }
    expect((await submit(person, page, { site: 'sit_northlight' })).status).to.equal(303)
  })

  // [RFC 6749 §4.1.2.1; What the service does 12]
  it('sends access_denied, state and iss, and no code, when the person refuses or has no role at the site [design 16]', async () => {
    const { url } = service()
    for (const [answers, reason] of [
      [{ ...sam, refuse: true }, ''],
      [june, 'no role at the site'],
    ] as const) {
      const answer = await authorize(url, {}, answers)
      const { error_description: said, ...rest } = Object.fromEntries(answer)
      expect(rest).to.deep.equal({ error: 'access_denied', state: 'the-state', iss: url })
      expect(said).to.include(reason)
    }
  })
})

// [threat 7]
describe('interaction: headers and cookies of the pages [RFC 9700 §4.16] [45]', () => {
  // [RFC 6749 §10.13; OpenID Connect Core §3.1.2.3; RFC 9700 §4.2.4; RFC 9700 §4.16]
  it('forbid frames, scripts and caching', async () => {
    for (const { headers } of [(await openSignIn()).page, (await openConsent()).page]) {
      expect(headers.get('content-security-policy'))
        .to.include("frame-ancestors 'none'")
        .and.match(/script-src ('none'|'sha256-[^']+'( 'sha256-[^']+')*);/)
        .and.include("base-uri 'none'")
      expect(headers.get('x-frame-options')).to.equal('DENY')
      expect(headers.get('cache-control')).to.equal('no-store')
      expect(headers.get('referrer-policy')).to.be.oneOf(['same-origin', 'no-referrer'])
      expect(headers.get('x-content-type-options')).to.equal('nosniff')
    }
  })

  it('set cookies as HttpOnly and SameSite=Lax, and the engine’s for the path of the interaction', async () => {
    const { pathname, search } = authorizeUrl(service().url)
    // Without TRUST_PROXY, the service must ignore this header, so no cookie is Secure.
    const headers = ['X-Forwarded-Proto', 'https']
    const answer = await send(service().url, { path: pathname + search, headers })
    const cookies = answer.headers.getSetCookie()
    expect(cookies.length).to.be.greaterThan(0)
    for (const cookie of cookies) {
      expect(cookie)
        .to.match(/; httponly/i)
        .and.match(/; samesite=lax/i)
        .and.match(
          /^gatehouse_visitor=.* path=\/;|path=\/(interaction|oauth\/authorize)\/[\w-]{43}/i,
        )
        .and.not.match(/; secure/i)
    }
  })

  // [threat 31; 201]
  it('set cookies whose values are stored only as digests, also while a consent is pending', async () => {
    const { person } = await obtainCode(service().url)
    const values = new Set<string>()
    for (const prompt of ['consent', 'none', 'login']) {
      const asked = await person.open(authorizeUrl(service().url, { prompt }))
      const cookies = asked.headers.getSetCookie().join(', ')
      values.add(/(?:^|, )gatehouse=([^;]+)/.exec(cookies)?.[1] ?? '')
    }
    const kept = JSON.stringify(await rowsOf(service().kysely, 'oauth_state'))
    expect(kept).to.include('"Interaction"').and.include('"Session"')
    for (const value of values) {
      expect(value).to.match(/^[\w-]{43}$/)
      expect(kept).to.include(sha256(value)).and.not.include(value)
    }
  })
})

// [threat 5]
describe('interaction: sign-in does not reveal which accounts exist (CVE-2026-23511) [47]', () => {
  const WITHIN = 0.3
  const logins = ['nobody@northlight.example', sam.login, 'theo@northlight.example']

  it('answers an unknown address, a wrong password and a disabled account alike', async () => {
    const texts = new Set<string>()
    for (const login of logins) {
      const { person, page } = await openSignIn()
      const answer = await submit(person, page, { login, password: 'correct-horse-theo' })
      expect(answer.status, login).to.equal(401)
      expect(answer.headers.getSetCookie().join()).to.not.match(/gatehouse=/)
      texts.add(withoutIds(await answer.text(), login))
    }
    expect(texts.size).to.equal(1)
    for (const login of ['', sam.login]) {
      const { person, page } = await openSignIn()
      expect((await submit(person, page, { login, password: '' })).status, login).to.equal(401)
    }
  })

  it('takes the same time for each of them', async function () {
    this.timeout(120_000)
    // On a shared machine a run may fail by chance. A real difference makes every run fail.
    this.retries(4)
    await using own = await startService({ realHashes: true, policy: withoutAnyLimit })
    const person = makeHeadlessPerson(sam)
    const page = await openPage(person, authorizeUrl(own.url))
    const times = new Map(logins.map((login) => [login, [] as number[]]))
    // Take turns, so that other load on the machine slows all logins alike.
    for (let run = 0; run < 25; run += 1) {
      for (const login of logins) {
        const started = performance.now()
        const answer = await submit(person, page, { login, password: 'wrong' })
        times.get(login)?.push(performance.now() - started)
        expect(answer.status).to.equal(401)
        await answer.text()
      }
    }
    // A busy machine makes runs slower, never faster, so compare the fastest.
    const [unknown = 0, ...known] = [...times.values()].map((all) => Math.min(...all))
    for (const fastest of known)
      expect(fastest).to.be.within(unknown * (1 - WITHIN), unknown * (1 + WITHIN))
  })

  function withoutIds(page: string, login: string): string {
    return page
      .replaceAll(login, 'LOGIN')
      .replaceAll(/\/interaction\/[^/"]+/g, '/interaction/UID')
      .replaceAll(/from=[\w-]+/g, 'from=UID')
      .replaceAll(/name="csrf" value="[^"]+"/g, 'CSRF')
  }
})
