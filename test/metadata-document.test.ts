import { expect } from 'chai'
import fc from 'fast-check'

import { makeFetchGovernor } from '../src/oauth/clients/fetch-governor.ts'
import {
  admitsDocument,
  fingerprintOf,
  freshSeconds,
  judgeDocument,
} from '../src/oauth/clients/metadata-document.ts'
import { readDocumentAddress } from '../src/platform/http/client-addresses.ts'

const id = 'https://client.example/app/client.json'
const hosts = ['127.0.0.1', '[::1]', 'localhost']

const plain = {
  client_id: id,
  client_name: 'A client',
  redirect_uris: ['https://client.example/callback'],
}

function judge(document: unknown) {
  const text = typeof document === 'string' ? document : JSON.stringify(document)
  return judgeDocument(new URL(id), text, hosts)
}

// [97]
describe('the address of a metadata document', () => {
  // [Client ID Metadata Document §3]
  it('is https with a host name and a path', () => {
    for (const address of [id, 'https://claude.ai/oauth/mcp-oauth-client-metadata']) {
      expect(readDocumentAddress(address)?.href).to.equal(address)
    }
  })

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
    // [Client ID Metadata Document §3]
    it(`is not ${JSON.stringify(address).slice(0, 80)}`, () => {
      expect(readDocumentAddress(address)).to.equal(undefined)
    })
  }

  // [Client ID Metadata Document §6.8; Client registration 5.3]
  it('is admitted on a listed host, or on any when open registration is on (Client registration 5)', () => {
    const listed = { hosts: ['client.example'], openRegistration: false }
    expect(admitsDocument(id, listed)).to.equal(true)
    for (const host of ['other.example', 'sub.client.example', 'client.example.evil.example']) {
      expect(admitsDocument(`https://${host}/client.json`, listed), host).to.equal(false)
      expect(
        admitsDocument(`https://${host}/client.json`, { hosts: [], openRegistration: true }),
        host,
      ).to.equal(true)
    }
    expect(admitsDocument('https://10.0.0.1/a', { hosts: [], openRegistration: true })).to.equal(
      false,
    )
  })
})

