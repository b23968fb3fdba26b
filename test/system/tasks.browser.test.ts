import type { Locator, Page } from 'playwright-core'

import { sharedBrowser } from '../support/browser.ts'
import { authorizeUrl, obtainTokens } from '../support/client.ts'
import { insert } from '../support/database.ts'
import { png } from '../support/files.ts'
import { noor, olivia, sam } from '../support/gatehouse.ts'
import { sharedService } from '../support/storages.ts'

const CLICKS_MAX = 6
const DAY_MS = 86_400_000

/** Clicks the link or button with this visible name, on the page itself or else in its menu. */
type Press = (what: string | RegExp | Locator) => Promise<void>

describe('an owner, on a phone without scripts', () => {
  const service = sharedService()
  const open = sharedBrowser(service)

  /** Signs in at the home page of the site, and does the task in at most six clicks, including clicks in the menu. */
  async function inSixClicks(task: (page: Page, press: Press) => Promise<unknown>) {
    const { page } = await open({
      ...{ viewport: { width: 360, height: 740 }, javaScriptEnabled: false },
      ...{ at: '/admin', as: olivia, shows: '#admin-page' },
    })
    let clicks = 0
    const click = async (target: Locator) => {
      await target.click()
      clicks += 1
    }
    await task(page, async (what) => {
      if (typeof what === 'object' && 'click' in what) return await click(what)
      const exactly = { name: what, exact: true }
      const main = page.locator('main')
      const found = main.getByRole('link', exactly).or(main.getByRole('button', exactly)).first()
      if ((await found.count()) > 0) return await click(found)
      await click(page.getByRole('button', { name: 'Menu' }))
      await click(page.locator('#menu').getByRole('link', exactly))
    })
    expect(clicks).to.be.at.most(CLICKS_MAX)
  }

  it('connects Claude for the members', async () => {
    await inSixClicks(async (page, press) => {
      await press('Connect assistants')
      await press(page.locator('li', { hasText: 'Claude' }).first().getByRole('button'))
      await page.getByText('The assistant was added.').waitFor()
    })
    const { page } = await open({ at: '/connect/northlight' })
    await page.locator('summary', { hasText: 'Claude' }).waitFor()
  })

  it('finds out why an app was refused yesterday', async () => {
    await insert(service().kysely, 'client_refusal', {
      ...{ id: 'refused', client_id: 'northlight-notes', occurred_at: Date.now() - DAY_MS },
      ...{ route: 'token', error: 'invalid_grant', reason: 'the code expired', request_id: 'r-1' },
    })
    await inSixClicks(async (page, press) => {
      await press('OAuth applications')
      await press('Course Notes')
      await press(page.locator('.tabs').getByRole('link', { name: 'Refusals' }))
      await page.getByText('the code expired').waitFor()
    })
  })

  it('makes a colleague an admin', async () => {
    await inSixClicks(async (page, press) => {
      await press('People')
      await press('Noor van Dijk')
      await press(page.getByRole('checkbox', { name: /^Admin/ }))
      await press('Save roles')
      await page.getByText('The roles were saved.').waitFor()
    })
    await open({ at: '/admin', as: noor, shows: '#admin-page' })
  })

  it('puts the logo of the school on the sign-in page', async () => {
    await inSixClicks(async (page, press) => {
      await press('Add your logo')
      const file = { name: 'logo.png', mimeType: 'image/png', buffer: png }
      const chooser = page.waitForEvent('filechooser')
      await press(page.locator('input[type=file]'))
      await (await chooser).setFiles(file)
      await press('Save')
      await page.getByText('Saved.').waitFor()
    })
    const { page } = await open({ at: authorizeUrl(service().url).href })
    await page.getByRole('img', { name: 'Northlight Academy' }).waitFor()
  })

  it('ends all access of one member', async () => {
    await obtainTokens(service().url, {}, sam)
    await inSixClicks(async (page, press) => {
      await press('People')
      await press('Sam Student')
      await press('Disconnect all apps…')
      await press('Disconnect all apps')
      await page.getByText('No apps are connected').waitFor()
    })
  })
})
