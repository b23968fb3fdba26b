import { expect } from 'chai'

import { paths } from '../src/http/paths.ts'
import { asPortal, obtain, refresh, revoke } from './support/client.ts'
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
      .to.include('a confidential client sends its client_secret')
      .and.include('a public client sends client_id and no secret')
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
        'a public client sends client_id in the form and no such header',
      )
    }
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
