import { join } from 'node:path'

import type { Page } from 'playwright-core'

import { openBrowser } from '../test/support/browser.ts'
import { authorizeUrl } from '../test/support/client.ts'

/** `npm run screenshots`: takes the screenshots of the README from the demo that `npm start` runs. */
const base = process.env['BASE_URL'] ?? 'http://127.0.0.1:3000'
const folder = join(import.meta.dirname, '../docs/images')

const scope = 'openid profile account:read account:write'
const authorization = authorizeUrl(base, { scope }).href

async function signIn(page: Page, person: string): Promise<void> {
  await page.fill('#login', `${person}@northlight.example`)
  await page.fill('#password', `correct-horse-${person}`)
  await page.click('#login-submit')
}

await using browser = await openBrowser()
const pictures = [
  { name: 'consent', person: 'sam', address: authorization, width: 560, height: 900 },
  { name: 'admin', person: 'olivia', address: `${base}/admin/northlight`, width: 760, height: 900 },
]
for (const { name, person, address, width, height } of pictures) {
  const page = await browser.newPage({ viewport: { width, height } })
  await page.goto(address)
  await signIn(page, person)
  await page.waitForURL((url) => !url.pathname.endsWith('/login'))
  await page.waitForLoadState()
  await page.screenshot({ path: join(folder, `${name}.png`) })
}
