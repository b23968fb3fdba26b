import { UnsecuredJWT } from 'jose'
import * as oidc from 'openid-client'

import { paths } from '../src/platform/http/paths.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { refresh, register, userinfo } from './support/client.ts'
import { notes, olivia, sam } from './support/gatehouse.ts'
import { confirmSignOut, makePagePerson, targetOf, textOf } from './support/page-person.ts'
import { type Asking, getTokens } from './support/relying-party.ts'
import { sharedService } from './support/storages.ts'
import { encode, type Fields } from './support/wire.ts'

const back = 'https://notes.example/signed-out'
const unsigned = (aud: string) => new UnsecuredJWT({ aud, sub: 'per_sam' }).encode()
const toNotes = { client_id: notes.clientId, post_logout_redirect_uri: back }

describe('/oauth/logout [design 27]', () => {
  const service = sharedService()

  const address = (fields: Fields = {}) =>
    new URL(`${paths.endSession}?${encode(fields)}`, service().url)

  /** Confirms the sign-out. Returns the URL to which it redirects. */
  const destination = async (person: HeadlessPerson, url: URL) => {
    const { status, headers } = await confirmSignOut(person, url)
    expect(status).to.equal(303)
    return headers.get('location')
  }

  // [RP-Initiated Logout §2; RP-Initiated Logout §6]
  it('asks first, because any page of the web can send a person here, and refuses a form without its token', async () => {
    const { person, tokens, start } = await getTokens(service().url)
    const asked = async (fields: Fields) => await (await person.open(address(fields))).text()
    const hint = { id_token_hint: tokens.id_token }
    for (const fields of [{}, hint, { ...hint, post_logout_redirect_uri: back }])
      expect(await asked(fields))
        .to.include('id="logout-page"')
        .and.not.include('address-ignored')
    expect(await asked({ post_logout_redirect_uri: back }), 'no client is named')
      .to.include('id="address-ignored"')
      .and.not.include(back)
    const forged = await person.open(new URL(`${paths.endSession}/confirm`, service().url), {
      method: 'POST',
      body: new URLSearchParams({ logout: 'yes', xsrf: 'guessed' }),
    })
    expect(forged.status).to.equal(400)
    expect(await forged.text()).to.include('id="error-page"')
    await confirmSignOut(person, address(), {})
    expect(await stillSignedIn(person, start), 'the person stays').to.equal(true)
  })

  // [RP-Initiated Logout §2]
  it('ends the session, keeps tokens, and shows a page when there is no destination', async () => {
    const { url } = service()
    const { person, start, tokens } = await getTokens(url)
    const page = await person.open(new URL((await destination(person, address())) ?? '', url))
    expect(await page.text()).to.include('id="logout-success"')
    expect(await stillSignedIn(person, start)).to.equal(false)
    expect((await userinfo(url, tokens.access_token)).status).to.equal(200)
    expect((await refresh(url, tokens.refresh_token ?? '')).status).to.equal(200)
  })

  // [RP-Initiated Logout §2; RP-Initiated Logout §3]
  it('redirects to a registered address of the hint or client_id, with the state only, also for a form, but not for JSON', async () => {
    const { person, tokens } = await getTokens(service().url)
    const named = { id_token_hint: tokens.id_token, post_logout_redirect_uri: back, state: 's' }
    expect(await destination(person, address(named))).to.equal(`${back}?state=s`)
    const other = await getTokens(service().url)
    expect(await destination(other.person, address(toNotes))).to.equal(back)
    const nobody = makeHeadlessPerson(sam)
    expect(await destination(nobody, address(toNotes)), 'without a session').to.equal(back)
    const third = await getTokens(service().url)
    const answer = await third.person.open(address(), { method: 'POST', body: encode(toNotes) })
    expect(answer.status).to.equal(303)
    expect(await destination(third.person, targetOf(answer, service().url))).to.equal(back)
    const headers = { 'content-type': 'application/json' }
    expect((await fetch(address(), { method: 'POST', body: '{}', headers })).status).to.equal(415)
  })

  for (const [title, fields] of [
    ['an address with an added query', { ...toNotes, post_logout_redirect_uri: `${back}?x=1` }],
    ['a hint that is not a token', { id_token_hint: 'a.b.c' }],
    ['an unsigned hint of a client', { id_token_hint: unsigned(notes.clientId) }],
    ['an unsigned hint of an unknown client', { id_token_hint: unsigned('nobody') }],
    ['an unsigned hint of an https address', { id_token_hint: unsigned('https://x.example/c') }],
  ] as const) {
    // [RP-Initiated Logout §3; RP-Initiated Logout §4]
    it(`shows an error page and does not redirect for ${title}`, async () => {
      const { person, start } = await getTokens(service().url)
      const answer = await person.open(address(fields))
      expect([answer.status, answer.headers.get('location')]).to.deep.equal([400, null])
      const page = await answer.text()
      expect(page).to.include('id="error-page"')
      if ('id_token_hint' in fields) {
        expect(page)
          .to.include('>could not validate id_token_hint<')
          .and.include('>invalid_request<')
          .and.not.include('connect an assistant')
      }
      if (title.startsWith('an unsigned')) expect(page).to.include('id="sign-out-here"')
      expect(await stillSignedIn(person, start)).to.equal(true)
    })
  }

  /** Whether the person is signed in. If so, consent is remembered too, so the response is a code instead of a page. */
  async function stillSignedIn(person: HeadlessPerson, start: URL): Promise<boolean> {
    return (await person.open(start)).headers.get('location')?.includes('code=') ?? false
  }
})