describe('what counts of a metadata document', () => {
  it('infers native when a redirect address is loopback, so that its port may vary', () => {
    const judged = judge({ ...plain, redirect_uris: ['http://127.0.0.1/callback'] })
    expect(judged).to.deep.equal({
      kind: 'accepted',
      document: {
        name: 'A client',
        redirectUris: ['http://127.0.0.1/callback'],
        grantTypes: ['authorization_code', 'refresh_token'],
        applicationType: 'native',
      },
    })
    expect(judge(plain)).to.have.nested.property('document.applicationType', 'web')
  })

  // [Client ID Metadata Document §6.1]
  it('drops redirect addresses that lie elsewhere, and grants that are not served', () => {
    const judged = judge({
      ...plain,
      redirect_uris: [
        'https://insiders.client.example/redirect',
        'https://client.example/redirect',
        'cursor://client.example/redirect',
        'http://127.0.0.1:33418/',
        'http://192.168.0.1:80/',
      ],
      grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:jwt-bearer'],
    })
    expect(judged)
      .to.have.nested.property('document.redirectUris')
      .that.deep.equals(['https://client.example/redirect', 'http://127.0.0.1:33418/'])
    expect(judged)
      .to.have.nested.property('document.grantTypes')
      .that.deep.equals(['authorization_code'])
  })

  // [Client ID Metadata Document §6.2]
  it('negotiates to the authentication method none where the client offers it', () => {
    const preferring = { ...plain, token_endpoint_auth_method: 'private_key_jwt' }
    expect(judge(preferring).kind).to.equal('refused')
    const offering = {
      ...preferring,
      token_endpoint_auth_methods_supported: ['private_key_jwt', 'none'],
    }
    expect(judge(offering).kind).to.equal('accepted')
  })

  it('keeps nothing that only the service may say', () => {
    const judged = judge({
      ...plain,
      scope: 'account:read',
      x_origin: 'integration',
      x_reviewed: true,
      post_logout_redirect_uris: ['https://evil.example/'],
      jwks_uri: 'https://evil.example/jwks',
      backchannel_logout_uri: 'https://evil.example/logout',
    })
    expect(Object.keys(judged.kind === 'accepted' ? judged.document : {})).to.have.members([
      'name',
      'redirectUris',
      'grantTypes',
      'applicationType',
    ])
  })

  const refused: [string, unknown][] = [
    ['another client_id', { ...plain, client_id: 'https://client.example/other.json' }],
    ['no client_id', { ...plain, client_id: undefined }],
    ['no client_name', { ...plain, client_name: undefined }],
    ['an empty client_name', { ...plain, client_name: ' ' }],
    ['an invisible client_name', { ...plain, client_name: 'A\u200b' }],
    ['a client_name that shows as nothing', { ...plain, client_name: '\u2800\u115f' }],
    ['no redirect addresses', { ...plain, redirect_uris: undefined }],
    ['an empty list of redirect addresses', { ...plain, redirect_uris: [] }],
    [
      'redirect addresses of another host only',
      { ...plain, redirect_uris: ['https://evil.example/'] },
    ],
    ['redirect addresses of another type', { ...plain, redirect_uris: 'https://client.example/' }],
    ['a secret', { ...plain, client_secret: 'a' }],
    ['a secret that is empty', { ...plain, client_secret: null }],
    ['the expiry of a secret', { ...plain, client_secret_expires_at: 0 }],
    ['a shared-secret method', { ...plain, token_endpoint_auth_method: 'client_secret_post' }],
    [
      'a shared-secret method beside none',
      {
        ...plain,
        token_endpoint_auth_method: 'client_secret_basic',
        token_endpoint_auth_methods_supported: ['none'],
      },
    ],
    ['no code grant', { ...plain, grant_types: ['client_credentials'] }],
    ['no code response', { ...plain, response_types: ['token'] }],
    ['two names', `{"client_name":"A",${JSON.stringify(plain).slice(1)}`],
    ['a list', [plain]],
    ['no JSON', 'client_id: a'],
  ]
  for (const [title, document] of refused) {
    // [Client ID Metadata Document §4.1; Client ID Metadata Document §6.2]
    it(`is refused with ${title}`, () => {
      expect(judge(document).kind).to.equal('refused')
    })
  }

  // [Client registration 5.5; 9]
  it('never lets an address count that is neither on its host nor loopback', () => {
    const uri = fc.oneof(
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
      fc.string({ unit: 'binary', maxLength: 30 }),
      fc.string({ maxLength: 20 }).map((rest) => `https://client.example${rest}`),
      fc.string({ maxLength: 20 }).map((rest) => `http://127.0.0.1${rest}`),
    )
    fc.assert(
      fc.property(fc.array(uri, { maxLength: 5 }), (redirect_uris) => {
        const judged = judge({ ...plain, redirect_uris })
        if (judged.kind === 'refused') return true
        return judged.document.redirectUris.every((accepted) => {
          const { protocol, host, hostname, username } = new URL(accepted)
          if (username !== '') return false
          return protocol === 'https:' ? host === 'client.example' : hosts.includes(hostname)
        })
      }),
      { numRuns: 2000 },
    )
  })

  it('judges any text without failing', () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: 'binary' }), fc.json()), (text) =>
        ['accepted', 'refused'].includes(judge(text).kind),
      ),
      { numRuns: 1000 },
    )
  })
})

describe('the fingerprint of a document', () => {
  const document = {
    name: 'A',
    redirectUris: ['https://client.example/a', 'https://client.example/b'],
    grantTypes: ['authorization_code' as const],
    applicationType: 'web' as const,
  }

  it('changes with the name and the redirect addresses, and with nothing else', () => {
    const own = fingerprintOf(document)
    expect(fingerprintOf({ ...document, name: 'B' })).not.to.equal(own)
    expect(fingerprintOf({ ...document, redirectUris: ['https://client.example/a'] })).not.to.equal(
      own,
    )
    expect(
      fingerprintOf({ ...document, redirectUris: document.redirectUris.toReversed() }),
    ).to.equal(own)
    expect(fingerprintOf({ ...document, applicationType: 'native' })).to.equal(own)
  })
})

// [Client ID Metadata Document §4.4]
describe('how long a document is fresh (RFC 9111)', () => {
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

// [MCP Authorization §Authorization Server Abuse Protection]
describe('the governor of fetches', () => {
  const bounds = { runningMax: 3, runningPerHostMax: 2, perMinuteMax: 10, perMinuteAndHostMax: 4 }

  it('bounds what runs at once, for a host and in all', () => {
    const governor = makeFetchGovernor(() => 0, bounds)
    const first = governor.begin('a.example')
    expect(first).to.be.a('function')
    expect(governor.begin('a.example')).to.be.a('function')
    expect(governor.begin('a.example')).to.equal(undefined)
    expect(governor.begin('b.example')).to.be.a('function')
    expect(governor.begin('c.example')).to.equal(undefined)
    first?.()
    expect(governor.begin('c.example')).to.be.a('function')
  })

  it('bounds what begins within a minute, for a host and in all', () => {
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
