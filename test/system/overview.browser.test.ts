import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'

import { openBrowser, overflows, violations } from '../support/browser.ts'
import { obtainTokens } from '../support/client.ts'
import { olivia, type RunningService, startService } from '../support/gatehouse.ts'
import { requireProgram } from '../support/skipped.ts'

const DAY_MS = 86_400_000

describe('the overview and the audit trail in a browser', function () {
  this.timeout(90_000)
  let browser: Browser
  let service: RunningService
  let page: Page
  before(async function () {
    requireProgram(this, 'chromium')
    browser = await openBrowser()
    service = await startService({
      policy: (policy) => ({ ...policy, storage: { ...policy.storage, usageFlushSeconds: 1 } }),
    })
    await obtainTokens(service.url)
    await fillDays(service)
    page = await (await browser.newContext()).newPage()
    await page.goto(`${service.url}/admin/northlight`)
    await page.getByLabel('E-mail address').fill(olivia.login)
    await page.getByLabel('Password').fill(olivia.password)
    await page.getByRole('button', { name: 'Sign in' }).click()
    await page.locator('nav.area').waitFor()
  })
  after(async () => {
    await browser?.close()
    await service?.[Symbol.asyncDispose]()
  })

  /** Light and dark, at the width of a phone and of a desk; a folder keeps a picture of each. */
  async function look(name: string): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
      for (const width of [1280, 360]) {
        await page.setViewportSize({ width, height: 800 })
        expect(await overflows(page), `${name} at ${width}`).to.equal(false)
        expect(await violations(page), `${name}, ${colorScheme}, ${width}`).to.deep.equal([])
      }
    }
  }

  it('the pictures say in words what they show, and their numbers open by the keyboard', async () => {
    await page.getByRole('link', { name: 'The last 30 days' }).click()
    const calls = page.getByRole('img', { name: 'Calls, day by day' })
    expect(await calls.locator('desc').textContent()).to.match(/^\d+ in all; at most \d+ a day\.$/)
    expect(await calls.locator('rect.bar').count()).to.equal(30)
    await look('overview')
    const summary = page.locator('summary', { hasText: 'Calls: the numbers' })
    await summary.focus()
    await page.keyboard.press('Enter')
    const table = page.getByRole('table', { name: 'Calls: the numbers' })
    expect(await table.getByRole('row').count()).to.equal(31)
    const today = new Date().toISOString().slice(0, 10)
    expect(await table.getByRole('row', { name: today }).innerText()).to.match(/\t[1-9]\d*$/)
    await page.locator('summary', { hasText: 'Refusals by reason: the numbers' }).click()
    await look('overview with its numbers')
  })

  it('the audit trail is narrowed by a form, and shows all of it again', async () => {
    await page.getByRole('link', { name: 'Audit trail' }).first().click()
    await page.locator('.card', { hasText: 'allowed access to the application' }).first().waitFor()
    await look('audit')
    await page.getByText('Show only some of it').click()
    await page
      .getByLabel('What was done')
      .selectOption({ label: 'allowed access to the application' })
    await page.getByLabel('Person').fill('sam@northlight.example')
    await page.getByRole('button', { name: 'Show', exact: true }).click()
    await page.locator('#show-all').waitFor()
    expect(await page.locator('.card').count()).to.equal(1)
    await look('audit, narrowed')
    await page.locator('#show-all').click()
    expect(await page.locator('.card').count()).to.be.greaterThan(1)
  })
})

/** Some days with calls and refusals, as they would stand there after a month. */
async function fillDays({ service }: RunningService): Promise<void> {
  const { kysely } = service.stores.database
  const { id } = await kysely.selectFrom('oauth_grant').select('id').executeTakeFirstOrThrow()
  const today = Math.floor(Date.now() / DAY_MS)
  const days = Array.from({ length: 30 }, (_, index) => index).filter((index) => index % 7 !== 3)
  await kysely
    .insertInto('oauth_grant_day')
    .values(days.map((ago) => ({ grant_id: id, day: today - ago, calls: (ago * 37) % 61 || 5 })))
    .execute()
  const errors = ['invalid_grant', 'invalid_token', 'insufficient_scope', 'invalid_client']
  await kysely
    .insertInto('site_refusal_day')
    .values(
      errors.flatMap((error, kind) =>
        days.map((ago) => ({
          ...{ site_id: 'sit_northlight', error },
          ...{ day: today - ago, refusals: ((ago + kind) * 13) % (9 - kind) },
        })),
      ),
    )
    .execute()
}
