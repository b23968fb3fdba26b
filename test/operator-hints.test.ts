import { readKeySet } from '../src/platform/http/public-keys.ts'
import { welcomeText } from '../src/platform/process/welcome.ts'
import { readWantedScopes } from '../src/resource/resource-server/forward-auth-route.ts'

describe('hints for the set-up', () => {
  it('explain how to make a key set from a single key', () => {
    const key = { kty: 'OKP', crv: 'Ed25519', x: 'abc' }
    const expected = { problem: 'it has no list "keys"; wrap a single key: {"keys": [ ... ]}' }
    expect(readKeySet(JSON.stringify(key))).to.deep.equal(expected)
    expect(readKeySet('{"keys":[]}')).to.deep.equal({ problem: 'its list "keys" is empty' })
    const eleven = { keys: Array.from({ length: 11 }, () => key) }
    const tooMany = { problem: 'it has more than 10 keys' }
    expect(readKeySet(JSON.stringify(eleven))).to.deep.equal(tooMany)
    expect(readKeySet(JSON.stringify({ keys: [key] }))).to.have.property('jwks')
  })

  it('explain that scopes are separated by spaces', () => {
    const asked = (query: string) => readWantedScopes('/', query, [])
    expect(Reflect.get(asked('scope=account:read,profile'), 'problem'))
      .to.include('use only scopes listed in scopes_supported')
      .and.include('separate scopes with spaces, not commas')
    expect(Reflect.get(asked('scope=nothing'), 'problem')).to.not.include('commas')
    expect(asked('scope=profile')).to.deep.equal({ scopes: ['profile'] })
  })

  it('name the command that obtains a token of this service', () => {
    const started = { startedInMs: 1, workers: 1, demoPeople: [] }
    const said = 'npm run token -- --base-url http://127.0.0.1:4711\n'
    expect(welcomeText({ ...started, baseUrl: 'http://127.0.0.1:4711' })).to.include(said)
    const usual = welcomeText({ ...started, baseUrl: 'http://127.0.0.1:3000' })
    expect(usual).to.match(/npm run token\n/)
  })
})
