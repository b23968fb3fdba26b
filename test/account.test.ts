import { expect } from 'chai'
import * as oidc from 'openid-client'

import {
  amir,
  june,
  marco,
  noor,
  notes,
  type RunningService,
  sam,
  startService,
} from './support/gatehouse.ts'
import { makePagePerson } from './support/page-person.ts'
import { getTokens, type signIn } from './support/relying-party.ts'

const removeSamsNotes = '/account/apps/remove?client=northlight-notes&site=sit_northlight'

describe('/account', () => {
  let service: RunningService
  before(async () => {
    service = await startService({
      policy: (policy) => ({ ...policy, storage: { ...policy.storage, usageFlushSeconds: 1 } }),
    })
  })
  after(async () => await service[Symbol.asyncDispose]())

  describe('signing in', () => {
    it('goes through the authorization endpoint of this very service, with PKCE, state and nonce', async () => {
      const response = await makePagePerson(service.url, sam).open('/account/apps')
      const address = new URL(response.headers.get('location') ?? '', service.url)
      expect(response.status).to.equal(303)
      expect(address.pathname).to.equal('/oauth/authorize')
      expect(Object.fromEntries(address.searchParams)).to.include({
        client_id: 'gatehouse-pages',
        response_type: 'code',
        code_challenge_method: 'S256',
        scope: 'openid',
      })
      for (const name of ['state', 'nonce', 'code_challenge']) {
        expect(address.searchParams.get(name)).to.have.length.above(40)
      }
    })

    it('asks for no consent, and comes back to the page that was asked for', async () => {
      const page = await makePagePerson(service.url, sam).visit('/account/apps')
      expect(page).to.include({ status: 200, path: '/account/apps' })
      expect(page.text).to.include('id="apps-page"')
    })

    it('begins a new session at each sign-in and ends the old one, in a cookie that no script reads', async () => {
      const first = await signInByHand('')
      expect(await statusOfAccount(first)).to.equal(200)
      const second = await signInByHand(first)
      expect(second).not.to.equal(first)
      expect(await statusOfAccount(second)).to.equal(200)
      expect(await statusOfAccount(first)).to.equal(303)
    })

    it('refuses an answer that this browser did not ask for (login CSRF)', async () => {
      const start = await makePagePerson(service.url, sam).open('/account')
      const stranger = makePagePerson(service.url, noor)
      const { callback } = await ownCallback(start.headers.get('location') ?? '')
      const response = await stranger.open(callback.pathname + callback.search)
      expect(response.status).to.equal(400)
      expect(response.headers.getSetCookie().join()).not.to.include('gatehouse_pages')
    })

    it('refuses a cookie that this service did not seal', async () => {
      const response = await fetch(`${service.url}/signed-in?code=x&state=x`, {
        redirect: 'manual',
        headers: { cookie: `gatehouse_sign_in=${'A'.repeat(80)}` },
      })
      expect(response.status).to.equal(400)
    })

    it('redeems a code once only', async () => {
      const person = makePagePerson(service.url, sam)
      const start = await person.open('/account')
      const sealed = start.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      const { callback } = await ownCallback(start.headers.get('location') ?? '')
      const open = async () =>
        await fetch(callback, { redirect: 'manual', headers: { cookie: sealed } })
      expect((await open()).status).to.equal(303)
      expect((await open()).status).to.equal(400)
    })

    async function ownCallback(start: string) {
      const { makeHeadlessPerson } = await import('../tools/token/headless-person.ts')
      const address = new URL(start, service.url)
      const browser = makeHeadlessPerson(sam)
      return { callback: await browser.authorize(address, `${service.url}/signed-in`) }
    }

    /** Signs in with these cookies; gives those of the new session. */
    async function signInByHand(cookies: string): Promise<string> {
      const start = await fetch(`${service.url}/account`, { redirect: 'manual' })
      const { callback } = await ownCallback(start.headers.get('location') ?? '')
      const sealed = start.headers.getSetCookie()[0]?.split(';')[0] ?? ''
      const back = await fetch(callback, {
        redirect: 'manual',
        headers: { cookie: [sealed, cookies].filter(Boolean).join('; ') },
      })
      const lines = back.headers.getSetCookie().filter((line) => line.startsWith('gatehouse_pages'))
      const last = new Map(lines.map((line) => [line.split('=')[0], line]))
      for (const line of last.values())
        expect(line).to.match(/; path=\/; .*; samesite=lax; httponly$/)
      return [...last.values()].map((line) => line.split(';')[0]).join('; ')
    }

    async function statusOfAccount(cookie: string): Promise<number> {
      const options = { redirect: 'manual', headers: { cookie } } as const
      return (await fetch(`${service.url}/account`, options)).status
    }
  })

  it('shows name, e-mail address and every site with the roles held there', async () => {
    const { text } = await makePagePerson(service.url, marco).visit('/account')
    expect(text).to.include('Marco Bellini').and.include('marco@openkitchen.example')
    expect(text).to.match(/Open Kitchen School.*your roles: lecturer and owner/s)
    expect(text).to.match(/Northlight Academy.*your role: student/s)
    expect(text)
      .to.include('href="/admin/open-kitchen"')
      .and.not.include('href="/admin/northlight"')
  })

  describe('Connected apps', () => {
    it('names the application, its kind, its site and what it can see and change', async () => {
      await getTokens(service.url, {
        person: noor,
        scope: 'openid email account:read account:write',
      })
      const { text } = await makePagePerson(service.url, noor).visit('/account/apps')
      expect(text).to.include('Course Notes')
      expect(text).to.include('An application set up by the team of Northlight Academy.')
      expect(text).to.match(/Can see.*your e-mail address.*your courses, other purchases/s)
      expect(text).to.match(/Can change.*which notifications are read/s)
      expect(text).not.to.include('gatehouse-pages')
    })

    it('counts calls and says when the last one was, within seconds and not at the call', async () => {
      const { tokens, configuration } = await getTokens(service.url, { person: amir })
      const person = makePagePerson(service.url, amir)
      expect((await person.visit('/account/apps')).text).to.include('not yet')
      for (let call = 0; call < 3; call += 1) {
        await oidc.fetchUserInfo(configuration, tokens.access_token, 'per_amir')
      }
      const text = await eventually(
        async () => (await person.visit('/account/apps')).text,
        (page) => page.includes('3 calls'),
      )
      expect(text).to.include('3 calls').and.not.include('not yet')
    })

    it('asks once before it removes one, and then its tokens are dead at once', async () => {
      const { tokens, configuration } = await getTokens(service.url)
      const person = makePagePerson(service.url, sam)
      const asked = await person.visit(removeSamsNotes)
      expect(asked.text).to.include('loses its access to your account')
      await oidc.fetchUserInfo(configuration, tokens.access_token, 'per_sam')

      const done = await person.send(asked, '/account/apps/remove')
      expect(done.path).to.equal('/account/apps?done=removed')
      expect(done.text).to.include('id="no-apps"')
      expect(await statusOfUserInfo(tokens.access_token)).to.equal(401)
      const refused = await oidc
        .refreshTokenGrant(configuration, tokens.refresh_token ?? '')
        .catch((error) => error)
      expect(refused.error).to.equal('invalid_grant')
    })

    it('brings no old token back to life when the same browser connects the application again', async () => {
      const { person: browser, tokens, start } = await getTokens(service.url)
      const person = makePagePerson(service.url, sam)
      await person.send(await person.visit(removeSamsNotes), '/account/apps/remove')
      // The browser session remembers the grant that was removed.
      const page = await followToPage(browser, start)
      expect(page).to.include('id="consent-page"')
      await browser.authorize(start, notes.redirectUri)
      expect(await statusOfUserInfo(tokens.access_token)).to.equal(401)
    })

    it('answers 404 for what somebody else connected, and touches nothing', async () => {
      const { tokens } = await getTokens(service.url)
      const stranger = makePagePerson(service.url, june)
      expect((await stranger.visit(removeSamsNotes)).status).to.equal(404)
      const home = await stranger.visit('/account')
      const csrf = /name="csrf" value="([^"]+)"/.exec(home.text)?.[1] ?? ''
      const fields = { csrf, client: 'northlight-notes', site: 'sit_northlight' }
      expect((await stranger.post('/account/apps/remove', fields)).status).to.equal(404)
      expect(await statusOfUserInfo(tokens.access_token)).to.equal(200)
    })

    it('refuses a form that does not carry the token of its page', async () => {
      const { tokens } = await getTokens(service.url)
      const person = makePagePerson(service.url, sam)
      await person.visit('/account')
      const fields = { csrf: 'guessed', client: 'northlight-notes', site: 'sit_northlight' }
      expect((await person.post('/account/apps/remove', fields)).status).to.equal(403)
      expect(await statusOfUserInfo(tokens.access_token)).to.equal(200)
    })
  })

  describe('signing out', () => {
    it('here ends the session of the pages and then the session of the browser', async () => {
      const person = makePagePerson(service.url, sam)
      const asked = await person.send(await person.visit('/account'), '/sign-out')
      expect(asked.text).to.include('id="logout-page"')
      const action = /<form id="op.logoutForm" method="post" action="([^"]+)"/.exec(asked.text)?.[1]
      const xsrf = /name="xsrf" value="([^"]+)"/.exec(asked.text)?.[1] ?? ''
      const out = await person.post(new URL(action ?? '').pathname, { xsrf, logout: 'yes' })
      expect(out.text).to.include('id="logout-success"')
      const again = await person.open('/account')
      const silent = `${again.headers.get('location')}&prompt=none`
      const answer = await person.open(silent)
      expect(answer.headers.get('location')).to.include('error=login_required')
    })

    it('at the logout endpoint ends the session of the pages too (RP-Initiated Logout)', async () => {
      const person = makePagePerson(service.url, sam)
      await person.visit('/account')
      const asked = await person.visit('/oauth/logout')
      const xsrf = /name="xsrf" value="([^"]+)"/.exec(asked.text)?.[1] ?? ''
      await person.post('/oauth/logout/confirm', { xsrf, logout: 'yes' })
      expect((await person.open('/account')).status).to.equal(303)
    })

    it('everywhere ends the sessions of every browser, and keeps the tokens of applications', async () => {
      const { person: elsewhere, tokens, start } = await getTokens(service.url, { person: noor })
      const [here, there] = [0, 1].map(() => makePagePerson(service.url, noor))
      if (!here || !there) throw new Error('two people were made')
      await there.visit('/account')
      const asked = await here.visit('/account/sign-out-everywhere')
      const done = await here.send(asked, '/account/sign-out-everywhere')
      expect(done.text).to.include('id="signed-out-everywhere-page"')

      expect((await there.open('/account')).status).to.equal(303)
      expect((await here.open('/account')).status).to.equal(303)
      // Within the second of the sign-out no session of that second counts.
      expect(await followToPage(elsewhere, start)).to.include('id="login-page"')
      expect(await statusOfUserInfo(tokens.access_token)).to.equal(200)
    })
  })

  it('signs a disabled person out at the next request', async () => {
    await using own = await startService()
    const person = makePagePerson(own.url, sam)
    expect((await person.visit('/account')).status).to.equal(200)
    await own.service.stores.database.kysely
      .updateTable('person')
      .set({ disabled_at: Date.now() })
      .where('id', '=', 'per_sam')
      .execute()
    expect((await person.open('/account')).status).to.equal(303)
  })

  async function statusOfUserInfo(token: string): Promise<number> {
    const response = await fetch(`${service.url}/api/oauth/userinfo`, {
      headers: { authorization: `Bearer ${token}` },
    })
    return response.status
  }

  /** The first page that an authorization request of this browser leads to. */
  async function followToPage(
    browser: Awaited<ReturnType<typeof signIn>>['person'],
    start: URL,
  ): Promise<string> {
    let address = start
    for (let step = 0; step < 5; step += 1) {
      const response = await browser.open(address)
      const location = response.headers.get('location')
      if (!location) return await response.text()
      address = new URL(location, address)
    }
    throw new Error('no page came')
  }
})

/** Asks again until the answer is as expected, for ten seconds at most. */
async function eventually<Value>(
  ask: () => Promise<Value>,
  expected: (value: Value) => boolean,
): Promise<Value> {
  const until = Date.now() + 10_000
  for (;;) {
    const value = await ask()
    if (expected(value) || Date.now() > until) return value
  }
}
