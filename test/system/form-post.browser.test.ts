import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import { expect } from 'chai'
import type { Browser } from 'playwright-core'

import { openBrowser } from '../support/browser.ts'
import { authorizeUrl } from '../support/client.ts'
import { sharedService } from '../support/shared-service.ts'
import { requireProgram } from '../support/skipped.ts'
import type { Fields } from '../support/wire.ts'

/** A client to which a browser posts the answer of an authorization request. */
async function startClient() {
  const posted: URLSearchParams[] = []
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') posted.push(new URLSearchParams(await text(request)))
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('<!doctype html><title>back</title><h1 id="back">Back at the application</h1>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    posted,
    redirectUri: `http://127.0.0.1:${port}/callback`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** A JWT without a signature. */
function requestObject(claims: object): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
  return `${part({ alg: 'none' })}.${part(claims)}.`
}

const inObject = requestObject({ response_mode: 'form_post', response_type: 'code' })

/** Requests that are refused, most of them before the engine has looked at the redirect address. */
const refused: readonly (readonly [what: string, request: Fields, error: string])[] = [
  ['nobody signed in', { prompt: 'none' }, 'login_required'],
  ['no response_type', { response_type: undefined }, 'invalid_request'],
  ['another response_type', { response_type: 'token' }, 'unsupported_response_type'],
  ['an unknown prompt', { prompt: 'nonsense' }, 'invalid_request'],
  ['a request object', { request: inObject }, 'request_not_supported'],
  [
    'a request object that alone says how to answer',
    { request: inObject, response_mode: undefined },
    'request_not_supported',
  ],
  ['the address of one', { request_uri: 'https://a.example/1' }, 'request_uri_not_supported'],
  ['registration', { registration: '{}' }, 'registration_not_supported'],
  ['no PKCE', { code_challenge: undefined }, 'invalid_request'],
  ['no known scope', { scope: 'nonsense' }, 'invalid_scope'],
]

describe('errors by form_post, in a browser that follows our Content-Security-Policy', () => {
  const running = sharedService()
  let browser: Browser
  let client: Awaited<ReturnType<typeof startClient>>

  before(async function () {
    requireProgram(this, 'chromium')
    browser = await openBrowser()
    client = await startClient()
  })
  after(async () => {
    await browser?.close()
    await client?.[Symbol.asyncDispose]()
  })

  for (const [what, request, error] of refused) {
    it(`${what}: ${error} reaches the client, and the browser complains of nothing`, async () => {
      const page = await browser.newPage()
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      const { redirectUri } = client
      const asked = { redirect_uri: redirectUri, response_mode: 'form_post', ...request }
      await page.goto(authorizeUrl(running().url, asked).href)
      await page.locator('#back').waitFor({ timeout: 10_000 })
      const told = client.posted.at(-1)
      expect(told?.get('error'), told?.toString()).to.equal(error)
      expect(told?.get('iss')).to.equal(running().url)
      expect(complaints.filter((text) => /Content.Security.Policy/i.test(text))).to.deep.equal([])
      await page.close()
    })
  }

  it('does not post to an address that is not the client’s', async () => {
    const page = await browser.newPage()
    const asked = { redirect_uri: 'https://evil.example/callback', response_mode: 'form_post' }
    const answer = await page.goto(authorizeUrl(running().url, { ...asked, prompt: 'x' }).href)
    expect(answer?.headers()['content-security-policy']).to.not.include('evil.example')
    expect(await page.locator('#error-code').textContent()).to.equal('invalid_redirect_uri')
    await page.close()
  })
})
