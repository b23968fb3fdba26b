import { expect } from 'chai'

import { explainRedirect, shownUri } from '../src/oauth/clients/redirect-difference.ts'

const registered = [
  'https://portal.example/callback',
  'https://portal.example/other',
  'http://127.0.0.1:5173/cb?tenant=1',
]

/** What an operator reads about an unregistered redirect_uri. */
describe('the difference of a redirect_uri', () => {
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
    [
      'http://localhost:5173/cb?tenant=1',
      'http://127.0.0.1:5173/cb?…',
      'host: localhost, 127.0.0.1 and [::1] are different hosts',
    ],
  ] as const) {
    it(`is explained for ${sent}`, () => {
      expect(explainRedirect(sent, registered)).to.include(
        `is not registered; the nearest, ${nearest}, differs in its ${where}`,
      )
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

  it('shows an address in printable characters, shortened and without secrets', () => {
    expect(shownUri('https://a.example/cb?code=secret#x')).to.equal('https://a.example/cb?…')
    expect(shownUri('https://me:secret@a.example/')).to.equal('https://…@a.example/')
    expect(shownUri('https://a.example/\u202e<b> \n')).to.equal('https://a.example/·<b>··')
    expect(shownUri(`https://a.example/${'x'.repeat(5000)}`)).to.have.lengthOf(101)
    const told = explainRedirect(`https://a.example/${'x'.repeat(5000)}`, [
      `https://a.example/${'y'.repeat(400)}`,
    ])
    expect(told.length).to.be.below(300)
  })
})
