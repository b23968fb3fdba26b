import { expect } from 'chai'

import { explainRedirect, shownUri } from '../src/oauth/clients/redirect-difference.ts'

const registered = [
  'https://portal.example/callback',
  'https://portal.example/other',
  'http://127.0.0.1:5173/cb?tenant=1',
]

/** What an operator reads of an address that is none of an application's. */
describe('the difference of a return address', () => {
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

  it('names no more than the host of an address that is elsewhere, which a stranger chose', () => {
    const told = explainRedirect('https://evil.example/something-secret', registered)
    expect(told).to.match(/^redirect_uri at https:\/\/evil\.example is not registered; the nearest/)
    expect(told).to.not.include('something')
    expect(explainRedirect('something-secret', registered)).to.not.include('something')
  })

  it('is explained where there is nothing to compare', () => {
    expect(explainRedirect('callback', registered)).to.include('is not an absolute URI')
    expect(explainRedirect('https://a.example/', [])).to.include(
      'the client has no registered redirect_uri',
    )
  })

  it('shows an address in visible letters, shortened, without what may be secret', () => {
    expect(shownUri('https://a.example/cb?code=secret#x')).to.equal('https://a.example/cb?…')
    expect(shownUri('https://me:secret@a.example/')).to.equal('https://…@a.example/')
    expect(shownUri('https://a.example/\u202e<b> \n')).to.equal('https://a.example/·<b>··')
    expect(shownUri(`https://a.example/${'x'.repeat(5000)}`)).to.have.lengthOf(101)
    const told = explainRedirect(`https://a.example/${'x'.repeat(5000)}`, [
      `https://a.example/${'y'.repeat(400)}`,
    ])
    expect(told.length, 'what is kept of a reason').to.be.below(300)
  })
})
