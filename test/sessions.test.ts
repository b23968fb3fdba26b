import { sql } from 'kysely'

import { endSessions } from '../src/oauth/grants/end-access.ts'
import { describeDevice } from '../src/platform/http/browser.ts'
import { pages, paths } from '../src/platform/http/paths.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { authorizeUrl, openAuthorization } from './support/client.ts'
import { insert, rowsOf } from './support/database.ts'
import { flushingSoon, marco, noor, notes, olivia, policyWith, sam } from './support/gatehouse.ts'
import { hiddenField, makePagePerson, submitPage, targetOf } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { sharedService } from './support/storages.ts'

const MINUTE_MS = 60_000
const portal = '/admin/northlight/applications/northlight-portal'
const deletion = `${portal}/delete`

describe('pages that need a fresh sign-in', () => {
  let aheadMs = 0
  const policy = policyWith({ signIn: { freshSeconds: 120 } })
  const service = sharedService({ now: () => Date.now() + aheadMs, policy })
  beforeEach(() => {
    aheadMs = 0
  })

  /** Returns the parameters of the authorization request to which a response redirects, or undefined. */
  const asked = (response: Response) => {
    const { pathname, searchParams } = targetOf(response, service().url)
    return pathname === '/oauth/authorize' ? Object.fromEntries(searchParams) : undefined
  }

  /** Returns a browser's cookies from the engine as Set-Cookie values for another browser. */
  const engineCookies = ({ browser }: ReturnType<typeof makePagePerson>) =>
    browser
      .cookiesFor(new URL(service().url))
      .split('; ')
      .filter((each) => /^gatehouse[.=]/.test(each))
      .map((pair) => `${pair}; path=/`)

  it('ask for the password again after a time, whatever the request says, and reject forms; other pages do not [271]', async () => {
    const person = makePagePerson(service().url, olivia)
    const page = await person.visit(deletion)
    expect(page.status).to.equal(200)
    aheadMs = 3 * MINUTE_MS
    const again = { prompt: 'login', login_hint: olivia.login }
    const other = '/admin/northlight/resource-servers/demo-resource-server/delete'
    for (const path of [deletion, other, '/admin/northlight/applications/new'])
      expect(asked(await person.open(path))).to.include(again)
    const creating = ['applications', 'resource-servers'].map((each) => `/admin/northlight/${each}`)
    for (const path of [deletion, `${portal}/secrets`, ...creating]) {
      const body = new URLSearchParams({ csrf: hiddenField(page.text) })
      expect(asked(await person.open(path, { method: 'POST', body }))).to.include(again)
    }
    const unchanged = await person.visit(portal)
    expect(unchanged).to.include({ status: 200, path: portal })
    expect(unchanged.text).to.not.include('new-secret')
    const elsewhere = makePagePerson(service().url, olivia)
    expect(asked(await elsewhere.open(portal))).not.to.have.property('prompt')
    const edited = targetOf(await person.open(deletion), service().url)
    edited.searchParams.delete('prompt')
    const opened = await person.open(targetOf(await person.open(edited), edited))
    expect(opened.headers.get('location'), 'without the password').to.equal(deletion)
    expect(asked(await person.open(deletion))).to.include({ prompt: 'login' })
    expect(await person.visit(deletion)).to.include({ status: 200, path: deletion })
    expect((await person.open(deletion)).status).to.equal(200)
  })

  it('open only in the session in which the password was given, after its own authorization code [289]', async () => {
    const person = makePagePerson(service().url, olivia)
    await person.visit(portal)
    const copyOfBrowser = () => {
      const copy = makePagePerson(service().url, olivia)
      copy.browser.keep(new URL(service().url), engineCookies(person))
      return copy
    }
    const [early, late] = [copyOfBrowser(), copyOfBrowser()]
    await early.visit(portal)
    const request = targetOf(await late.open(portal), service().url)
    const held = targetOf(await late.open(request), request).href
    expect(held).to.include('/signed-in?code=')
    aheadMs = 3 * MINUTE_MS
    await person.visit(deletion)
    expect((await person.open(deletion)).status).to.equal(200)
    expect(asked(await early.open(deletion))).to.include({ prompt: 'login' })
    aheadMs = 0
    await late.visit(held)
    aheadMs = 3 * MINUTE_MS
    expect((await late.open(portal)).status).to.equal(200)
    expect(asked(await late.open(deletion))).to.include({ prompt: 'login' })
    expect((await person.open(deletion)).status).to.equal(200)
  })

  it('do not sign out a person who declines to give the password, and show the account if another tab has signed in first', async () => {
    const person = makePagePerson(service().url, olivia)
    await person.visit(portal)
    aheadMs = 3 * MINUTE_MS
    const start = targetOf(await person.open(deletion), service().url)
    const { pathname } = targetOf(await person.open(start), start)
    const shown = await (await person.open(pathname)).text()
    expect(shown).to.include('Confirm that it is you.')
    const body = new URLSearchParams({ csrf: hiddenField(shown) })
    const refused = await person.open(`${pathname}/cancel`, { method: 'POST', body })
    const resumed = await person.open(targetOf(refused, start))
    const back = await person.open(targetOf(resumed, start))
    expect(back.headers.get('location')).to.equal(pages.admin)
    expect((await person.visit(portal)).status).to.equal(200)
    const late = await person.visit(`${service().url}/signed-in?code=x&state=y`)
    expect(late).to.include({ status: 200, path: '/account' })
  })
})

