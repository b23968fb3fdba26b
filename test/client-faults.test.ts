import { setTimeout } from 'node:timers/promises'

import { expect } from 'chai'

import { paths } from '../src/platform/http/paths.ts'
import {
  askToAuthorize,
  asPortal,
  exchange,
  getCode,
  locationOf,
  obtain,
  refresh,
  revoke,
} from './support/client.ts'
import { notes, portal } from './support/gatehouse.ts'
import { sharedService } from './support/shared-service.ts'
import { type Answer, basic, encode, FORM, send } from './support/wire.ts'

/** What stumbled real libraries, told in a sentence with its cure. */
describe('a client that does not authenticate as it must', () => {
  const service = sharedService()

  const post = async (path: string, fields: object, headers: readonly string[] = []) =>
    await send(service().url, {
      ...{ method: 'POST', path },
      headers: [...FORM, ...headers],
      body: encode({ ...fields }),
    })
  const ask = async (fields: object, headers?: readonly string[]) =>
    await post(paths.token, { grant_type: 'refresh_token', refresh_token: 'x', ...fields }, headers)

  /** RFC 6749 §5.2, and a header that says the same. */
  function sentenceOf({ status, body, headers }: Answer, expected: number): string {
    expect(status).to.equal(expected)
    expect(body.error_description).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    const challenge = headers.get('www-authenticate')
    if (challenge) expect(challenge).to.include(`error_description="${body.error_description}"`)
    return body.error_description
  }

  /** What stands under Refusals of an application, once these were written. */
  async function reasonsOf(
    clientId: string,
    error: string,
    ...awaited: readonly string[]
  ): Promise<string[]> {
    for (let waits = 0; waits < 100; waits += 1) {
      const rows = await service()
        .service.stores.database.kysely.selectFrom('client_refusal')
        .select('reason')
        .where('client_id', '=', clientId)
        .where('error', '=', error)
        .orderBy('occurred_at', 'desc')
        .execute()
      const reasons = rows.map(({ reason }) => reason ?? '')
      const isThere = (text: string) => reasons.some((reason) => reason.startsWith(text))
      if (rows.length > 0 && awaited.every(isThere)) return reasons
      await setTimeout(100)
    }
    throw new Error(`Refusals of ${clientId} lack ${awaited.join(', ') || error}`)
  }

  it('is told the same whether the secret is missing, wrong or too much, or nobody has the id', async () => {
    const { clientId: client_id } = portal
    const sentences = [
      sentenceOf(await ask({ client_id }), 401),
      sentenceOf(await ask({ client_id, client_secret: 'wrong' }), 401),
      sentenceOf(await ask({ client_id: notes.clientId, client_secret: 'one' }), 401),
      sentenceOf(await ask({ client_id: 'nobody', client_secret: 'one' }), 401),
      sentenceOf(await ask({}, basic(portal.clientId, 'wrong')), 401),
      sentenceOf(await post(paths.introspection, { token: 'x' }, basic('nobody', 'one')), 401),
    ]
    expect(new Set(sentences).size).to.equal(1)
    expect(sentences[0])
      .to.include('client_secret in the form or by HTTP Basic for a confidential one')
      .and.include('send client_id alone for a public client')
      .and.include('Refusals')
  })

  it('is told to send no header when HTTP Basic has no secret, as some libraries send it', async () => {
    for (const path of [paths.token, paths.introspection, paths.revocation]) {
      const fields = { token: 'x', grant_type: 'refresh_token', refresh_token: 'x' }
      const answer = await post(path, fields, basic(notes.clientId, ''))
      if (path === paths.introspection) {
        expect(answer.status).to.equal(401)
        continue
      }
      expect(sentenceOf(answer, 400)).to.include(
        'for a public client send client_id in the form and no such header',
      )
    }
  })

  it('is told what to leave out when it says its secret twice, or which form the header has', async () => {
    const { clientId: client_id, clientSecret: client_secret } = portal
    for (const path of [paths.token, paths.revocation]) {
      const fields = { token: 'x', grant_type: 'refresh_token', refresh_token: 'x' }
      const twice = await post(path, { ...fields, client_secret }, basic(client_id, client_secret))
      expect(sentenceOf(twice, 400)).to.include(
        'either in the form, without any Authorization header, or by HTTP Basic',
      )
      // The client_id without a colon and a secret, as @okta/okta-auth-js sends it; and a token.
      for (const header of [`Basic ${Buffer.from(client_id).toString('base64')}`, 'Bearer x']) {
        const answer = await post(path, fields, ['Authorization', header])
        expect(sentenceOf(answer, 400)).to.include('the base64 of client_id:client_secret')
      }
    }
  })

  it('is told that it sent no code_verifier, and nothing of the code', async () => {
    const { url } = service()
    const code_verifier = undefined
    const sentences = [
      await exchange(url, await getCode(url), { code_verifier }),
      await exchange(url, 'nobody-has-it', { code_verifier }),
    ].map((answer) => {
      expect(answer.body.error).to.equal('invalid_grant')
      return sentenceOf(answer, 400)
    })
    expect(new Set(sentences).size).to.equal(1)
    expect(sentences[0]).to.include('code_verifier is missing')
  })

  it('with an issuer that has a slash at its end is told where the metadata is', async () => {
    for (const before of ['/', paths.token]) {
      for (const name of ['openid-configuration', 'oauth-authorization-server']) {
        const path = `${before}/.well-known/${name}`
        const { status, body } = await send(service().url, { method: 'GET', path })
        expect([status, body.error]).to.deep.equal([404, 'not_found'])
        expect(body.error_description)
          .to.include('without a path or trailing slash')
          .and.include('/.well-known/openid-configuration')
      }
    }
  })

  it('is told which methods and grant types there are, when it tries others', async () => {
    for (const path of [paths.token, paths.revocation, paths.introspection]) {
      const answer = await send(service().url, { method: 'GET', path })
      expect(answer.headers.get('allow')).to.equal('POST, OPTIONS')
      expect(sentenceOf(answer, 405)).to.include('this endpoint accepts only POST')
    }
    const fields = { ...asPortal, grant_type: 'client_credentials', redirect_uri: undefined }
    expect(sentenceOf(await ask(fields), 400)).to.include(
      'send authorization_code or refresh_token',
    )
  })

  it('is told the causes and the cure of invalid_grant, and which it was is for the operator', async () => {
    const { url } = service()
    const told = [
      await exchange(url, await getCode(url), { code_verifier: 'x'.repeat(43) }),
      await exchange(url, await getCode(url), { redirect_uri: `${notes.redirectUri}/` }),
      await exchange(url, 'nobody-has-it'),
      await exchange(url, await getCode(url), asPortal),
    ]
    const sentences = told.map((answer) => {
      expect(answer.body.error).to.equal('invalid_grant')
      return sentenceOf(answer, 400)
    })
    expect(new Set(sentences).size, 'a stranger learns nothing of a code').to.equal(1)
    expect(sentences[0])
      .to.include('redirect_uri or code_verifier')
      .and.include('under Refusals')
      .and.include('Start the authorization again')
    await reasonsOf(
      notes.clientId,
      'invalid_grant',
      'code_verifier does not match code_challenge',
      'authorization code redirect_uri mismatch',
      'the code is unknown: it expired before the exchange',
    )
    const refreshed = sentenceOf(await refresh(url, 'nobody-has-it'), 400)
    expect(refreshed)
      .to.include('replace the stored refresh token by the new one')
      .and.include('Refusals')
  })

  it('is told the value of resource, and that the code is still good without it', async () => {
    const { url } = service()
    const code = await getCode(url)
    const answer = await exchange(url, code, { resource: undefined })
    expect(answer.body.error).to.equal('invalid_target')
    expect(sentenceOf(answer, 400)).to.include(`send resource=${url} with the same code`)
    expect((await exchange(url, code)).status).to.equal(200)
    const foreign = await exchange(url, await getCode(url), { resource: 'https://else.example' })
    expect(sentenceOf(foreign, 400)).to.include(`send resource=${url}`)
  })

  for (const [title, fields, cure] of [
    ['plain PKCE', { code_challenge_method: 'plain' }, 'code_challenge_method=S256'],
    [
      'no PKCE',
      { code_challenge: undefined, code_challenge_method: undefined },
      'code_challenge_method=S256',
    ],
    ['no method of PKCE', { code_challenge_method: undefined }, 'code_challenge_method=S256'],
    ['an implicit response', { response_type: 'id_token' }, 'response_type=code'],
    ['commas and a nonce', { scope: 'openid,profile', nonce: 'n' }, 'by spaces and not by commas'],
    [
      'a comma and a nonce',
      { scope: 'openid, profile', nonce: 'n' },
      'by spaces and not by commas',
    ],
    ['unknown scopes and a nonce', { scope: 'api', nonce: 'n' }, 'it can request openid'],
    ['a nonce without openid', { scope: 'profile', nonce: 'n' }, 'add openid to scope'],
    ['max_age without openid', { scope: 'profile', max_age: '9' }, 'leave max_age out'],
    ['no resource', { resource: undefined }, 'send resource=http'],
    ['another resource', { resource: 'http://localhost:1/' }, 'send resource=http'],
  ] as const) {
    it(`is told what to send when it asks with ${title}`, async () => {
      const { href } = locationOf(await askToAuthorize(service().url, fields))
      // Some of these go back in the fragment.
      const said = new URLSearchParams(href.replace(/^[^?#]*[?#]/, '')).get('error_description')
      expect(said).to.include(cure)
      expect(said).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    })
  }

  it('has its refused address on the page as text, and the difference under Refusals', async () => {
    const { protocol, host } = new URL(notes.redirectUri)
    const path = new URL(notes.redirectUri).pathname
    const sent = `${protocol}//${host}${path}/?code=secret"><a href=x>`
    const answer = await askToAuthorize(service().url, { redirect_uri: sent })
    expect(answer.status).to.equal(400)
    expect(answer.text).to.include(`<code id="sent-address">${protocol}//${host}${path}/?…</code>`)
    expect(answer.text).to.not.include('secret').and.not.include(`href="${protocol}//${host}`)
    const [reason] = await reasonsOf(notes.clientId, 'invalid_redirect_uri')
    expect(reason).to.include(`the nearest, ${notes.redirectUri}, differs in its path`)
    expect(reason).to.include('the slash at the end must match').and.not.include('secret')
  })

  it('that authenticates otherwise than it must is told so under Refusals, with the way', async () => {
    expect((await ask({ client_id: notes.clientId, client_secret: 'one' })).status).to.equal(401)
    expect(await reasonsOf(notes.clientId, 'invalid_client')).to.include(
      'the client must authenticate by none',
    )
  })

  it('that asks for a scope that it cannot have is told no more than its operator', async () => {
    const fields = { ...asPortal, client_secret: undefined, scope: 'openid courses:read' }
    const answer = await askToAuthorize(service().url, fields)
    const said = locationOf(answer).searchParams.get('error_description') ?? ''
    const [reason] = await reasonsOf(portal.clientId, 'invalid_scope')
    expect(said.slice(0, 300)).to.equal(reason)
  })

  it('that asks at a refresh for scopes of no catalogue gets the others, as at the authorization', async () => {
    const { url } = service()
    const tokens = await obtain(url)
    const answer = await refresh(url, tokens.refresh_token, { scope: 'openid offline_access' })
    expect(answer.status, answer.text).to.equal(200)
    expect(answer.body.scope).to.equal('openid')
    const none = await refresh(url, answer.body.refresh_token, { scope: 'offline_access' })
    expect([none.status, none.body.error]).to.deep.equal([400, 'invalid_scope'])
    const more = await refresh(url, answer.body.refresh_token, { scope: 'openid courses:read' })
    expect([more.status, more.body.error]).to.deep.equal([400, 'invalid_scope'])
  })

  it('reads a good revocation as JSON', async () => {
    const { url } = service()
    const { access_token } = await obtain(url, { authorization: asPortal, token: asPortal })
    expect(JSON.parse((await revoke(url, access_token, asPortal)).text)).to.deep.equal({})
  })
})
