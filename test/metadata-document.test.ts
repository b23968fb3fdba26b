import fc from 'fast-check'

import type { ServicePolicy } from '../src/config/config.ts'
import { decideReview } from '../src/directory/sites/review-policy.ts'
import { makeFetchGovernor } from '../src/oauth/clients/fetch-governor.ts'
import {
  admitsDocument,
  fingerprintOf,
  freshSeconds,
  judgeDocument,
} from '../src/oauth/clients/metadata-document.ts'
import { readDocumentAddress } from '../src/platform/http/client-addresses.ts'

const id = 'https://client.example/app/client.json'
const hosts: ServicePolicy['loopbackHosts'] = ['127.0.0.1', '[::1]', 'localhost']

const redirect_uris = ['https://client.example/callback']
const plain = { client_id: id, client_name: 'A client', redirect_uris }

function judge(document: unknown, privateKeyJwt = false) {
  const text = typeof document === 'string' ? document : JSON.stringify(document)
  return judgeDocument(new URL(id), text, { loopbackHosts: hosts, privateKeyJwt })
}

function outcomeOf(document: unknown): 'accepted' | 'refused' {
  return 'problem' in judge(document) ? 'refused' : 'accepted'
}

describe('the address of a metadata document [97]', () => {
  for (const address of [
    'http://client.example/client.json',
    'HTTPS://client.example/client.json',
    'https://client.example',
    'https://client.example/',
    'https://client.example/a/../client.json',
    'https://client.example/a/%2e%2e/client.json',
    'https://client.example/client.json#a',
    'https://client.example/client.json#',
    'https://client.example/client.json?a=1',
    'https://client.example/client.json?',
    'https://user@client.example/client.json',
    'https://user:pass@client.example/client.json',
    'https://client.example:8443/client.json',
    'https://client.example:443/client.json',
    'https://CLIENT.example/client.json',
    'https://client.example./client.json',
    'https://client.example\\client.json',
    'https://cliént.example/client.json',
    'https://localhost/client.json',
    'https://intranet/client.json',
    'https://a.localhost/client.json',
    'https://printer.local/client.json',
    'https://metadata.google.internal/client.json',
    'https://127.0.0.1/client.json',
    'https://169.254.169.254/latest/meta-data',
    'https://2130706433/client.json',
    'https://[::1]/client.json',
    'https://[::ffff:169.254.169.254]/client.json',
    ' https://client.example/client.json',
    'https://client.example/client.json\n',
    `https://client.example/${'a'.repeat(600)}`,
    'urn:client',
    '',
  ]) {
    it(`is not ${JSON.stringify(address).slice(0, 80)} [Client ID Metadata Document §3]`, () => {
      expect(readDocumentAddress(address)).to.equal(undefined)
    })
  }

  // [Client ID Metadata Document §3; Client ID Metadata Document §6.8; Client registration 5.3]
  it('is https with a path, and is admitted on a listed host, or on any when registration is open (Client registration 5)', () => {
    expect(readDocumentAddress(id)?.href).to.equal(id)
    const listed = { sources: ['client.example'], openRegistration: false }
    const open = { sources: [], openRegistration: true }
    expect(admitsDocument(id, listed)).to.equal(true)
    for (const host of ['other.example', 'sub.client.example', 'client.example.evil.example']) {
      expect(admitsDocument(`https://${host}/client.json`, listed), host).to.equal(false)
      expect(admitsDocument(`https://${host}/client.json`, open), host).to.equal(true)
    }
    expect(admitsDocument('https://10.0.0.1/a', open)).to.equal(false)
    const exact = { sources: [id], openRegistration: false }
    expect(admitsDocument(id, exact)).to.equal(true)
    for (const other of [`${id}/`, 'https://client.example/app/other.json', id.toUpperCase()])
      expect(admitsDocument(other, exact), other).to.equal(false)
  })
})

