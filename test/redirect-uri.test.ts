import fc from 'fast-check'

import { explainRedirect, shownUri } from '../src/oauth/clients/redirect-difference.ts'
import {
  differInPortOnly,
  isLoopbackRedirect,
  isUnderHost,
  isWebAddress,
  mayBeConfigured,
  mayReturnTo,
} from '../src/platform/http/redirect-uri.ts'

const hosts = ['127.0.0.1', '[::1]', 'localhost']

describe('loopback redirect addresses', () => {
  // test/hostile/registration-cases.ts has further cases.
  for (const [uri, why] of [
    ['HTTP://127.0.0.1:8000/callback', 'a scheme in capitals'],
    ['http://127.0.0.1:8000', 'an address without a path'],
    ['http://127.0.0.1:00080/callback', 'a port with leading zeros'],
    ['http://127.0.0.1:65536/callback', 'a port that does not exist'],
    ['http://127.0.0.1:8000x/callback', 'a port that is not a number'],
    ['http://127.0.0.1:/callback', 'an empty port'],
    ['http://0177.0.0.1:8000/callback', 'an octal host'],
    ['http://127.1:8000/callback', 'a shortened host'],
    ['http://[0:0:0:0:0:0:0:1]:8000/callback', 'a long spelling of ::1'],
    ['http://[::]:8000/callback', 'the unspecified IPv6 address'],
    ['http://LOCALHOST:8000/callback', 'a host in capitals'],
    ['http://localhost.:8000/callback', 'a host with a full stop'],
    ['http://localhost.evil.example:8000/callback', 'a host that begins with localhost'],
    ['http://user:pass@127.0.0.1:8000/callback', 'userinfo with a password'],
    ['http://127.0.0.1:8000/callback#', 'an empty fragment'],
    ['http://127.0.0.1:8000/%zz', 'a broken encoding'],
    ['http://127.0.0.1:8000/call back', 'a space'],
    ['http://127.0.0.1:8000/callback\n', 'a line break at the end'],
    ['\thttp://127.0.0.1:8000/callback', 'a tab in front'],
    ['ht\ntp://127.0.0.1:8000/callback', 'a line break in the scheme'],
    ['http://１２７.0.0.1:8000/callback', 'full-width digits'],
    ['http://localhoſt:8000/callback', 'a letter that is folded to s'],
    ['http:/127.0.0.1:8000/callback', 'one slash after the scheme'],
    ['http:127.0.0.1:8000/callback', 'an address without slashes after the scheme'],
    ['http:///127.0.0.1:8000/callback', 'three slashes after the scheme'],
    [`http://127.0.0.1:8000/${'a'.repeat(600)}`, 'more than 512 characters'],
  ] as const)
    it(`refuses ${why}`, () => expect(isLoopbackRedirect(uri, hosts)).to.equal(false))

  it('accepts localhost only where it is enabled (design 7) [RFC 8252 §8.3]', () => {
    expect(isLoopbackRedirect('http://localhost:80/cb', ['127.0.0.1', '[::1]'])).to.equal(false)
    expect(isLoopbackRedirect('http://127.0.0.1:80/cb', ['127.0.0.1', '[::1]'])).to.equal(true)
  })

  it('accepts only addresses that a browser opens on the same computer', () => {
    const piece = fc.constantFrom(
      ...['http', 'https', ':', '/', '//', '\\', '@', '#', '?', '.', '..', '%2e', '%00'],
      ...['127.0.0.1', 'localhost', '[::1]', '[', ']', 'evil.example', '\t', '\n', ' '],
      ...['0', '80', '65535', 'cb'],
    )
    const uris = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join('')),
      fc.array(piece, { maxLength: 8 }).map((pieces) => `http://127.0.0.1${pieces.join('')}`),
      fc.webUrl({ withFragments: true, withQueryParameters: true }),
    )
    fc.assert(
      fc.property(uris, (uri) => {
        if (!isLoopbackRedirect(uri, hosts)) return true
        const url = new URL(uri)
        return (
          url.protocol === 'http:' &&
          hosts.includes(url.hostname) &&
          url.username + url.password + url.search + url.hash === '' &&
          url.href === uri.replace(/^(http:\/\/[^/]+):80(?=\/)/, '$1') &&
          url.port !== '0'
        )
      }),
      { numRuns: 5000 },
    )
  })

  // [RFC 8252 §8.3; Client registration record 3; Client registration 3.2]
  it('accepts every host, port and path of the listed form (Client registration 3, design 7)', () => {
    for (const uri of ['http://127.0.0.1/', 'http://[::1]:8976/callback/%C3%A9.f'])
      expect(isLoopbackRedirect(uri, hosts), uri).to.equal(true)
    const path = fc.stringMatching(/^(\/[a-z0-9_~-]{1,8}){1,4}$/)
    const port = fc.integer({ min: 1, max: 65_535 })
    fc.assert(
      fc.property(fc.constantFrom(...hosts), port, path, (host, number, rest) =>
        isLoopbackRedirect(`http://${host}:${number}${rest}`, hosts),
      ),
    )
  })
})