describe('post_logout_redirect_uri [design 27] [RP-Initiated Logout §3]', () => {
  const service = sharedService()
  const applications = '/admin/northlight/applications'
  const operator = makePagePerson(() => service().url, olivia)
  const redirectUri = 'https://planner.example/callback'
  const planner = {
    ...{ name: 'Study Planner', redirect_uris: redirectUri, auth_method: 'none' },
    scope: 'account:read',
  }

  /** Signs out with the request that openid-client builds. Returns the status and the destination. */
  async function signOut(asking: Asking, address: string) {
    const { configuration, tokens, person } = await getTokens(service().url, asking)
    const start = oidc.buildEndSessionUrl(configuration, {
      id_token_hint: tokens.id_token ?? '',
      post_logout_redirect_uri: address,
      state: 'the-state',
    })
    const { status, headers } = await person.open(start)
    if (status !== 200) return [status, headers.get('location')]
    return [303, (await confirmSignOut(person, start)).headers.get('location')]
  }

  it('is entered, kept and removed by operators [RP-Initiated Logout §3.1]', async () => {
    const address = 'https://planner.example/signed-out'
    const uris = `${address}\n\nhttps://planner.example/bye`
    const entry = { ...planner, post_logout_redirect_uris: uris }
    const made = await operator.submit(`${applications}/new`, entry, applications)
    expect(made.text).to.include('After sign-out').and.include(address)
    const clientId = textOf(made, 'client-id')
    const asking = { clientId, redirectUri, scope: 'openid account:read' }
    expect(await signOut(asking, address)).to.deep.equal([303, `${address}?state=the-state`])
    const edit = await operator.visit(`${applications}/${clientId}/edit`)
    expect(edit.text).to.include(address)
    await operator.send(edit, edit.path, { ...planner, post_logout_redirect_uris: '' })
    expect(await signOut(asking, address)).to.deep.equal([400, null])
  })

  it('follows the rules of redirect addresses', async () => {
    const many = Array.from({ length: 21 }, (_, n) => `https://planner.example/${n}`).join('\n')
    for (const [typed, problem] of [
      ['http://planner.example/bye', 'must begin with https://'],
      ['https://planner.example/bye#x', 'after #'],
      ['javascript:alert(1)', 'com.example.app'],
      [many, '20 addresses'],
    ] as const) {
      const entry = { ...planner, name: 'Never made', post_logout_redirect_uris: typed }
      const seen = await operator.submit(`${applications}/new`, entry, applications)
      expect(seen.status, typed).to.equal(422)
      expect(textOf(seen, 'post-logout-uris-problem')).to.include(problem)
    }
    expect((await operator.visit(applications)).text).to.not.include('Never made')
  })

  it('is registered on loopback addresses only [RP-Initiated Logout §3.1]', async () => {
    const redirectUri = 'http://127.0.0.1:7/callback'
    const address = 'http://127.0.0.1:7/signed-out'
    const elsewhere = 'https://elsewhere.example/'
    const uris = { redirect_uris: [redirectUri], post_logout_redirect_uris: [address, elsewhere] }
    const { status, body } = await register(service().url, uris)
    expect([status, body.post_logout_redirect_uris]).to.deep.equal([201, [address]])
    const person = { scope: 'openid courses:read', person: olivia }
    const asking = { clientId: body.client_id, redirectUri, ...person }
    expect(await signOut(asking, address)).to.deep.equal([303, `${address}?state=the-state`])
    expect(await signOut(asking, elsewhere)).to.deep.equal([400, null])
  })
})
