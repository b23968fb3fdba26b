import { paths } from '../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { openAuthorization, userinfo } from './support/client.ts'
import { change, rowsOf } from './support/database.ts'
import {
  amir,
  flushingSoon,
  june,
  marco,
  noor,
  olivia,
  sam,
  startService,
} from './support/gatehouse.ts'
import { follow } from './support/identity-provider.ts'
import {
  confirmSignOut,
  cookiesIn,
  linkOf,
  makePagePerson,
  targetOf,
  textOf,
} from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/storages.ts'
import { encode } from './support/wire.ts'

const removeSamsNotes = '/account/apps/remove?client=northlight-notes&site=sit_northlight'

describe('/account', () => {
  const service = sharedService({ policy: flushingSoon })

  describe('signing in', () => {
    it('replaces the session at each sign-in, in a cookie that no script can read', async () => {
      const first = await signInByHand('')
      expect(await statusOfAccount(first)).to.equal(200)
      const second = await signInByHand(first)
      expect(second).not.to.equal(first)
      expect(await statusOfAccount(second)).to.equal(200)
      expect(await statusOfAccount(first)).to.equal(303)
    })

    const openWith = async (address: URL, cookie: string) =>
      await fetch(address, { redirect: 'manual', headers: { cookie } })

    async function signInByHand(cookies: string): Promise<string> {
      const { url } = service()
      const start = await fetch(`${url}/account`, { redirect: 'manual' })
      const request = targetOf(start, url)
      for (const name of ['state', 'nonce', 'code_challenge'])
        expect(request.searchParams.get(name), name).to.have.length.above(40)
      const callback = await makeHeadlessPerson(sam).authorize(request, `${url}/signed-in`)
      const sealed = cookiesIn(start.headers.getSetCookie())
      const back = await openWith(callback, [sealed, cookies].filter(Boolean).join('; '))
      const lines = back.headers.getSetCookie().filter((line) => line.startsWith('gatehouse_pages'))
      const last = new Map(lines.map((line) => [line.split('=')[0], line]))
      for (const line of last.values())
        expect(line).to.match(/; path=\/; .*; samesite=lax; httponly$/)
      return cookiesIn([...last.values()])
    }

    async function statusOfAccount(cookie: string): Promise<number> {
      return (await openWith(new URL('/account', service().url), cookie)).status
    }
  })

  it('shows name, e-mail address and every site with the roles there', async () => {
    const { text } = await makePagePerson(service().url, marco).visit('/account')
    expect(text).to.include('Marco Bellini').and.include('marco@openkitchen.example')
    expect(text).to.match(/Open Kitchen School.*your roles: lecturer and owner/s)
    expect(text).to.match(/Northlight Academy.*your role: student/s)
    expect(text).to.include('href="/admin/open-kitchen"')
    expect(text).to.not.include('href="/admin/northlight"')
  })

  describe('Connected apps', () => {
    it('shows the application, its kind, its site and its scopes', async () => {
      const scope = 'openid email account:read account:write'
      await getTokens(service().url, { person: noor, scope })
      const { text } = await makePagePerson(service().url, noor).visit('/account/apps')
      expect(text).to.include('Course Notes')
      expect(text).to.include('An app set up by the team of Northlight Academy.')
      expect(text).to.match(/Can see.*your e-mail address.*your courses, other purchases/s)
      expect(text).to.match(/Can change.*which notifications are read/s)
      expect(text).not.to.include('gatehouse-pages')
    })

    it('counts calls and shows the time of the last one', async () => {
      const { tokens } = await getTokens(service().url, { person: amir })
      const person = makePagePerson(service().url, amir)
      expect((await person.visit('/account/apps')).text).to.include('not yet')
      for (let call = 0; call < 3; call += 1) await userinfo(service().url, tokens.access_token)
      await eventually(10_000, async () => {
        const { text } = await person.visit('/account/apps')
        expect(text).to.include('3 calls').and.not.include('not yet')
      })
    })

    it('asks before it removes an app, and answers 404 for one of another person', async () => {
      const { tokens } = await getTokens(service().url)
      const stranger = makePagePerson(service().url, june)
      expect((await stranger.visit(removeSamsNotes)).status).to.equal(404)
      const app = { client: 'northlight-notes', site: 'sit_northlight' }
      const sent = { ...app, csrf: await stranger.csrf() }
      expect((await stranger.post('/account/apps/remove', sent)).status).to.equal(404)
      expect((await userinfo(service().url, tokens.access_token)).status).to.equal(200)
      const person = makePagePerson(service().url, sam)
      const asked = await person.visit(removeSamsNotes)
      expect(asked.text).to.include('can no longer see or change anything in your account')
      const done = await person.send(asked, '/account/apps/remove')
      expect(done.path).to.equal('/account/apps?done=removed')
      expect(done.text).to.include('id="no-apps"')
    })
  })

  it('shows times in the time zone that the person chose for the browser, and else in UTC', async () => {
    const person = makePagePerson(service().url, olivia)
    const made = async () =>
      (await person.visit('/admin/northlight/applications/northlight-notes')).text
    expect(await made()).to.match(/:\d\d UTC<\/time>/)
    const choose = (zone: string) => person.submit('/account', { zone }, '/account/language')
    expect((await choose('Asia/Tokyo')).text).to.include('<option selected>Asia/Tokyo')
    await choose('Nowhere/Else')
    expect(await made()).to.match(/:\d\d GMT\+9<\/time>/)
  })

  it('lets a member choose notifications, and keeps those of other people', async () => {
    const enabled = async (person_id: string) => {
      const all = await rowsOf(service().kysely, 'notification_subscription', { person_id })
      return all.flatMap(({ id, enabled_at }) => (enabled_at === null ? [] : { id }))
    }
    const person = makePagePerson(service().url, sam)
    const page = await person.visit('/account/notifications')
    const ids = [...page.text.matchAll(/name="subscription" value="([^"]+)"( checked)?/g)]
    const ticked = ids.filter(([, , checked]) => checked).map(([, id]) => ({ id }))
    expect(await enabled('per_sam')).to.have.deep.members(ticked)
    const others = await enabled('per_noor')
    const [first = '', last = ''] = [ids.at(0)?.[1], ids.at(-1)?.[1]]
    const subscription = [first, last, others[0]?.id ?? 'unknown']
    const saved = await person.send(page, '/account/notifications', { subscription })
    expect(textOf(saved, 'done')).to.equal('Your choice was saved.')
    expect(await enabled('per_sam')).to.have.deep.members([{ id: first }, { id: last }])
    expect(await enabled('per_noor')).to.have.deep.members(others)
  })

  describe('signing out', () => {
    it('here ends the sessions of the pages and of the browser at once', async () => {
      const person = makePagePerson(service().url, sam)
      const done = await person.submit('/account', {}, '/sign-out')
      expect(done.text).to.include('id="logout-success"')
      expect((await person.open('/account')).status).to.equal(303)
      const silent = await openAuthorization(person, service().url, { prompt: 'none' })
      expect(silent.searchParams.get('error')).to.equal('login_required')
    })

    it('is not needed to open a page with another account', async () => {
      const person = makePagePerson(service().url, sam)
      const refused = await person.visit('/admin/northlight')
      expect(textOf(refused, 'error-message')).to.include('does not have the role')
      expect(textOf(refused, 'error-description')).to.match(/^only owners and admins/)
      const href = linkOf(refused, 'switch-account')
      const started = targetOf(await person.open(href), service().url)
      expect(started.searchParams.get('prompt')).to.equal('login')
      expect(started.searchParams.has('login_hint')).to.equal(false)
      expect((await person.visit(href)).path).to.equal('/admin/northlight')
      for (const to of ['//evil.example/', 'https://evil.example/', ''])
        expect((await person.visit(`/switch-account?${encode({ to })}`)).path).to.equal('/account')
    })

    it('at the logout endpoint ends the session of the pages too (RP-Initiated Logout)', async () => {
      const person = makePagePerson(service().url, sam)
      await person.visit('/account')
      await confirmSignOut(person, new URL(paths.endSession, service().url))
      expect((await person.open('/account')).status).to.equal(303)
    })

    it('everywhere ends the sessions of every browser, but no tokens', async () => {
      const { person: elsewhere, tokens, start } = await getTokens(service().url, { person: noor })
      const here = makePagePerson(service().url, noor)
      const there = makePagePerson(service().url, noor)
      await there.visit('/account')
      const done = await here.submit('/account/sign-out-everywhere')
      expect(done.text).to.include('id="signed-out-everywhere-page"')

      expect((await there.open('/account')).status).to.equal(303)
      expect((await here.open('/account')).status).to.equal(303)
      expect((await follow(elsewhere, start)).text).to.include('id="login-page"')
      expect((await userinfo(service().url, tokens.access_token)).status).to.equal(200)
    })
  })

  it('promises at the sign-in to an app, but not to its own pages, that the app never sees the password', async () => {
    const ofOwnPage = await follow(makeHeadlessPerson(noor), new URL('/account', service().url))
    expect(ofOwnPage.text).to.include('id="login-page"').and.not.include('never sees your password')
    const person = makeHeadlessPerson(noor)
    const ofApp = await follow(person, await openAuthorization(person, service().url))
    expect(ofApp.text).to.include('id="login-page"').and.include('never sees your password')
  })

  it('signs a disabled person out of the pages and of the browser', async () => {
    await using own = await startService()
    const person = makePagePerson(own.url, sam)
    expect((await person.visit('/account')).status).to.equal(200)
    await change(own.kysely, 'person', { id: 'per_sam' }, { disabled_at: Date.now() })
    expect((await person.open('/account')).status).to.equal(303)
    const silent = await openAuthorization(person, own.url, { prompt: 'none' })
    expect(silent.searchParams.get('error')).to.equal('login_required')
    const again = await openAuthorization(person, own.url)
    expect(again.pathname).to.match(/^\/interaction\/[^/]+\/login$/)
  })
})