describe('sessions of browsers', () => {
  let aheadMs = 0
  const service = sharedService({ now: () => Date.now() + aheadMs, policy: flushingSoon })
  beforeEach(() => {
    aheadMs = 0
  })

  /** Signs in at /account, in a new browser or in the given one. */
  const enter = async (who = sam, person = makeHeadlessPerson(who)) => {
    const { url } = service()
    const request = targetOf(await person.open(new URL(pages.account, url)), url)
    await person.open(await person.authorize(request, `${url}/signed-in`))
    return person
  }
  const at = (path: string) => new URL(path, service().url)
  const cookiesOf = (person: HeadlessPerson) => person.cookiesFor(at('/'))
  const request = async (path: string | URL, cookie: string, init: RequestInit = {}) =>
    await fetch(new URL(path, service().url), {
      ...init,
      redirect: 'manual',
      headers: { accept: 'text/html', cookie, ...init.headers },
    })
  /** Whether these cookies open our own pages, and whether they open applications without a password. */
  const lives = async (cookie: string) => {
    const page = await request(pages.account, cookie)
    const authorization = await request(authorizeUrl(service().url), cookie)
    const asks = authorization.headers.get('location')?.endsWith('/login')
    return { pages: page.status === 200, browser: asks === false }
  }
  const both = { pages: true, browser: true }
  const neither = { pages: false, browser: false }
  const post = async (person: HeadlessPerson, path: string, fields: Record<string, string>) =>
    await person.open(at(path), { method: 'POST', body: new URLSearchParams(fields) })
  const listed = async (person: HeadlessPerson) => {
    const text = await (await person.open(at(pages.sessions))).text()
    const ids = [...text.matchAll(/name="session" value="([^"]+)"/g)].map(([, id = '']) => id)
    return { text, ids, csrf: hiddenField(text) }
  }
  const endOthers = async (person: HeadlessPerson) => {
    const { csrf } = await listed(person)
    expect((await post(person, pages.endOtherSessions, { csrf })).status).to.equal(303)
  }

  it('are listed with browser, network and times, and ended one by one', async () => {
    const [here, there] = [await enter(noor), await enter(noor)]
    const { text, ids, csrf } = await listed(here)
    expect(text).to.include('This browser').and.include('127.0.0.0/24').and.include('Last used')
    expect(ids).to.have.length(1)
    const { headers } = await post(here, pages.endSession, { csrf, session: ids[0] ?? '' })
    expect(headers.get('location')).to.equal(`${pages.sessions}?done=ended`)
    expect(await lives(cookiesOf(there))).to.deep.equal(neither)
    expect(await lives(cookiesOf(here))).to.deep.equal(both)
    expect((await listed(here)).ids).to.deep.equal([])
    await enter(noor, there)
    expect(await lives(cookiesOf(there))).to.deep.equal(both)
  })

  it('get a new id at each sign-in, so a planted cookie is never signed in [264]', async () => {
    const [person, attacker] = [makeHeadlessPerson(sam), makeHeadlessPerson(sam)]
    // A sign-out request creates an anonymous session.
    await attacker.open(at(paths.endSession))
    const planted = cookiesOf(attacker)
    expect(planted).to.include('gatehouse=')
    for (const step of [() => attacker, () => person]) {
      await enter(sam, step())
      expect(await lives(planted)).to.deep.equal(neither)
    }
    const old = cookiesOf(person)
    await person.authorize(authorizeUrl(service().url, { prompt: 'login' }), notes.redirectUri)
    expect((await lives(old)).browser).to.equal(false)
    expect((await lives(cookiesOf(person))).browser).to.equal(true)
  })

  it('end only through a form of the same person, also in parallel [265; 266; 268]', async () => {
    const [victim, other, attacker] = [await enter(marco), await enter(marco), await enter(sam)]
    const { ids, csrf } = await listed(other)
    const session = ids[0] ?? ''
    const own = await listed(attacker)
    for (const [person, fields, headers] of [
      [attacker, { csrf: own.csrf, session }, {}],
      [other, { csrf: own.csrf, session }, {}],
      [other, { csrf, session }, { 'sec-fetch-site': 'cross-site' }],
    ] as const) {
      for (const path of [pages.endSession, pages.endOtherSessions])
        await person.open(at(path), { method: 'POST', body: new URLSearchParams(fields), headers })
    }
    expect(await lives(cookiesOf(victim))).to.deep.equal(both)
    const end = async () => await post(other, pages.endSession, { csrf, session })
    const ends = await Promise.all([end(), end(), end(), end(), end()])
    expect(ends.map(({ status }) => status)).to.deep.equal([303, 303, 303, 303, 303])
    expect(await lives(cookiesOf(victim))).to.deep.equal(neither)
    const ended = { action: 'sign_out.others', actor_person_id: 'per_marco' } as const
    const events = async () => await rowsOf(service().kysely, 'audit_event', ended)
    await eventually(5000, async () => expect(await events()).to.have.length(1))
  })

  // [267; 269]
  it('stay ended in a restored session store, and after another sign-in in that browser', async () => {
    const { kysely } = service()
    const [stolen, other] = [await enter(), await enter()]
    const cookie = cookiesOf(stolen)
    const copy = await rowsOf(kysely, 'oauth_state')
    await endOthers(other)
    const restore = async () => {
      await kysely.deleteFrom('oauth_state').execute()
      for (const row of copy) await insert(kysely, 'oauth_state', row)
      expect(await lives(cookie)).to.deep.equal(neither)
    }
    await restore()
    await enter(sam, stolen)
    expect(await lives(cookie)).to.deep.equal(neither)
    await restore()
    expect(await lives(cookiesOf(other))).to.deep.equal(both)
  })

  it('do not show text from a User-Agent header [270]', async () => {
    for (const [header, device] of [
      ['Mozilla/5.0 (Windows NT 10.0; Win64) Gecko/20100101 Firefox/140.0', 'Firefox on Windows'],
      ['Mozilla/5.0 (iPhone; CPU like Mac OS X) Mobile Safari/604.1', 'Safari on iPhone'],
      ['Mozilla/5.0 (Linux; Android 15) Chrome/138.0 Mobile Safari/537.36', 'Chrome on Android'],
      ['Mozilla/5.0 (Macintosh; Intel Mac OS X) Chrome/138.0 Edg/138.0', 'Edge on Mac'],
      ['<script>alert(1)</script>', 'Unknown browser'],
      ['x'.repeat(100_000), 'Unknown browser'],
      ['', 'Unknown browser'],
    ])
      expect(describeDevice(header ?? '')).to.equal(device)
    const person = await enter(marco)
    const login = authorizeUrl(service().url, { prompt: 'login' })
    aheadMs = 6 * MINUTE_MS
    await person.open(login, { headers: { 'user-agent': '<b>Chrome/1</b> on Linux' } })
    const { text } = await listed(person)
    expect(text).to.include('<h2>Chrome on Linux</h2>').and.not.include('<b>')
    const huge = await request('/', '', { headers: { 'user-agent': 'x'.repeat(100_000) } })
    expect(huge.status).to.equal(431)
  })

  it('do not begin with a password given before the sessions ended, or checked while they end [272]', async () => {
    const { url, kysely } = service()
    await enter(olivia)
    const person = makeHeadlessPerson(olivia)
    const given = await submitPage(person, await openAuthorization(person, url), olivia)
    await kysely.transaction().execute((trx) => endSessions(trx, ['per_olivia'], Date.now()))
    expect(await rowsOf(kysely, 'browser_session', { person_id: 'per_olivia' })).to.deep.equal([])
    expect((await person.open(targetOf(given, url))).headers.get('location')).to.match(/\/login$/)
    // A consent page that was open when the sessions ended must not complete the earlier sign-in.
    const other = await enter(olivia)
    const openConsent = async () => {
      const late = makeHeadlessPerson(olivia)
      const signedIn = await submitPage(late, await openAuthorization(late, url), olivia)
      const consent = targetOf(await late.open(targetOf(signedIn, url)), url)
      expect(consent.pathname).to.match(/\/(consent|select_account)$/)
      const csrf = hiddenField(await (await late.open(consent)).text())
      const submit = () => post(late, consent.href, { csrf, site: 'sit_northlight' })
      return { late, consent, submit }
    }
    const [{ late, consent, submit }, submitted] = [await openConsent(), await openConsent()]
    const resume = targetOf(await submitted.submit(), url)
    const grants = await rowsOf(kysely, 'oauth_grant')
    await endOthers(other)
    expect((await submitted.late.open(resume)).headers.get('location')).to.match(/\/login$/)
    expect((await late.open(consent)).status).to.equal(400)
    expect((await submit()).status).to.equal(400)
    expect(await rowsOf(kysely, 'oauth_grant')).to.deep.equal(grants)
    expect(await lives(cookiesOf(late))).to.deep.equal(neither)
    // A sign-in with a new browser queues a mail after the password check and before the session begins.
    await sql`create trigger sign_out_meanwhile after insert on outbox begin
      update person set signed_out_at = cast(unixepoch('subsec') * 1000 as integer)
      where id = 'per_marco'; end`.execute(kysely)
    const checked = makeHeadlessPerson(marco)
    const passed = await submitPage(checked, await openAuthorization(checked, url), marco)
    await sql`drop trigger sign_out_meanwhile`.execute(kysely)
    expect((await checked.open(targetOf(passed, url))).headers.get('location')).to.match(/\/login$/)
  })

  it('end after 14 days without use, and 90 days after the password [273]', async () => {
    const DAY_MS = 24 * 60 * MINUTE_MS
    const [idle, used] = [await enter(), await enter()]
    aheadMs = 13 * DAY_MS
    expect((await lives(cookiesOf(used))).browser).to.equal(true)
    aheadMs = 15 * DAY_MS
    expect(await lives(cookiesOf(idle))).to.deep.equal(neither)
    for (aheadMs = 26 * DAY_MS; aheadMs < 90 * DAY_MS; aheadMs += 13 * DAY_MS)
      expect((await lives(cookiesOf(used))).browser, `${aheadMs / DAY_MS} days`).to.equal(true)
    aheadMs = 90 * DAY_MS + MINUTE_MS
    expect(await lives(cookiesOf(used))).to.deep.equal(neither)
  })
})
