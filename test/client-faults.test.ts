import { paths } from '../src/platform/http/paths.ts'
import { askToAuthorize, asPortal, exchange, getCode, locationOf } from './support/client.ts'
import { rowsOf } from './support/database.ts'
import { flushingSoon, notes, olivia, portal } from './support/gatehouse.ts'
import { askMember, memberToken, readOnly } from './support/member-api.ts'
import { makePagePerson } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { sharedService } from './support/storages.ts'
import { type Answer, basic, expectAnswer, type Fields, get, postForm } from './support/wire.ts'

/** The tests reproduce faults of real client libraries. The error description must name the remedy. */
describe('the error of a faulty client', () => {
  const service = sharedService({ policy: flushingSoon })
  const url = () => service().url

  const post = async (path: string, fields: Fields, headers?: readonly string[]) =>
    await postForm(url() + path, fields, headers)
  const fields = { token: 'x', grant_type: 'refresh_token', refresh_token: 'x' }
  const ask = async (fields: Fields, headers?: readonly string[]) =>
    await post(paths.token, { grant_type: 'refresh_token', refresh_token: 'x', ...fields }, headers)

  /** Expects this refusal and one common description, which contains `words`, in all answers. Returns the description. */
  function sentenceOf(answers: readonly Answer[], refusal: string, words = ''): string {
    for (const { status, body, headers } of answers) {
      expect(`${status} ${body.error}`).to.equal(refusal)
      expect(body.error_description)
        .to.include(words)
        .and.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
      const challenge = headers.get('www-authenticate')
      if (challenge) expect(challenge).to.include(`error_description="${body.error_description}"`)
    }
    const [sentence, ...others] = new Set(answers.map(({ body }) => body.error_description))
    expect(others, 'nothing of the code').to.deep.equal([])
    return sentence
  }

  async function reasonsOf(clientId: string, error: string, ...awaited: readonly string[]) {
    return await eventually(10_000, async () => {
      const rows = await rowsOf(service().kysely, 'client_refusal', { client_id: clientId, error })
      const latestFirst = rows.sort((one, other) => other.occurred_at - one.occurred_at)
      const reasons = latestFirst.map(({ reason }) => reason ?? '')
      expect(reasons).to.not.have.length(0)
      for (const text of awaited)
        expect(reasons.some((reason) => reason.startsWith(text))).to.equal(true)
      return reasons
    })
  }

  it('is the same for a missing, wrong or needless secret and an unknown id, and operators see the reason', async () => {
    const answers = [
      await ask({ client_id: portal.clientId }),
      await ask({ client_id: portal.clientId, client_secret: 'wrong' }),
      await ask({ client_id: notes.clientId, client_secret: 'one' }),
      await ask({ client_id: 'nobody', client_secret: 'one' }),
      await ask({}, basic(portal.clientId, 'wrong')),
      await post(paths.introspection, { token: 'x' }, basic('nobody', 'one')),
    ]
    expect(sentenceOf(answers, '401 invalid_client'))
      .to.include('client_secret in the form or with HTTP Basic for a confidential one')
      .and.include('send client_id alone for a public client')
      .and.include('Refusals')
    expect(await reasonsOf(notes.clientId, 'invalid_client')).to.include(
      'the client is registered for the authentication method none, but used another; use the registered one, or change the registration',
    )
  })

  it('advises against a header when HTTP Basic has no secret', async () => {
    const remedy = 'for a public client, send client_id in the form and no Authorization header'
    for (const path of [paths.token, paths.revocation]) {
      const answer = await post(path, fields, basic(notes.clientId, ''))
      sentenceOf([answer], '400 invalid_request', remedy)
    }
  })

  it('names the two ways to send a secret, and the form of the header [63]', async () => {
    const { clientId: client_id, clientSecret: client_secret } = portal
    for (const path of [paths.token, paths.revocation]) {
      const twice = await post(path, { ...fields, client_secret }, basic(client_id, client_secret))
      const ways = 'either in the form, without any Authorization header, or with HTTP Basic'
      sentenceOf([twice], '400 invalid_request', ways)
      // @okta/okta-auth-js encodes only the client_id, without a colon or a secret.
      const withoutSecret = `Basic ${btoa(client_id)}`
      const others = ['Bearer x', 'Digest username="x"', 'Basic %%%', 'Basic ', 'Basic YTpi more']
      const form = 'the base64 encoding of client_id:client_secret'
      for (const header of [withoutSecret, ...others]) {
        const answer = await post(path, fields, ['Authorization', header])
        sentenceOf([answer], '400 invalid_request', form)
      }
      for (const pair of ['a%zz:b%', '\xff\xfe:\xff', ':', ':secret']) {
        const answer = await post(path, fields, ['Authorization', `Basic ${btoa(pair)}`])
        sentenceOf([answer], '400 invalid_request')
      }
    }
  })

  it('names a missing code_verifier, whether the code exists or not', async () => {
    const code_verifier = undefined
    const answers = [
      await exchange(url(), await getCode(url()), { code_verifier }),
      await exchange(url(), 'nobody-has-it', { code_verifier }),
    ]
    sentenceOf(answers, '400 invalid_grant', 'code_verifier is missing')
  })

  it('names the metadata for an issuer with a trailing slash', async () => {
    for (const before of ['/', paths.token]) {
      for (const name of ['openid-configuration', 'oauth-authorization-server']) {
        const path = `${before}/.well-known/${name}`
        const remedy = 'remove the path or trailing slash'
        expect(sentenceOf([await get(url() + path)], '404 not_found', remedy)).to.include(
          '/.well-known/openid-configuration',
        )
      }
    }
  })

  it('lists the methods and grant types [RFC 7591 §3]', async () => {
    for (const path of [paths.token, paths.revocation, paths.introspection, paths.registration]) {
      const answer = await get(url() + path)
      expect(answer.headers.get('allow')).to.equal('POST, OPTIONS')
      sentenceOf([answer], '405 invalid_request', 'this endpoint accepts only POST')
    }
    const asked = { ...asPortal, grant_type: 'client_credentials', redirect_uri: undefined }
    const remedy = 'send authorization_code or refresh_token'
    sentenceOf([await ask(asked)], '400 unsupported_grant_type', remedy)
  })

  it('names all causes of invalid_grant, and shows operators the one that applies', async () => {
    const answers = [
      await exchange(url(), await getCode(url()), { code_verifier: 'x'.repeat(43) }),
      await exchange(url(), await getCode(url()), { redirect_uri: `${notes.redirectUri}/` }),
      await exchange(url(), 'nobody-has-it'),
      await exchange(url(), await getCode(url()), asPortal),
    ]
    expect(sentenceOf(answers, '400 invalid_grant'))
      .to.include('redirect_uri or code_verifier')
      .and.include('under Refusals')
      .and.include('Start the authorization again')
    await reasonsOf(
      notes.clientId,
      'invalid_grant',
      'code_verifier does not match code_challenge',
      'authorization code redirect_uri mismatch',
      'the code is unknown: it has expired',
    )
    expect(sentenceOf([await ask({ client_id: notes.clientId })], '400 invalid_grant'))
      .to.include('replace the stored refresh token with the new one')
      .and.include('Refusals')
  })

  it('names the value of resource', async () => {
    for (const [resource, remedy] of [
      [undefined, `send resource=${url()} with the same code`],
      ['https://else.example', `send resource=${url()}`],
    ] as const) {
      const answer = await exchange(url(), await getCode(url()), { resource })
      sentenceOf([answer], '400 invalid_target', remedy)
    }
  })

  const noPkce = { code_challenge: undefined, code_challenge_method: undefined }
  const acr = { essential: true, value: 'urn:example:retina' }
  const essentialAcr = { claims: JSON.stringify({ id_token: { acr } }) }
  for (const [title, fields, remedy] of [
    ['plain PKCE', { code_challenge_method: 'plain' }, 'code_challenge_method=S256'],
    ['no PKCE', noPkce, 'code_challenge_method=S256'],
    ['no method of PKCE', { code_challenge_method: undefined }, 'code_challenge_method=S256'],
    ['an implicit response', { response_type: 'id_token' }, 'response_type=code'],
    ['unknown scopes and a nonce', { scope: 'api', nonce: 'n' }, 'can request openid'],
    ['claims without openid', { scope: 'profile', claims: '{}' }, 'add openid to the scope'],
    ['an essential acr that no sign-in reaches', essentialAcr, 'listed in acr_values_supported'],
    ['no resource', { resource: undefined }, 'send resource=http'],
    ['another resource', { resource: 'http://localhost:1/' }, 'send resource=http'],
  ] as const) {
    it(`names the remedy for ${title}`, async () => {
      const { href } = locationOf(await askToAuthorize(url(), fields))
      // Some of these errors are in the fragment of the redirect.
      const said = new URLSearchParams(href.replace(/^[^?#]*[?#]/, '')).get('error_description')
      expect(said)
        .to.include(remedy)
        .and.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    })
  }

  it('shows a refused redirect_uri as text, and the difference under Refusals', async () => {
    const { redirectUri } = notes
    const redirect_uri = `${redirectUri}/?code=secret"><a href=x>`
    const answer = await askToAuthorize(url(), { redirect_uri })
    const back = `<a id="back-to-app" class="button" href="${new URL('/', redirectUri)}">`
    expectAnswer(answer, 400, `<code id="sent-address">${redirectUri}/?…</code>`, back)
    expect(answer.text).to.not.include('secret').and.not.include(`href="${redirectUri}`)
    const [reason] = await reasonsOf(notes.clientId, 'invalid_redirect_uri')
    expect(reason).to.include(`the nearest, ${redirectUri}, differs in its path`)
    expect(reason).to.include('the trailing slash must match').and.not.include('secret')
  })

  // [RP-Initiated Logout §3]
  it('shows a refused sign-out address in the same way, and offers a sign-out without it', async () => {
    const query = new URLSearchParams({
      client_id: notes.clientId,
      post_logout_redirect_uri: 'https://notes.example/signed-out/?id=secret"><a href=x>',
    })
    const asPage = { accept: 'text/html' }
    const answer = await get(`${url()}${paths.endSession}?${query}`, asPage)
    const sent = '<code id="sent-address">https://notes.example/signed-out/?…</code>'
    const here = `<a id="sign-out-here" class="button" href="${paths.endSession}">`
    expectAnswer(answer, 400, sent, here)
    expect(answer.text).to.not.include('secret')
    await reasonsOf(
      notes.clientId,
      'invalid_request',
      'post_logout_redirect_uri https://notes.example/signed-out/?… is not registered; the nearest, ' +
        'https://notes.example/signed-out, differs in its path, query: the trailing slash must match',
    )
  })

  it('explains a refused scope with the reason that operators see', async () => {
    const fields = { ...asPortal, client_secret: undefined, scope: 'openid courses:read' }
    const answer = await askToAuthorize(url(), fields)
    const said = locationOf(answer).searchParams.get('error_description') ?? ''
    expect(said.slice(0, 300)).to.equal((await reasonsOf(portal.clientId, 'invalid_scope'))[0])
  })

  it('shows operators which permission a token lacked', async () => {
    const token = await memberToken(url(), readOnly)
    const query = 'mutation { markAllNotificationsRead { markedCount } }'
    expect((await askMember({ url: url(), token }, { query })).status).to.equal(403)
    await reasonsOf(notes.clientId, 'insufficient_scope')
    const address = `/admin/northlight/applications/${notes.clientId}/refusals`
    const { text } = await makePagePerson(url(), olivia).visit(address)
    expect(text).to.match(/the app lacks a permission.*account:write/s)
  })
})
