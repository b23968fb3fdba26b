import { join } from 'node:path'

import { generateSync } from 'otplib'
import type { Page } from 'playwright-core'

import { openBrowser } from '../test/support/browser.ts'
import { authorizeUrl } from '../test/support/client.ts'

/**
 * `npm run screenshots`: takes the screenshots of the documents from the demo that `npm start` runs. Use a new DATA_DIR, and
 * a BASE_URL with the host localhost, because browsers have no passkeys for IP addresses.
 */
const base = process.env['BASE_URL'] ?? 'http://localhost:3000'
const folder = join(import.meta.dirname, '../docs/images')

const scope = 'openid profile account:read account:write'
const authorization = authorizeUrl(base, { scope }).href

async function signIn(page: Page, person: string): Promise<void> {
  await page.fill('#login', `${person}@northlight.example`)
  await page.fill('#password', `correct-horse-${person}`)
  await page.click('#login-submit')
  await page.waitForURL((url) => !url.pathname.endsWith('/login'))
}

await using browser = await openBrowser()

/** Opens a URL, does what leads to the picture, and takes it. */
async function take(
  name: string,
  { address, width, height = 900 }: { address: string; width: number; height?: number },
  prepare: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await browser.newContext({ viewport: { width, height } })
  const page = await context.newPage()
  const authenticator = await context.newCDPSession(page)
  await authenticator.send('WebAuthn.enable')
  const device = { protocol: 'ctap2', transport: 'internal' } as const
  const verified = { hasResidentKey: true, hasUserVerification: true, isUserVerified: true }
  await authenticator.send('WebAuthn.addVirtualAuthenticator', {
    options: { ...device, ...verified, automaticPresenceSimulation: true },
  })
  await page.goto(address)
  await prepare(page)
  await page.locator('main').waitFor()
  await page.screenshot({ path: join(folder, `${name}.png`) })
}

await take('consent', { address: authorization, width: 560 }, async (page) => signIn(page, 'sam'))
await take('admin', { address: `${base}/admin/northlight`, width: 760 }, async (page) =>
  signIn(page, 'olivia'),
)
const ofProviders = `${base}/admin/northlight/identity-providers?preset=google`
await take('identity-providers', { address: ofProviders, width: 760 }, async (page) => {
  await signIn(page, 'olivia')
  await page.fill('#name', 'Northlight College')
  await page.fill('#clientId', 'gatehouse')
  await page.fill('#clientSecret', 'a secret')
  await page.click('#add')
  await page.locator('#only').waitFor()
})
await take('sign-in', { address: authorization, width: 460, height: 760 }, async (page) => {
  await page.locator('#passkey:not([hidden])').waitFor()
})
await take(
  'passkeys',
  { address: `${base}/account/passkeys/add`, width: 760, height: 560 },
  async (page) => {
    await signIn(page, 'sam')
    await page.fill('#name', 'Phone')
    await page.click('#passkey-submit')
    await page.locator('#done').waitFor()
  },
)
await take(
  'second-step',
  { address: `${base}/account/second-factor`, width: 460, height: 760 },
  async (page) => {
    await signIn(page, 'amir')
    await page.click('#add')
    const secret = (await page.innerText('#key')).replaceAll(' ', '')
    await page.fill('#code', generateSync({ secret }))
    await page.keyboard.press('Enter')
    await page.waitForURL(/confirm/)
    await page.context().clearCookies()
    await page.goto(authorization)
    await page.fill('#login', 'amir@northlight.example')
    await page.fill('#password', 'correct-horse-amir')
    await page.click('#login-submit')
    await page.locator('#second-step-page').waitFor()
  },
)