describe('redirect addresses under the host of a document', () => {
  const document = new URL('https://client.example/app/client.json')

  // [Client registration 5.5]
  it('accepts any path and query of the host (Client registration 5)', () => {
    for (const path of ['/callback', '/', '/a?b=c'])
      expect(isUnderHost(`https://client.example${path}`, document), path).to.equal(true)
  })

  it('refuses every other host, port, scheme and spelling', () => {
    for (const uri of [
      'https://sub.client.example/callback',
      'https://client.example.evil.example/callback',
      'https://evil.example/client.example',
      'https://client.example@evil.example/callback',
      'https://user@client.example/callback',
      'https://client.example:8443/callback',
      'https://client.example:443/callback',
      'http://client.example/callback',
      'https://CLIENT.example/callback',
      'https://client.example/a/../callback',
      'https://client.example/callback#',
      'https://client.example/callback#fragment',
      'https://client.example',
      'https:client.example/callback',
      'https://client.example\\callback',
      'https://client.example./callback',
      ' https://client.example/callback',
      'javascript://client.example/%0aalert(1)',
    ])
      expect(isUnderHost(uri, document), uri).to.equal(false)
  })
})

it('web addresses are recognised in every spelling that a parser accepts', () => {
  for (const uri of ['https://a.example/', 'HTTP://a', 'ht\ntps://a', ' http://a', 'http:\\\\a'])
    expect(isWebAddress(uri), uri).to.equal(true)
  for (const uri of ['cursor://a', 'urn:a', 'javascript:alert(1)', '/callback', ''])
    expect(isWebAddress(uri), uri).to.equal(false)
})

// [RFC 8252 §8.4; RFC 9700 §4.1.3; class open redirect; 7]
describe('loopback addresses that differ in the port only [RFC 8252 §7.3]', () => {
  const loopback = 'http://127.0.0.1:33418/callback'
  const cases: [uri: string, same: boolean, listed?: string][] = [
    ['http://127.0.0.1:1/callback', true],
    ['http://127.0.0.1/callback', true],
    ['http://127.0.0.1:65536/callback', false],
    ['http://localhost:33418/callback', false],
    ['http://127.0.0.2:33418/callback', false],
    ['http://[::1]:33418/callback', false],
    ['http://127.1:33418/callback', false],
    ['http://127.0.0.1:33418/callback/', false],
    ['http://127.0.0.1:33418', false],
    ['http://a.example:1/', false, 'http://a.example:2/'],
  ]
  for (const [uri, same, listed = loopback] of cases)
    it(`${uri}: ${same}`, () => expect(differInPortOnly(uri, listed)).to.equal(same))
})

