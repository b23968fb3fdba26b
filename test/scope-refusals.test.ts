import { expect } from 'chai'

import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { asClaude, askToAuthorize, asPortal, locationOf } from './support/client.ts'
import { sharedService } from './support/shared-service.ts'
import type { Fields } from './support/wire.ts'

/** What a client is told of scopes that it cannot have ends up before who connects it (Errors 3). */
describe('invalid_scope says what to do', () => {
  const service = sharedService()

  const register = async () => {
    const response = await fetch(service().url + paths.registration, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ redirect_uris: ['http://127.0.0.1:1/cb'] }),
    })
    const { client_id } = (await response.json()) as { client_id: string }
    return { client_id, redirect_uri: 'http://127.0.0.1:1/cb' }
  }
  const told = (parameters: URLSearchParams) => {
    expect(parameters.get('error')).to.equal('invalid_scope')
    const description = parameters.get('error_description') ?? ''
    // RFC 6749 §4.1.2.1
    expect(description).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    return description
  }
  const ask = async (fields: Fields) => {
    const answer = await askToAuthorize(service().url, fields)
    return told(locationOf(answer).searchParams)
  }
  const connect = () => `${service().url}/connect`
  const list = () => `${service().url}/auth.md#scopes`

  for (const [title, scope] of [
    ['account:read', 'openid account:read'],
    ['all scopes that there are, as Gemini CLI asks for', scopeNames().join(' ')],
  ] as const) {
    it(`to a program that asks for ${title}`, async () => {
      const description = await ask({ ...(await register()), scope })
      expect(description).to.match(/can request account:read( and account:write)?: ask an operator/)
      expect(description).to.include(`ask an operator for a client_id at ${connect()}.`)
      expect(description).to.include('reduce the scopes of your client')
      expect(description).to.include('for example openid courses:read').and.include(list())
    })
  }

  it('to a platform that asks for account scopes', async () => {
    const description = await ask({ ...asClaude, scope: 'openid account:read account:write' })
    expect(description)
      .to.match(
        /^only an application created by a site operator can request account:read and account:write: /,
      )
      .and.include(connect())
  })

  it('to an application of a site that asks for what was not chosen for it', async () => {
    const { client_id, redirect_uri } = asPortal
    const description = await ask({ client_id, redirect_uri, scope: 'openid courses:read' })
    expect(description).to.match(/^this application cannot request courses:read/)
    expect(description).to.include('it can request openid').and.include('in the admin area')
  })

  it('in the fragment and in the form of other response modes', async () => {
    const asking = { ...asClaude, scope: 'openid account:read' }
    const fragment = await askToAuthorize(service().url, { ...asking, response_mode: 'fragment' })
    expect(told(new URLSearchParams(locationOf(fragment).hash.slice(1)))).to.include(connect())
    const form = await askToAuthorize(service().url, { ...asking, response_mode: 'form_post' })
    expect(form.text).to.include(connect()).and.not.include('requested scope is not allowed')
    expect(form.headers.get('content-type')).to.match(/^text\/html/)
  })

  it('and nothing else of the answer, whatever the state says', async () => {
    const state = '&error_description=requested+scope+is+not+allowed&'
    const answer = await askToAuthorize(service().url, {
      ...asClaude,
      scope: 'account:read',
      state,
    })
    const { searchParams } = locationOf(answer)
    expect(searchParams.get('state')).to.equal(state)
    expect(searchParams.getAll('error_description')).to.have.length(1)
    expect(searchParams.get('iss')).to.equal(service().url)
  })

  it('to a library that joins scopes with a comma and a space, the last of which is known', async () => {
    const description = await ask({ ...asPortal, scope: 'openid, profile' })
    expect(description).to.match(
      /^scopes must be separated by spaces, not commas; a name that contains a comma is not a scope/,
    )
    // Any other unknown name is left out, with a comma or without (OpenID Connect Core §3.1.2.1).
    const answer = await askToAuthorize(service().url, { ...asPortal, scope: 'openid a,b' })
    expect(answer.headers.get('location')).to.not.include('error=')
  })

  it('to a library that joins scopes with commas, and with no empty scope in the answer', async () => {
    const answer = await askToAuthorize(service().url, { ...asPortal, scope: 'openid,profile' })
    const { searchParams } = locationOf(answer)
    expect(told(searchParams)).to.match(/^scopes must be separated by spaces, not commas; /)
    expect(searchParams.has('scope')).to.equal(false)
  })

  it('to a client that names no scope, or only unknown ones', async () => {
    for (const scope of [undefined, 'mcp:access']) {
      const description = await ask({ ...asClaude, scope })
      expect(description).to.match(/^scope must name at least one known scope/)
      expect(description).to.include('openid, profile, email and operator scopes')
      expect(description).to.include(list())
    }
    const { client_id, redirect_uri } = asPortal
    expect(await ask({ client_id, redirect_uri, scope: undefined })).to.match(
      /it can request openid [a-z: ]+ \(/,
    )
  })
})
