import { paths } from '../src/platform/http/paths.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { authorizeUrl, openAuthorization, userinfo } from './support/client.ts'
import { change, rowsOf } from './support/database.ts'
import { flushingSoon, june, marco, noor, olivia, sam, startService } from './support/gatehouse.ts'
import { follow } from './support/identity-provider.ts'
import {
  confirmSignOut,
  cookiesIn,
  linkOf,
  makePagePerson,
  matchesIn,
  targetOf,
  textOf,
} from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/storages.ts'
import { encode, expectText } from './support/wire.ts'

const removeSamsNotes = '/account/apps/remove?client=northlight-notes&site=sit_northlight'

describe('/account', () => {
  const service = sharedService({ policy: flushingSoon })

  it('replaces the session at each sign-in, in a cookie that no script can read', async () => {
    const { url } = service()
    const open = async (address: URL | string, cookie: string) =>
      await fetch(address, { redirect: 'manual', headers: { cookie } })
    const statusOf = async (cookie: string) => (await open(`${url}/account`, cookie)).status
    const signIn = async (cookies: string) => {
      const start = await open(`${url}/account`, '')
      const request = targetOf(start, url)
      for (const name of ['state', 'nonce', 'code_challenge'])
        expect(request.searchParams.get(name), name).to.have.length.above(40)
      const callback = await makeHeadlessPerson(sam).authorize(request, `${url}/signed-in`)
      const sealed = cookiesIn(start.headers.getSetCookie())
      const back = await open(callback, [sealed, cookies].filter(Boolean).join('; '))
      const lines = back.headers.getSetCookie().filter((line) => line.startsWith('gatehouse_pages'))
      const last = [...new Map(lines.map((line) => [line.split('=')[0], line])).values()]
      for (const line of last) expect(line).to.match(/; path=\/; .*; samesite=lax; httponly$/)
      return cookiesIn(last)
    }
    const first = await signIn('')
    expect(await statusOf(first)).to.equal(200)
    const second = await signIn(first)
    expect(second).not.to.equal(first)
    expect(await statusOf(second)).to.equal(200)
    expect(await statusOf(first)).to.equal(303)
  })

  it('shows name, e-mail address and every site with the roles there', async () => {
    const { text } = await makePagePerson(service().url, marco).visit('/account')
    expectText(text, 'Marco Bellini', 'marco@openkitchen.example', 'href="/admin/open-kitchen"')
    expect(text).to.match(/Open Kitchen School.*your roles: lecturer and owner/s)
    expect(text).to.match(/Northlight Academy.*your role: student/s)
    expect(text).to.not.include('href="/admin/northlight"')
  })

  it('shows each connected app with its kind, its site, its scopes, its calls and the time of the last one', async () => {
    const scope = 'openid email account:read account:write'
    const { tokens } = await getTokens(service().url, { person: noor, scope })
    const person = makePagePerson(service().url, noor)
    const { text } = await person.visit('/account/apps')
    expectText(text, 'Course Notes', 'An app set up by the team of Northlight Academy.', 'not yet')
    expect(text).to.match(/Can see.*your e-mail address.*your courses, other purchases/s)
    expect(text).to.match(/Can change.*which notifications are read/s)
    expect(text).not.to.include('gatehouse-pages')
    for (let call = 0; call < 3; call += 1) await userinfo(service().url, tokens.access_token)
    await eventually(10_000, async () => {
      const { text } = await person.visit('/account/apps')
      expect(text).to.include('3 calls').and.not.include('not yet')
    })
  })

  it('asks before it removes a connected app, and answers 404 for another person’s app', async () => {
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

  it('shows times in the time zone that the person chose for the browser, or else in UTC', async () => {
    const person = makePagePerson(service().url, olivia)
    const made = async () =>
      (await person.visit('/admin/northlight/applications/northlight-notes')).text
    expect(await made()).to.match(/:\d\d UTC<\/time>/)
    const choose = (zone: string) => person.submit('/account', { zone }, '/account/language')
    expect((await choose('Asia/Tokyo')).text).to.include('<option selected>Asia/Tokyo')
    await choose('Nowhere/Else')
    expect(await made()).to.match(/:\d\d GMT\+9<\/time>/)
  })

  it('lets a member choose notifications, and leaves other people’s choices unchanged', async () => {
    const enabled = async (person_id: string) => {
      const all = await rowsOf(service().kysely, 'notification_subscription', { person_id })
      return all.flatMap(({ id, enabled_at }) => (enabled_at === null ? [] : id))
    }
    const person = makePagePerson(service().url, sam)
    const page = await person.visit('/account/notifications')
    const ticked = matchesIn(page.text, /name="subscription" value="([^"]+)" checked/g)
    expect(await enabled('per_sam')).to.have.members(ticked)
    const others = await enabled('per_noor')
    const ids = matchesIn(page.text, /name="subscription" value="([^"]+)"/g)
    const chosen = [ids.at(0) ?? '', ids.at(-1) ?? '']
    const subscription = [...chosen, others[0] ?? 'unknown']
    const saved = await person.send(page, '/account/notifications', { subscription })
    expect(textOf(saved, 'done')).to.equal('Your choice was saved.')
    expect(await enabled('per_sam')).to.have.members(chosen)
    expect(await enabled('per_noor')).to.have.members(others)
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

    it('everywhere ends the sessions of every browser, but does not revoke tokens', async () => {
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
    const ofApp = await follow(makeHeadlessPerson(noor), authorizeUrl(service().url))
    expectText(ofApp.text, 'id="login-page"', 'never sees your password')
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
