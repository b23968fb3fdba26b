import { expect } from 'chai'
import { decodeJwt } from 'jose'

import { paths } from '../src/platform/http/paths.ts'
import { mayReturnTo } from '../src/platform/http/redirect-uri.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import {
  asPortal,
  authorizeUrl,
  codeVerifier,
  exchange,
  getCode,
  locationOf,
  obtain,
  obtainCode,
} from './support/client.ts'
import { notes, olivia, portal, sam } from './support/gatehouse.ts'
import { makePagePerson, textOf } from './support/page-person.ts'
import { sharedService } from './support/shared-service.ts'
import { answerOf, encode, type Fields, get, postForm } from './support/wire.ts'

/** Details that the standards ask for and that no other test is about. */
describe('an authorization request', () => {
  const service = sharedService()

  // [RFC 6749 §3.1; OpenID Connect Core §3.1.2.2]
  it('takes an empty parameter for none, and ignores one that it does not know', async () => {
    const { url } = service()
    const odd = { prompt: '', max_age: '', login_hint: '', nonsense: 'x', 'x[y]': 'z' }
    expect(await getCode(url, odd)).to.be.a('string')
  })

  // [OpenID Connect Core §3.1.2.1; OpenID Connect Core §15.1]
  it('may name displays and languages that nobody has', async () => {
    const { url } = service()
    for (const display of ['page', 'popup', 'touch', 'wap']) {
      const wishes = { display, ui_locales: 'tlh fr-CA', claims_locales: 'tlh' }
      expect(await getCode(url, wishes), display).to.be.a('string')
    }
  })

  // [OpenID Connect Core §11]
  it('is not refused for offline_access, which is no scope here', async () => {
    const { url } = service()
    const scope = 'openid account:read offline_access'
    const tokens = await obtain(url, { authorization: { scope } })
    expect(tokens.scope).to.equal('openid account:read')
  })

  // [OpenID Connect Core §3.1.2.2; OpenID Connect Core §5.5.1]
  it('for one person is never answered with another', async () => {
    const { url } = service()
    const { person } = await obtainCode(url)
    const idToken = (await obtain(url, { person: olivia })).id_token ?? ''
    const claims = { id_token: { sub: { value: String(decodeJwt(idToken).sub) } } }
    for (const asked of [{ id_token_hint: idToken }, { claims: JSON.stringify(claims) }]) {
      const answer = await person.open(authorizeUrl(url, { prompt: 'none', ...asked }))
      const { searchParams } = locationOf(await answerOf(answer))
      expect(searchParams.get('error')).to.equal('login_required')
      expect(searchParams.has('code')).to.equal(false)
    }
  })

  // [OpenID Connect Core §3.1.2.2]
  it('with a hint that nobody here signed is invalid_request', async () => {
    const { url } = service()
    const answer = await get(authorizeUrl(url, { id_token_hint: 'e30.e30.' }).href)
    expect(locationOf(answer).searchParams.get('error')).to.equal('invalid_request')
  })

  // [RFC 6749 §3.1.2; RFC 8252 §7.2]
  it('keeps the query of the redirect address', async () => {
    const { url } = service()
    const operator = makePagePerson(url, olivia)
    const applications = '/admin/northlight/applications'
    const redirect_uri = 'https://planner.example/callback?tenant=a%20b'
    const page = await operator.send(await operator.visit(`${applications}/new`), applications, {
      name: 'Planner',
      redirect_uris: redirect_uri,
      auth_method: 'none',
      scope: ['account:read'],
    })
    const { callback } = await obtainCode(url, {
      client_id: textOf(page, 'client-id'),
      redirect_uri,
      scope: 'openid',
    })
    expect(callback.href).to.match(/^https:\/\/planner\.example\/callback\?tenant=a(%20|\+)b&/)
  })

  // [OpenID Connect Core §3.1.2.3; OpenID Connect Core §15.1]
  it('with prompt=login asks a person who is signed in to sign in', async () => {
    const { url } = service()
    const { person } = await obtainCode(url)
    const usual = await person.open(authorizeUrl(url))
    expect(usual.headers.get('location')).to.include('code=')
    const answer = await person.open(authorizeUrl(url, { prompt: 'login' }))
    expect(answer.headers.get('location')).to.match(/\/login$/)
  })

  // [OpenID Connect Core §5.5.1.1]
  it('whose essential acr cannot be met is no success', async () => {
    const { url } = service()
    const { person } = await obtainCode(url)
    const silently = async (acr: object) => {
      const claims = JSON.stringify({ id_token: { acr } })
      const answer = await person.open(authorizeUrl(url, { prompt: 'none', claims }))
      return locationOf(await answerOf(answer)).searchParams
    }
    const values = ['urn:example:retina']
    expect((await silently({ values })).has('code')).to.equal(true)
    const refused = await silently({ essential: true, values })
    expect(refused.has('code')).to.equal(false)
    expect(refused.get('error')).to.equal('login_required')
  })
})

