import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { asClaude, authorizeUrl } from './support/client.ts'
import { insert, remove, rowOf, rowsOf } from './support/database.ts'
import { useTextRecords } from './support/dns-server.ts'
import { amir, olivia, portal, sam, startService } from './support/gatehouse.ts'
import {
  follow,
  ISSUER,
  isSignedIn,
  linkIdentity,
  linksOf,
  makeLyingProviders,
  noteOf,
  type Person,
  problemOf,
  refusalIn,
  setUpApp,
  signInWith,
  submit,
} from './support/identity-provider.ts'
import { hiddenField, makePagePerson } from './support/page-person.ts'
import { sharedService } from './support/storages.ts'
import { encode, expectAnswer } from './support/wire.ts'

describe('the identity provider of a site', () => {
  let network: Awaited<ReturnType<typeof makeLyingProviders>>
  const service = sharedService(undefined, async () => {
    network = await makeLyingProviders()
    return await startService({ fetch: async (...request) => await network.fetch(...request) })
  })
  const page = '/admin/northlight/identity-providers'
  const ofNoSite = { scope: 'openid', resource: undefined, ...asClaude }
  const typed = {
    ...{ name: 'School', issuer: ISSUER, clientId: 'gatehouse', role: 'student' },
    ...{ emailClaim: 'email', verifiedClaim: 'email_verified', nameClaim: 'name' },
  }
  const row = async () => await rowOf(service().kysely, 'identity_provider')
  const set = async (values: { domains?: string; issuer?: string; sealed_secret?: string }) =>
    await service().kysely.updateTable('identity_provider').set(values).execute()
  const open = async (who: Person, fields = {}) =>
    await follow(who, authorizeUrl(service().url, fields))

  before(async () => {
    const owner = makePagePerson(service().url, olivia)
    const seen = await owner.visit(`${page}?preset=microsoft`)
    const [, issuer = ''] = /id="issuer"[^>]* value="([^"]*)"/.exec(seen.text) ?? []
    expect(issuer).to.include('microsoftonline.com/{tenant}/')
    expect(seen.text).to.include('value="xms_edov"').and.include('Microsoft Entra admin center')
    for (const wrong of [{ issuer }, { issuer: 'http://id.acme.example' }, { nameClaim: 'a b' }]) {
      const refused = await owner.send(seen, page, { ...typed, clientSecret: 's', ...wrong })
      expect(refused.status).to.equal(422)
    }
    const added = await owner.send(seen, page, { ...typed, clientSecret: 'a-client-secret' })
    expect(added.text).to.include(`/sign-in/callback/${(await row()).id}`)
    expect(added.text + service().log.join()).to.not.include('a-client-secret')
    expect((await row()).sealed_secret).to.not.include('a-client-secret')
  })

  /** Signs in through the provider as a new or linked person. Returns the browser and its page. */
  const signIn = async (claims: Record<string, unknown>, iss = ISSUER, metadata = {}) => {
    const said = { claims, metadata }
    return await signInWith(network, service(), { provider: (await row()).id, iss, said })
  }
  const link = async (personId: string, changes = {}) => {
    const { id: provider_id, issuer } = await row()
    const identity = { provider_id, issuer, subject: personId, person_id: personId }
    await linkIdentity(service(), { ...identity, ...changes })
  }

  // [335, 336]
  it('creates people with the rule’s role and an unverified address, and does not sign in another provider’s people', async () => {
    const claims = { sub: 'first', email: 'first@acme.example' }
    expect(isSignedIn((await signIn(claims)).page)).to.equal(true)
    const { kysely } = service()
    const made = await rowOf(kysely, 'person', { email: claims.email })
    expect(made.email_verified_at).to.equal(null)
    const roles = await rowsOf(kysely, 'site_role', { person_id: made.id })
    expect(roles).to.have.length(1)
    expect(roles[0]).to.include({ role: 'student', site_id: 'sit_northlight' })
    await link('per_marco', { provider_id: 'idp_of_another_site', subject: 'marco' })
    const { page: seen } = await signIn({ sub: 'marco', email: 'marco@openkitchen.example' })
    expect(isSignedIn(seen)).to.equal(false)
    expect(noteOf(seen)).to.include('School says that your address is')
  })

  it('is named on the home page of its site, even if its secret cannot be decrypted', async () => {
    const { sealed_secret } = await row()
    await set({ sealed_secret: 'unknown' })
    const home = await makePagePerson(service().url, olivia).visit('/admin/northlight')
    await set({ sealed_secret })
    expectAnswer(home, 200, typed.name)
  })

  // [333, 334]
  it('gives access to its site, but not to another site, account pages, administration or linking', async () => {
    await link('per_olivia')
    const role = { person_id: 'per_olivia', site_id: 'sit_open_kitchen', granted_at: 1 }
    await insert(service().kysely, 'site_role', { ...role, role: 'owner' })
    const { person, page: seen } = await signIn({ sub: 'per_olivia', email: 'x@acme.example' })
    expect(isSignedIn(seen)).to.equal(true)
    const visit = async (path: string) => await follow(person, new URL(path, service().url))
    expect((await visit('/admin/northlight')).status, 'its own site').to.equal(200)
    for (const path of ['/account', '/account/security', '/account/data', '/admin'])
      expectAnswer(await visit(path), 403, 'id="other-way-page"')
    expect((await visit('/admin/open-kitchen')).status).to.equal(403)
    expect((await visit('/account?sign-in=again')).text).to.include('id="login-page"')
    expect((await open(person, ofNoSite)).text, 'a grant of no site').to.include('id="login-page"')
    const none = await open(person, { ...ofNoSite, prompt: 'none' })
    expect(refusalIn(none)).to.equal('login_required')
    expect(isSignedIn(await open(person)), 'its own application').to.equal(true)
  })

  // [355]
  it('does not cancel the deletion of an account, with or without a code', async () => {
    await link('per_sam')
    await link('per_noor')
    const codeAt = await setUpApp(service())
    const { kysely } = service()
    await kysely.updateTable('person').set({ deletion_due_at: 9e15 }).execute()
    const { person, page: asked } = await signIn({ sub: 'per_sam' })
    expect(isSignedIn(await submit(person, asked, { code: codeAt(0) }))).to.equal(true)
    expect(isSignedIn((await signIn({ sub: 'per_noor' })).page)).to.equal(true)
    const leaving = await rowsOf(kysely, 'person', { deletion_due_at: 9e15 })
    expect(leaving.map(({ id }) => id)).to.include.members(['per_sam', 'per_noor'])
    await kysely.updateTable('person').set({ deletion_due_at: null }).execute()
    await kysely.deleteFrom('totp').execute()
  })

  it('is offered only to applications of its site, and changed only by owners', async () => {
    const person = makeHeadlessPerson(sam)
    const { url, text } = await open(person, ofNoSite)
    expect(text).to.include('id="login-page"').and.to.not.include('Sign in with School')
    const { id } = await row()
    const forced = await follow(person, new URL(`${url.pathname}/provider/${id}`, url))
    expect(forced.status).to.equal(404)
    expect((await makePagePerson(service().url, sam).visit(page)).status).to.equal(403)
    expectAnswer(await makePagePerson(service().url, amir).visit(page), 403, 'only owners of the')
  })

  const change = async (form: string, fields = {}) =>
    await makePagePerson(service().url, olivia).submit(page, fields, form)
  const setDomains = async (domains: string) =>
    await change(`${page}/${(await row()).id}/domains`, { domains })
  const only = '/admin/northlight/only-way-in'

  // [373, 374]
  it('gets the addresses of a domain only after a proof by DNS', async () => {
    const { id } = await row()
    using _ = await useTextRecords({
      '_gatehouse.acme.example': `gatehouse-provider=${id}`,
      'acme.example': `gatehouse-provider=${id}`,
      '_gatehouse.others.example': 'gatehouse-provider=idp_of_another_site',
    })
    const others = ['gmail.com', 'others.example', 'sub.acme.example']
    for (const domain of [...others, 'example', 'a_b.example', '<b>'])
      expect((await setDomains(`acme.example ${domain}`)).status, domain).to.equal(422)
    expect((await row()).domains).to.equal('')
    const unproven = await setDomains('gmail.com')
    expect(unproven.text).to.include('_gatehouse.gmail.com').and.include(`gatehouse-provider=${id}`)
    await setDomains('Acme.example, ACME.example')
    expect((await row()).domains).to.equal('acme.example')

    const person = makeHeadlessPerson(sam)
    const seen = await open(person)
    expect(seen.text).to.include('Leave this field empty')
    const left = await submit(person, seen, { login: ' New@ACME.example', password: '' })
    expect(left.target?.origin).to.equal(ISSUER)
    expect(left.target?.searchParams.get('login_hint')).to.equal(' New@ACME.example')
    const lookalike = { login: 'x@acme.example.evil.example', password: 'y' }
    expect((await submit(person, seen, lookalike)).status, 'another domain').to.equal(401)
    network.says({ fails: async () => await Promise.reject(new Error('down')) })
    const down = await submit(makeHeadlessPerson(sam), seen, { login: 'new@acme.example' })
    expect(down.status, 'another browser').to.equal(400)
    network.says({})
    const elsewhere = await open(person, ofNoSite)
    const wrong = await submit(person, elsewhere, { login: 'new@acme.example', password: 'y' })
    expect(wrong.status, 'another site').to.equal(401)
    await setDomains('')
  })

  // [319, 375]
  it('lets people sign in another way while the provider of their domain lies in its metadata about its issuer', async () => {
    await set({ domains: 'northlight.example' })
    const person = makeHeadlessPerson(sam)
    const seen = await open(person)
    network.says({ metadata: { issuer: 'https://elsewhere.example' } })
    await set({ issuer: 'https://down.example' })
    const failed = await submit(person, seen, sam)
    const problem =
      'School did not prove who you are, so you are not signed in. Please try again, or sign in another way.'
    expect([failed.status, problemOf(failed)]).to.deep.equal([400, problem])
    expect(isSignedIn(await submit(person, failed, { ...sam, way: 'here' }))).to.equal(true)
    await set({ domains: '', issuer: ISSUER })
    network.says({})
  })

  // [376, 377, 378]
  it('is the only way in at its site, if an owner says so, and nowhere else', async () => {
    const { url, kysely } = service()
    const before = makeHeadlessPerson(sam)
    expect(isSignedIn(await submit(before, await open(before), sam))).to.equal(true)
    const allowed = await open(makeHeadlessPerson(sam))
    await change(only, { on: 'yes' })
    try {
      const shown = await open(before)
      expectOwnSignIn(shown, 'a session by password')
      expect(shown.text).to.not.include('id="password"').and.not.include('id="passkey"')
      expect(refusalIn(await open(before, { prompt: 'none' }))).to.equal('login_required')
      const forced = await submit(before, { ...shown, text: allowed.text, url: shown.url }, sam)
      expect(forced.text, 'a form from before').to.not.include('id="consent-page"')
      const fresh = makeHeadlessPerson(sam)
      const form = await open(fresh)
      const body = new URLSearchParams({ csrf: hiddenField(form.text), ...sam })
      const typed = await follow(fresh, form.url, { method: 'POST', body })
      const problem =
        'This school accepts only sign-ins through its own identity provider. Your e-mail address there must be the same as in your account here. Please sign in below.'
      expect([typed.status, problemOf(typed)]).to.deep.equal([401, problem])
      expect(await open(fresh).then(isSignedIn)).to.equal(false)
      const elsewhere = await submit(fresh, await open(fresh, ofNoSite), sam)
      expect(isSignedIn(elsewhere), 'an application of no site').to.equal(true)
      expect((await makePagePerson(url, sam).visit('/account')).status).to.equal(200)
      expect((await makePagePerson(url, olivia).visit('/admin/northlight')).status).to.equal(200)

      await remove(kysely, 'linked_identity', { person_id: 'per_sam' })
      const ofSam = { sub: 's1', email: sam.login }
      const linking = await signIn(ofSam)
      expect(noteOf(linking.page)).to.include(sam.login)
      const stranger = await submit(linking.person, linking.page, olivia)
      const outcome = [stranger.status, isSignedIn(stranger)]
      expect(outcome, 'an account with another address').to.deep.equal([401, false])
      const again = await signIn(ofSam)
      expect(isSignedIn(await submit(again.person, again.page, sam))).to.equal(true)
      const account = await follow(again.person, new URL('/account', url))
      expect(account.status, 'counts at the site only').to.equal(403)
      const { person, page: seen } = await signIn(ofSam)
      expect(isSignedIn(seen)).to.equal(true)
      expect(isSignedIn(await open(person))).to.equal(true)

      const scopes = { ...ofNoSite, scope: 'openid students:read' }
      const operator = makeHeadlessPerson(olivia)
      const choice = await submit(operator, await open(operator, scopes), olivia)
      const signedIn = await submit(operator, choice, { site: 'sit_northlight' })
      expectOwnSignIn(signedIn, 'a grant of the site')
    } finally {
      await change(only, { on: 'no' })
    }
    expect(isSignedIn(await open(before)), 'afterwards').to.equal(true)
  })

  // [379]
  it('is signed out of, too, and returns to the page that ends the sign-out', async () => {
    const { url } = service()
    const signOut = async (metadata: Record<string, unknown>) => {
      // Use a new issuer each time, because metadata is cached for an hour.
      const sub = Math.random().toString(36).slice(2)
      const issuer = `https://${sub}.example`
      await set({ issuer })
      const claims = { sub, email: `${sub}@acme.example` }
      const { person, page: seen } = await signIn(claims, issuer, metadata)
      expect(isSignedIn(seen), problemOf(seen)).to.equal(true)
      const asked = await follow(person, new URL(`/oauth/logout?client_id=${portal.clientId}`, url))
      const body = new URLSearchParams({ xsrf: hiddenField(asked.text, 'xsrf'), logout: 'yes' })
      const confirm = new URL('/oauth/logout/confirm', url)
      const left = await follow(person, confirm, { method: 'POST', body })
      expect(refusalIn(await open(person, { prompt: 'none' }))).to.equal('login_required')
      return { person, left, issuer }
    }
    const { person, left, issuer } = await signOut({ end_session_endpoint: 'ORIGIN/out?a=b' })
    const back = `${url}/sign-in/signed-out`
    const query = encode({ a: 'b', client_id: 'gatehouse', post_logout_redirect_uri: back })
    expect(left.target?.href).to.equal(`${issuer}/out?${query}`)
    expect((await follow(person, new URL(back))).text).to.include('You are signed out')
    for (const end_session_endpoint of [undefined, 'javascript:alert(1)', 'http://id.example/out'])
      expect((await signOut({ end_session_endpoint })).left.text).to.include('You are signed out')
    await set({ issuer: ISSUER })
  })

  it('ends its sessions and links when an owner removes it', async () => {
    const { person, page: seen } = await signIn({ sub: 'first' })
    expect(isSignedIn(seen)).to.equal(true)
    await change(only, { on: 'yes' })
    await change(`${page}/${(await row()).id}/remove`)
    expect(refusalIn(await open(person, { prompt: 'none' }))).to.equal('login_required')
    expect((await linksOf(service())).map(({ subject }) => subject)).to.deep.equal(['marco'])
    const other = await open(makeHeadlessPerson(sam))
    expect(other.text, 'no site without a way in').to.include('id="password"')
  })
})

function expectOwnSignIn({ text }: { readonly text: string }, why: string): void {
  expect(text, why).to.include('id="login-page"').and.include('School')
}
