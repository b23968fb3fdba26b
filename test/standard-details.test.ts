import { decodeJwt } from 'jose'

import { paths } from '../src/platform/http/paths.ts'
import type { HeadlessPerson } from '../tools/token/headless-person.ts'
import {
  asPortal,
  exchange,
  getCode,
  obtain,
  obtainCode,
  openAuthorization,
  userinfo,
} from './support/client.ts'
import { change } from './support/database.ts'
import { notes, olivia, portal, sam } from './support/gatehouse.ts'
import { later } from './support/later.ts'
import { makePagePerson, textOf } from './support/page-person.ts'
import { sharedService } from './support/storages.ts'
import { encode, type Fields, get } from './support/wire.ts'

/** Details of the standards that no other test covers. */
describe('an authorization request', () => {
  const service = sharedService()
  const silently = async (person: HeadlessPerson, fields: Fields) =>
    (await openAuthorization(person, service().url, { prompt: 'none', ...fields })).searchParams

  // [RFC 6749 §3.1; OpenID Connect Core §3.1.2.2; OpenID Connect Core §3.1.2.1; OpenID Connect Core §15.1]
  it('may have empty and unknown parameters, and unsupported displays and languages', async () => {
    const odd = { prompt: '', max_age: '', login_hint: '', nonsense: 'x', 'x[y]': 'z' }
    expect(await getCode(service().url, odd)).to.be.a('string')
    for (const display of ['page', 'popup', 'touch', 'wap']) {
      const wishes = { display, ui_locales: 'tlh fr-CA', claims_locales: 'tlh' }
      expect(await getCode(service().url, wishes), display).to.be.a('string')
    }
  })

  it('for claims in other languages gets each claim once, without a tag [OpenID Connect Core §5.2]', async () => {
    const { url, kysely } = service()
    await change(kysely, 'person', { id: 'per_sam' }, { locale: 'de-AT' })
    const asked = { 'name#ja': { essential: true }, name: null, 'locale#de': null }
    const claims = JSON.stringify({ userinfo: asked, id_token: asked })
    const { access_token, id_token } = await obtain(url, {
      authorization: { claims, claims_locales: 'ja de fr' },
    })
    const answer = await userinfo(url, access_token)
    for (const released of [answer.body, decodeJwt(String(id_token))]) {
      expect(released).to.include({ name: 'Sam Student', locale: 'de-AT' })
      expect(Object.keys(released).join(' ')).not.to.include('#')
    }
    const { body: discovery } = await get(url + paths.openidConfiguration)
    expect(discovery).not.to.have.property('claims_locales_supported')
  })

  // [OpenID Connect Core §3.1.2.2; OpenID Connect Core §5.5.1]
  it('for one person is never answered for another', async () => {
    const { person } = await obtainCode(service().url)
    const idToken = (await obtain(service().url, { person: olivia })).id_token ?? ''
    const claims = { id_token: { sub: { value: String(decodeJwt(idToken).sub) } } }
    for (const asked of [{ id_token_hint: idToken }, { claims: JSON.stringify(claims) }]) {
      const answer = await silently(person, asked)
      expect(answer.get('error')).to.equal('login_required')
      expect(answer.has('code')).to.equal(false)
    }
  })

  it('keeps the query of the redirect URI [RFC 6749 §3.1.2; RFC 8252 §7.2]', async () => {
    const { url } = service()
    const operator = makePagePerson(url, olivia)
    const applications = '/admin/northlight/applications'
    const redirect_uri = 'https://planner.example/callback?tenant=a%20b'
    const entry = { name: 'Planner', redirect_uris: redirect_uri, auth_method: 'none' }
    const typed = { ...entry, scope: ['account:read'] }
    const page = await operator.submit(`${applications}/new`, typed, applications)
    const client_id = textOf(page, 'client-id')
    const { callback } = await obtainCode(url, { client_id, redirect_uri, scope: 'openid' })
    expect(callback.href).to.match(/^https:\/\/planner\.example\/callback\?tenant=a(%20|\+)b&/)
  })

  // [OpenID Connect Core §3.1.2.3; OpenID Connect Core §15.1]
  it('with prompt=login makes a signed-in person sign in again', async () => {
    const { url } = service()
    const { person } = await obtainCode(url)
    expect((await openAuthorization(person, url)).searchParams.has('code')).to.equal(true)
    const again = await openAuthorization(person, url, { prompt: 'login' })
    expect(again.pathname).to.match(/\/login$/)
  })

  it('and its token request may have empty and unknown parameters [RFC 6749 §3.2]', async () => {
    const odd = { scope: '', client_secret: undefined, nonsense: 'x', 'x[y]': 'z' }
    expect((await exchange(service().url, await getCode(service().url), odd)).status).to.equal(200)
  })

  // [OpenID Connect Core §2; OpenID Connect Core §5.7; OpenID Connect Core §8; OpenID Connect
  // Discovery §3]
  it('yields a sub that is the same for every client and unique to the person', async () => {
    const subOf = async (person: typeof sam, client: Partial<typeof asPortal> = {}) => {
      const { client_secret, ...authorization } = client
      const token = client
      const { id_token = '' } = await obtain(service().url, { person, authorization, token })
      return String(decodeJwt(id_token).sub)
    }
    const subjects = [await subOf(sam), await subOf(sam, asPortal), await subOf(olivia)]
    expect(subjects[0]).to.equal(subjects[1]).and.not.equal(subjects[2])
    for (const sub of subjects) expect(sub).to.match(/^[\x21-\x7e]{1,255}$/)
  })
})

describe('a request to sign out', () => {
  const service = sharedService()

  // [RP-Initiated Logout §2; RP-Initiated Logout §4]
  it('accepts a hint that has expired, and none of another client', async () => {
    const { url } = service()
    const { id_token: hint = '' } = await obtain(url)
    await later(3_600_000, async () => {
      const statusOf = async (client_id: string) =>
        (await get(`${url}${paths.endSession}?${encode({ id_token_hint: hint, client_id })}`))
          .status
      expect(decodeJwt(hint).exp).to.be.below(Date.now() / 1000)
      expect(await statusOf(notes.clientId)).to.equal(200)
      expect(await statusOf(portal.clientId)).to.equal(400)
    })
  })
})
