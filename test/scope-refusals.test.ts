import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { asClaude, askToAuthorize, asPortal, locationOf, register } from './support/client.ts'
import { sharedService } from './support/storages.ts'
import type { Fields } from './support/wire.ts'

describe('the description of invalid_scope [Errors 3]', () => {
  const service = sharedService()
  const { client_secret: _, ...portal } = asPortal

  const described = (parameters: URLSearchParams) => {
    expect(parameters.get('error')).to.equal('invalid_scope')
    const description = parameters.get('error_description') ?? ''
    // The characters that RFC 6749 §4.1.2.1 permits.
    expect(description).to.match(/^[\x20-\x21\x23-\x5b\x5d-\x7e]+$/)
    return description
  }
  const ask = async (fields: Fields) =>
    described(locationOf(await askToAuthorize(service().url, fields)).searchParams)
  const connect = () => `${service().url}/connect`
  const list = () => `${service().url}/auth.md#scopes`

  const claimed = { x_origin: 'site', x_site_id: 'sit_northlight', x_reviewed: true }
  for (const [title, scope] of [
    ['account:read', 'openid account:read'],
    ['all scopes, like Gemini CLI,', scopeNames().join(' ')],
  ] as const) {
    // [What the service does 7; Errors 3; RFC 6749 §2.2; RFC 9700 §4.15.1; class client privilege; 19]
    it(`tells a program that requests ${title} what to do, whatever it claims to be (Errors 3)`, async () => {
      const redirect_uri = 'http://127.0.0.1:1/cb'
      const metadata = { redirect_uris: [redirect_uri], scope, origin: 'site', ...claimed }
      const { client_id } = (await register(service().url, metadata)).body
      const description = await ask({ client_id, redirect_uri, scope })
      const refused = /^this client cannot request account:read( and account:write)?: /
      expect(description).to.match(refused)
      const remedy = 'need an application created by a site operator: ask an operator'
      expect(description).to.include(remedy)
      expect(description).to.include(`for a client_id, as described at ${connect()}; otherwise`)
      expect(description).to.include('otherwise, request fewer scopes. It can request')
      expect(description).to.include('for example openid courses:read').and.include(list())
    })
  }

  it('tells a platform that requests account scopes where to connect, also in other response modes', async () => {
    const asking = { ...asClaude, scope: 'openid account:read account:write' }
    const description = await ask(asking)
    const expected = 'this client cannot request account:read and account:write: member scopes need'
    expect(description.slice(0, expected.length)).to.equal(expected)
    expect(description).to.include(connect())
    const fragment = await askToAuthorize(service().url, { ...asking, response_mode: 'fragment' })
    const said = new URLSearchParams(locationOf(fragment).hash.slice(1))
    expect(described(said)).to.include(connect())
    expect(said.getAll('iss')).to.deep.equal([service().url])
    const form = await askToAuthorize(service().url, { ...asking, response_mode: 'form_post' })
    expect(form.text).to.include(connect()).and.not.include('requested scope is not allowed')
    expect(form.headers.get('content-type')).to.match(/^text\/html/)
  })

  it('changes nothing else in the response, whatever the state contains', async () => {
    const state = '&error_description=requested+scope+is+not+allowed&'
    const fields = { ...asClaude, scope: 'account:read', state }
    const { searchParams } = locationOf(await askToAuthorize(service().url, fields))
    expect(searchParams.get('state')).to.equal(state)
    expect(searchParams.getAll('error_description')).to.have.length(1)
    expect(searchParams.get('iss')).to.equal(service().url)
  })

  it('tells a library that joins scopes with commas to use spaces', async () => {
    const separated =
      /^scopes must be separated by spaces, not commas; a name that contains a comma is not a scope/
    expect(await ask({ ...portal, scope: 'openid, profile' })).to.match(separated)
    for (const resource of [service().url, undefined]) {
      const fields = { ...portal, resource, scope: 'openid,profile' }
      const { searchParams } = locationOf(await askToAuthorize(service().url, fields))
      expect(described(searchParams)).to.match(/^scopes must be separated by spaces, not commas; /)
      expect(searchParams.has('scope')).to.equal(false)
    }
    const ignored = await askToAuthorize(service().url, { ...portal, scope: 'openid a,b' })
    expect(ignored.headers.get('location')).to.not.include('error=')
  })

  it('tells an application of a site, and a client that names no known scope, which it can request', async () => {
    const application = await ask({ ...portal, scope: 'openid courses:read' })
    expect(application).to.match(
      /^this client cannot request courses:read: a site's application cannot have operator scopes: /,
    )
    expect(application).to.include('It can request openid')
    for (const scope of [undefined, 'mcp:access']) {
      const description = await ask({ ...asClaude, scope })
      expect(description).to.match(/^the scope parameter must name at least one known scope/)
      expect(description).to.include('openid, profile, email and operator scopes')
      expect(description).to.include(list())
    }
    const said = /known scope\. This client can request openid [a-z: ]+ \(/
    expect(await ask({ ...portal, scope: undefined })).to.match(said)
  })
})