describe('a token request', () => {
  const service = sharedService()

  // [RFC 6749 §3.2]
  it('takes an empty parameter for none, and ignores one that it does not know', async () => {
    const { url } = service()
    const odd = { scope: '', client_secret: undefined, nonsense: 'x', 'x[y]': 'z' }
    expect((await exchange(url, await getCode(url), odd)).status).to.equal(200)
  })
})

describe('sub', () => {
  const service = sharedService()

  // [OpenID Connect Core §2; OpenID Connect Core §5.7; OpenID Connect Core §8; OpenID Connect
  // Discovery §3]
  it('is public: of one person the same for every client, and of no other person', async () => {
    const { url } = service()
    const { body } = await get(url + paths.openidConfiguration)
    expect(body['subject_types_supported']).to.deep.equal(['public'])
    const subOf = async (person: typeof sam, client: typeof asPortal | Record<string, never>) => {
      const { client_secret, ...authorization } = { client_secret: undefined, ...client }
      const token = { ...authorization, client_secret }
      const tokens = await obtain(url, { person, authorization, token })
      return String(decodeJwt(tokens.id_token ?? '').sub)
    }
    const subjects = [await subOf(sam, {}), await subOf(sam, asPortal), await subOf(olivia, {})]
    expect(subjects[0]).to.equal(subjects[1]).and.not.equal(subjects[2])
    for (const sub of subjects) expect(sub).to.match(/^[\x21-\x7e]{1,255}$/)
  })
})

describe('a sign-in', () => {
  const service = sharedService()

  // [RFC 9700 §4.12]
  it('goes on by 303, so that no browser sends the password once more', async () => {
    const person = makeHeadlessPerson(sam)
    const start = await person.open(authorizeUrl(service().url))
    const signIn = new URL(start.headers.get('location') ?? '', service().url)
    const page = await (await person.open(signIn)).text()
    const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1]
    const headers = { 'content-type': 'application/x-www-form-urlencoded' }
    const body = encode({ csrf, ...sam })
    const answer = await person.open(signIn, { method: 'POST', headers, body })
    expect(answer.status).to.equal(303)
    expect(answer.headers.get('location')).to.match(/^http/)
  })
})

describe('a code without a challenge', () => {
  const service = sharedService({ environment: { CONFORMANCE_PROFILE: 'on' } })

  // [RFC 9700 §2.1.1; RFC 9700 §4.8.2]
  it('is not redeemed with a verifier, where the conformance profile allows one at all', async () => {
    const { url } = service()
    const suite = {
      client_id: 'oidf-1',
      redirect_uri: 'https://localhost.emobix.co.uk:8443/test/a/gatehouse/callback',
    }
    const client_secret = 'conformance-client-1-secret-of-32-bytes-or-more'
    const { form } = await obtainCode(url, {
      ...suite,
      scope: 'openid',
      resource: undefined,
      code_challenge: undefined,
      code_challenge_method: undefined,
    })
    const downgraded = { ...form, client_secret, code_verifier: codeVerifier }
    const answer = await postForm(url + paths.token, downgraded)
    expect([answer.status, answer.body['error']]).to.deep.equal([400, 'invalid_grant'])
  })
})