describe('permitted redirect URIs', () => {
  for (const [uri, web, native, listed] of [
    ['https://a.example/callback', true, true, true],
    ['https://127.0.0.1/callback', true, false, true],
    ['http://127.0.0.1:1/callback', true, true, true],
    ['http://localhost/callback', true, true, true],
    ['http://a.example/callback', false, false, false],
    ['com.example.app:/callback', false, true, true],
    ['cursor://anysphere.cursor-mcp/oauth/callback', false, true, true],
    ['javascript:alert(1)', false, false, false],
    ['JavaScript:alert(1)', false, false, false],
    ['data:text/html,x', false, false, false],
    ['vbscript:x', false, false, false],
    ['file:///etc/passwd', false, false, false],
    ['blob:https://a.example/1', false, false, false],
    ['com.example.app:/callback#x', false, false, false],
    ['https://a.example/callback#x', false, false, false],
    ['https://user@a.example/callback', false, false, false],
    ['/callback', false, false, false],
    ['', false, false, false],
  ] as const) {
    // [RFC 8252 §7; RFC 8252 §7.1; RFC 8252 §7.2; RFC 8252 §8.3]
    it(`${JSON.stringify(uri)}: web ${web}, native ${native}, configured ${listed}`, () => {
      expect([mayReturnTo(uri, 'web'), mayReturnTo(uri, 'native')]).to.deep.equal([web, native])
      expect(mayBeConfigured(uri)).to.equal(listed)
    })
  }
})

const registered = [
  'https://portal.example/callback',
  'https://portal.example/other',
  'http://127.0.0.1:5173/cb?tenant=1',
]

describe('the difference of a redirect_uri', () => {
  const loopback = 'host: localhost, 127.0.0.1 and [::1] are different hosts'
  for (const [sent, nearest, where] of [
    ['https://portal.example/callback/', registered[0], 'path: the trailing slash must match'],
    ['https://portal.example/Callback', registered[0], 'path: the path is case-sensitive'],
    ['http://portal.example/other', registered[1], 'scheme: http and https are different schemes'],
    ['https://portal.example:8443/other', registered[1], 'port'],
    ['https://evil.example/other', registered[1], 'host'],
    ['https://a@portal.example/other', registered[1], 'user info'],
    ['https://portal.example/callback?x=1', registered[0], 'query'],
    ['https://portal.example/callback#', registered[0], 'fragment'],
    ['HTTPS://portal.example/callback', registered[0], 'spelling'],
    ['http://localhost:5173/cb?tenant=1', 'http://127.0.0.1:5173/cb?…', loopback],
  ] as const) {
    it(`is explained for ${sent}`, () => {
      const said = `is not registered; the nearest, ${nearest}, differs in its ${where}`
      expect(explainRedirect(sent, registered).endsWith(said)).to.equal(true)
    })
  }

  it('contains only the host of a foreign address', () => {
    const told = explainRedirect('https://evil.example/something-secret', registered)
    expect(told).to.match(/^redirect_uri at https:\/\/evil\.example is not registered; the nearest/)
    expect(told).to.not.include('something')
    expect(explainRedirect('something-secret', registered)).to.not.include('something')
  })

  it('is explained without a registered address, too', () => {
    expect(explainRedirect('callback', registered)).to.include('is not an absolute URI')
    const told = explainRedirect('https://a.example/', [])
    expect(told).to.include('the client has no registered redirect_uri')
  })

  it('does not call a private scheme http', () => {
    expect(explainRedirect('com.b.app:/cb', ['com.a.app:/cb'])).to.match(/differs in its scheme$/)
  })

  it('shows an address in printable characters, shortened and without secrets', () => {
    expect(shownUri('https://a.example/cb?code=secret#x')).to.equal('https://a.example/cb?…')
    expect(shownUri('https://me:secret@a.example/')).to.equal('https://…@a.example/')
    expect(shownUri('https://a.example/\u202e<b> \n')).to.equal('https://a.example/·<b>··')
    expect(shownUri(`https://a.example/${'x'.repeat(5000)}`)).to.have.lengthOf(101)
    const long = `https://a.example/${'y'.repeat(400)}`
    const told = explainRedirect(`https://a.example/${'x'.repeat(5000)}`, [long])
    expect(told.length).to.be.below(300)
  })
})