describe('an accepted metadata document', () => {
  it('is native when a redirect URI is loopback, so that its port may vary', () => {
    expect(judge({ ...plain, redirect_uris: ['http://127.0.0.1/callback'] })).to.deep.equal({
      name: 'A client',
      redirectUris: ['http://127.0.0.1/callback'],
      postLogoutRedirectUris: [],
      grantTypes: ['authorization_code', 'refresh_token'],
      applicationType: 'native',
      authMethods: ['none'],
    })
    expect(judge(plain)).to.include({ applicationType: 'web' })
  })

  // [Client ID Metadata Document §6.1; RP-Initiated Logout §3]
  it('loses redirect URIs of other hosts, and unsupported grants', () => {
    const own = ['https://client.example/redirect', 'http://127.0.0.1:33418/']
    const foreign = ['https://insiders.client.example/redirect', 'http://192.168.0.1:80/']
    const document = {
      ...plain,
      redirect_uris: [...foreign, 'cursor://client.example/redirect', ...own],
      post_logout_redirect_uris: [...foreign, ...own],
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    }
    const kept = { redirectUris: own, postLogoutRedirectUris: own }
    expect(judge(document)).to.deep.include({ ...kept, grantTypes: ['authorization_code'] })
  })

  const key = { kty: 'EC', crv: 'P-256', x: 'AA', y: 'AA' }
  const own = { jwks_uri: 'https://client.example/keys.json' }
  const only = { ...plain, token_endpoint_auth_methods_supported: ['private_key_jwt'] }
  const both = { ...only, token_endpoint_auth_methods_supported: ['none', 'private_key_jwt'] }
  const preferring = { ...plain, token_endpoint_auth_method: 'private_key_jwt' }
  const mutual = { ...plain, token_endpoint_auth_methods_supported: ['tls_client_auth'] }
  for (const [title, document, expected] of [
    ['only keys', { ...only, ...own }, 'private_key_jwt'],
    ['a key set', { ...only, jwks: { keys: [key] } }, 'private_key_jwt'],
    ['keys and none', { ...both, ...own }, 'none private_key_jwt'],
    ['RS256', { ...only, ...own, token_endpoint_auth_signing_alg: 'RS256' }, 'private_key_jwt'],
    ['HS256 and none', { ...both, ...own, token_endpoint_auth_signing_alg: 'HS256' }, 'none'],
    ['HS256', { ...only, ...own, token_endpoint_auth_signing_alg: 'HS256' }, undefined],
    ['no keys', only, undefined],
    ['a preference for keys', preferring, undefined],
    ['a preference for keys, and none', { ...both, ...preferring }, 'none'],
    ['a private key', { ...only, jwks: { keys: [{ ...key, d: 'AA' }] } }, undefined],
    ['keys of another host', { ...only, jwks_uri: 'https://evil.example/keys.json' }, undefined],
    ['mutual TLS', mutual, undefined],
  ] as const) {
    // [Client ID Metadata Document §6.2]
    it(`with ${title} authenticates by ${expected ?? 'nothing, and is refused'} (SEP-3149)`, () => {
      const judged = judge(document, true)
      const methods = 'problem' in judged ? undefined : judged.authMethods.join(' ')
      expect(methods).to.equal(expected)
      const publicly = expected?.includes('none') ? 'accepted' : 'refused'
      expect(outcomeOf(document), 'without private_key_jwt').to.equal(publicly)
    })
  }

  it('does not keep members that only the service may set', () => {
    const evil = 'https://evil.example/'
    const forged = { x_origin: 'integration', x_reviewed: true, x_fingerprint: 'forged' }
    const addresses = { jwks_uri: evil, backchannel_logout_uri: evil }
    const document = { ...plain, ...forged, ...addresses, scope: 'account:read' }
    const accepted = judge({ ...document, post_logout_redirect_uris: [evil] })
    const members = ['name', 'redirectUris', 'grantTypes', 'applicationType', 'authMethods']
    expect(Object.keys(accepted)).to.have.members([...members, 'postLogoutRedirectUris'])
    expect(accepted).to.deep.include({ postLogoutRedirectUris: [] })
  })

  it('says that a public document must not contain a secret', () => {
    const problem = 'client_secret: must not be in a public document'
    expect(judge({ ...plain, client_secret: 'a' })).to.deep.equal({ problem })
  })
})

describe('a metadata document', () => {
  const basicBesideNone = {
    token_endpoint_auth_method: 'client_secret_basic',
    token_endpoint_auth_methods_supported: ['none'],
  }
  for (const [title, document] of [
    ['another client_id', { ...plain, client_id: 'https://client.example/other.json' }],
    ['no client_id', { ...plain, client_id: undefined }],
    ['no client_name', { ...plain, client_name: undefined }],
    ['an empty client_name', { ...plain, client_name: ' ' }],
    ['an invisible client_name', { ...plain, client_name: 'A\u200b' }],
    ['a blank-looking client_name', { ...plain, client_name: '\u2800\u115f' }],
    ['no redirect URIs', { ...plain, redirect_uris: undefined }],
    ['an empty list of redirect URIs', { ...plain, redirect_uris: [] }],
    ['only foreign redirect URIs', { ...plain, redirect_uris: ['https://evil.example/'] }],
    ['a string as redirect_uris', { ...plain, redirect_uris: 'https://client.example/' }],
    ['a secret', { ...plain, client_secret: 'a' }],
    ['a secret that is empty', { ...plain, client_secret: null }],
    ['the expiry of a secret', { ...plain, client_secret_expires_at: 0 }],
    ['a shared-secret method', { ...plain, token_endpoint_auth_method: 'client_secret_post' }],
    ['a shared-secret method beside none', { ...plain, ...basicBesideNone }],
    ['no code grant', { ...plain, grant_types: ['client_credentials'] }],
    ['no code response', { ...plain, response_types: ['token'] }],
    ['two names', `{"client_name":"A",${JSON.stringify(plain).slice(1)}`],
    ['a list', [plain]],
    ['no JSON', 'client_id: a'],
  ] as const) {
    // [Client ID Metadata Document §4.1; Client ID Metadata Document §6.2]
    it(`is refused with ${title}`, () => expect(outcomeOf(document)).to.equal('refused'))
  }

  // [Client registration 5.5; 9]
  it('is accepted with redirect URIs on its host and loopback ones only', () => {
    const uri = fc.oneof(
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.string({ maxLength: 20 }).map((rest) => `https://client.example${rest}`),
      fc.string({ maxLength: 20 }).map((rest) => `http://127.0.0.1${rest}`),
    )
    fc.assert(
      fc.property(fc.array(uri, { maxLength: 5 }), (redirect_uris) => {
        const judged = judge({ ...plain, redirect_uris })
        if ('problem' in judged) return true
        return judged.redirectUris.every((accepted) => {
          const { protocol, host, hostname, username } = new URL(accepted)
          if (username !== '') return false
          return protocol === 'https:'
            ? host === 'client.example'
            : hosts.some((host) => host === hostname)
        })
      }),
      { numRuns: 2000 },
    )
  })

  it('is accepted or refused for any text', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), (text) =>
        ['accepted', 'refused'].includes(outcomeOf(text)),
      ),
      { numRuns: 1000 },
    )
  })
})