describe('a client_id that is made here', () => {
  const service = sharedService()

  // [Client ID Metadata Document §6.9]
  it('does not begin like the address of a metadata document', async () => {
    const { url } = service()
    const { body } = await register(url, {})
    for (const id of [body['client_id'], notes.clientId, portal.clientId]) {
      expect(id)
        .to.be.a('string')
        .and.not.match(/^https:/)
    }
  })
})

describe('a registration', () => {
  const service = sharedService()

  // [RFC 7591 §2]
  it('ignores software statements, language tags and whatever else it does not know', async () => {
    const { status, body } = await register(service().url, {
      client_name: 'Plain',
      'client_name#de': 'Schlicht',
      software_statement: 'e30.e30.',
      nonsense: { a: 1 },
    })
    expect(status).to.equal(201)
    expect(body).to.include({ client_name: 'Plain' })
    expect(body).not.to.have.any.keys('client_name#de', 'software_statement', 'nonsense')
  })
})

describe('a metadata document', () => {
  const service = sharedService()

  for (const path of [
    paths.openidConfiguration,
    paths.authorizationServer,
    paths.protectedResource,
    paths.protectedResourceMcp,
    paths.protectedResourceMcpMember,
    paths.protectedResourceMcpAdmin,
    paths.protectedResourceGraphql,
    paths.protectedResourceAdmin,
  ]) {
    // [RFC 8414 §3.1; RFC 8414 §3.2; RFC 9728 §3.1; RFC 9728 §3.2; OpenID Connect Discovery §4.1;
    // OpenID Connect Discovery §4.2]
    it(`at ${path} is JSON without a member that has no value`, async () => {
      const { status, headers, body } = await get(service().url + path)
      expect(status).to.equal(200)
      expect(headers.get('content-type')).to.match(/^application\/json(;|$)/)
      for (const [name, value] of Object.entries(body)) {
        expect(value, name).to.not.equal(null).and.not.equal('')
        if (Array.isArray(value)) expect(value, name).to.have.length.above(0)
      }
    })
  }
})

describe('a request to sign out', () => {
  const service = sharedService()

  // [RP-Initiated Logout §2; RP-Initiated Logout §4]
  it('takes a hint that has expired, and none that another client got', async () => {
    const { url } = service()
    const { id_token: hint = '' } = await obtain(url)
    const clock = Date.now
    Date.now = () => clock() + 3_600_000
    try {
      const ask = async (fields: Fields) => await get(`${url}${paths.endSession}?${encode(fields)}`)
      const fitting = await ask({ id_token_hint: hint, client_id: notes.clientId })
      const differing = await ask({ id_token_hint: hint, client_id: portal.clientId })
      expect(decodeJwt(hint).exp).to.be.below(Date.now() / 1000)
      expect([fitting.status, differing.status]).to.deep.equal([200, 400])
    } finally {
      Date.now = clock
    }
  })
})

describe('an address that a native application may have', () => {
  // [RFC 8252 §7; RFC 8252 §7.1; RFC 8252 §7.2; RFC 8252 §8.3]
  it('is a scheme of its own, an https address, or a loopback one', () => {
    for (const uri of [
      'com.example.app:/callback',
      'https://app.example/callback',
      'http://127.0.0.1/callback',
      'http://[::1]/callback',
    ]) {
      expect(mayReturnTo(uri, 'native'), uri).to.equal(true)
    }
    expect(mayReturnTo('com.example.app:/callback', 'web')).to.equal(false)
    expect(mayReturnTo('http://app.example/callback', 'native')).to.equal(false)
  })
})

async function register(url: string, metadata: Readonly<Record<string, unknown>>) {
  const response = await fetch(url + paths.registration, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ redirect_uris: ['http://127.0.0.1/callback'], ...metadata }),
  })
  return await answerOf(response)
}
