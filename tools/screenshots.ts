/** `npm run screenshots`: takes the screenshots for the documentation. The demo must be running (`npm start`). */

import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'

import { generateSync } from 'otplib'
import type { Page } from 'playwright-core'

import { openBrowser } from '../test/support/browser.ts'
import { authorizeUrl } from '../test/support/client.ts'

const base = process.env['BASE_URL'] ?? 'http://127.0.0.1:3000'
const folder = join(import.meta.dirname, '../docs/images')
const PICTURE_BYTES_MAX = 80_000

const scope = 'openid profile account:read account:write'
const authorization = authorizeUrl(base, { scope }).href

const admin = `${base}/admin/northlight`
const narrow = { width: 560, height: 820 }
const wide = { width: 1120, height: 720 }
/** The order matters: the app is connected after the screenshot of the consent page. */
const pictures: readonly (readonly [name: string, address: string, person?: string])[] = [
  ['sign-in', authorization],
  ['consent', authorization, 'sam'],
  ['apps', `${base}/account/apps`, 'sam'],
  ['admin', admin, 'olivia'],
  ['applications', `${admin}/applications`, 'olivia'],
  ['audit', `${admin}/audit`, 'olivia'],
  ['identity-providers', `${admin}/identity-providers?preset=google`, 'olivia'],
  ['second-step', authorization, 'noor'],
]

async function signIn(page: Page, person: string): Promise<void> {
  await page.fill('#login', `${person}@northlight.example`)
  await page.fill('#password', `correct-horse-${person}`)
  await page.click('#login-submit')
  await page.locator('#login-submit').waitFor({ state: 'detached' })
  await page.waitForLoadState()
}

/** Adds an authenticator app to a person's account. Their next sign-in then has a second step. */
async function addAuthenticator(page: Page, person: string): Promise<void> {
  await page.goto(`${base}/account/second-factor`)
  await signIn(page, person)
  await page.click('#add')
  const secret = (await page.innerText('#key')).replaceAll(' ', '')
  const epoch = Math.floor(Date.now() / 1000) - 30
  await page.fill('#code', generateSync({ secret, epoch }))
  await page.click('#confirm')
  await page.locator('#recovery-codes-page').waitFor()
}

/** Takes a screenshot as WebP, which Playwright does not support. @throws if it is too large for the documentation */
async function takePicture(page: Page, name: string): Promise<void> {
  const devtools = await page.context().newCDPSession(page)
  const format = { format: 'webp', quality: 80 } as const
  const { data } = await devtools.send('Page.captureScreenshot', format)
  const bytes = Buffer.from(data, 'base64')
  if (bytes.length >= PICTURE_BYTES_MAX)
    throw new Error(`${name}.webp has ${bytes.length} bytes; lower its quality or its size`)
  await writeFile(join(folder, `${name}.webp`), bytes)
}

await using browser = await openBrowser()
await addAuthenticator(await browser.newPage(), 'noor')
for (const [name, address, person] of pictures) {
  const viewport = address === authorization ? narrow : wide
  const page = await browser.newPage({ viewport, deviceScaleFactor: 1.5 })
  await page.route('https://notes.example/**', async (route) => await route.fulfill({ body: '' }))
  await page.goto(address)
  if (person !== undefined) await signIn(page, person)
  await takePicture(page, name)
  if (name === 'consent') await page.click('#consent-approve')
}
