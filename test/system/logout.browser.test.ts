import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'
import type { Browser } from 'playwright-core'

import { paths } from '../../src/platform/http/paths.ts'
import { openBrowser } from '../support/browser.ts'
import { authorizeUrl } from '../support/client.ts'
import { sam } from '../support/gatehouse.ts'
import { sharedService } from '../support/shared-service.ts'
import { requireProgram } from '../support/skipped.ts'
import { encode } from '../support/wire.ts'

describe('/oauth/logout in a browser [design 27]', () => {
  const service = sharedService()
  let browser: Browser | undefined
  before(async function () {
    requireProgram(this, 'chromium')
    browser = await openBrowser()
  })
  after(async () => {
    await browser?.close()
  })

  for (const [title, signedIn] of [
    ['confirms, and is back at the application', true],
    ['is back at once when nobody is signed in', false],
  ] as const) {
    it(title, async () => {
      await using application = await startApplication()
      const page = await browser?.newPage()
      if (!page) throw new Error('the browser is not open')
      const { url } = service()
      if (signedIn) {
        await page.goto(authorizeUrl(url).href)
        await page.fill('#login', sam.login)
        await page.fill('#password', sam.password)
        await page.click('#login-submit')
        await page.waitForSelector('#consent-page')
      }
      const target = new URL(paths.endSession, url)
      target.search = encode({
        client_id: 'northlight-notes',
        post_logout_redirect_uri: application.signedOutUri,
        state: 'the-state',
      }).toString()
      await page.goto(target.href)
      if (signedIn) await page.click('#logout-confirm')
      await page.waitForURL(`${application.signedOutUri}?state=the-state`, { timeout: 10_000 })
      expect(await page.innerText('h1')).to.equal('Goodbye')
      await page.close()
    })
  }
})

/** The application's own page, on a loopback address with a port of this moment. */
async function startApplication() {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' })
    response.end('<!doctype html><title>Goodbye</title><h1>Goodbye</h1>')
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  return {
    signedOutUri: `http://127.0.0.1:${port}/signed-out`,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}