it('the fingerprint of a document depends on its name and its redirect URIs only', () => {
  const redirectUris = ['https://client.example/a', 'https://client.example/b']
  const fingerprintWith = (changes: Partial<Parameters<typeof fingerprintOf>[0]> = {}) =>
    fingerprintOf({
      ...{ name: 'A', redirectUris, applicationType: 'web' },
      ...{ grantTypes: ['authorization_code'], authMethods: ['none'], ...changes },
    })
  expect(fingerprintWith({ name: 'B' })).not.to.equal(fingerprintWith())
  expect(fingerprintWith({ redirectUris: [redirectUris[1] ?? ''] })).not.to.equal(fingerprintWith())
  expect(fingerprintWith({ redirectUris: redirectUris.toReversed() })).to.equal(fingerprintWith())
  expect(fingerprintWith({ applicationType: 'native' })).to.equal(fingerprintWith())
})

describe('the freshness of a document (RFC 9111) [Client ID Metadata Document §4.4]', () => {
  for (const [header, expected] of [
    [null, 60],
    ['max-age=3600', 3600],
    ['public, max-age=600, s-maxage=1200', 1200],
    ['max-age=1', 60],
    ['max-age=99999999', 86_400],
    ['max-age=99999999999999999999', 86_400],
    ['no-store, max-age=3600', 60],
    ['private, max-age=3600', 60],
    ['max-age=abc', 60],
  ] as const) {
    it(`is ${expected} s with ${header ?? 'no Cache-Control'}`, () => {
      expect(freshSeconds(header)).to.equal(expected)
    })
  }
})

describe('the fetch governor [MCP Authorization §Authorization Server Abuse Protection]', () => {
  const bounds = { runningMax: 3, runningPerHostMax: 2, perMinuteMax: 10, perMinuteAndHostMax: 4 }

  it('limits concurrent fetches per host and in total', () => {
    const { begin } = makeFetchGovernor(() => 0, bounds)
    const ends = ['a', 'a', 'a', 'b', 'c'].map((host) => begin(`${host}.example`))
    expect(ends.map((end) => end !== undefined)).to.deep.equal([true, true, false, true, false])
    ends[0]?.()
    expect(begin('c.example')).to.be.a('function')
  })

  it('limits fetches per minute, per host and in total', () => {
    let nowMs = 0
    const governor = makeFetchGovernor(() => nowMs, bounds)
    const begin = (host: string) => {
      const end = governor.begin(host)
      end?.()
      return end !== undefined
    }
    const begun = (host: string) => Array.from({ length: 6 }, () => begin(host)).filter(Boolean)
    expect(begun('a.example')).to.have.length(4)
    expect(begun('b.example')).to.have.length(4)
    expect(begun('c.example')).to.have.length(2)
    nowMs = 60_001
    expect(begun('a.example')).to.have.length(4)
  })
})

describe('the review of a document [design 31]', () => {
  const reviews = {
    none: undefined,
    approved: { review: 'approved', fingerprint: 'current' },
    stale: { review: 'approved', fingerprint: 'stale' },
    blocked: { review: 'blocked', fingerprint: 'stale' },
  } as const
  // Each row has the platform's review, then the resulting state for each review by a site, in the order of `reviews`.
  for (const [title, ...states] of [
    ['none', 'unreviewed', 'approved', 'changed', 'blocked'],
    ['approved', 'approved', 'approved', 'approved', 'blocked'],
    ['stale', 'changed', 'approved', 'changed', 'blocked'],
    ['blocked', 'blocked', 'blocked', 'blocked', 'blocked'],
  ] as const) {
    it(`is ${states.join(', ')} by the review of a site where that of the platform is ${title}`, () => {
      const platform = reviews[title]
      const found = Object.values(reviews).map((site) =>
        decideReview({ platform, site }, 'current'),
      )
      expect(found).to.deep.equal(states)
    })
  }
})
