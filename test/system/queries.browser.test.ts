import type { Page } from 'playwright-core'

import { overflows, sharedBrowser, violations } from '../support/browser.ts'
import { marco, olivia, sam } from '../support/gatehouse.ts'
import { sharedService } from '../support/storages.ts'

describe('the query pages in a browser', () => {
  const service = sharedService()
  const open = sharedBrowser(service)

  async function openQueries(at: string, as: typeof sam, javaScriptEnabled = true) {
    const viewport = { width: 1200, height: 900 }
    const opened = await open({ javaScriptEnabled, viewport, at, as, shows: '#query-page' })
    if (javaScriptEnabled) await openEditor(opened.page)
    return opened
  }

  async function openEditor(page: Page): Promise<void> {
    await page.getByRole('button', { name: 'Open the editor' }).click()
    await page.locator('.graphiql-query-editor .CodeMirror').waitFor()
  }

  async function run(page: Page, document: string, expected: string): Promise<void> {
    await page.locator('.graphiql-query-editor .CodeMirror').click()
    await page.keyboard.press('Control+A')
    // Insert the whole text, because the editor adds closing brackets when text is typed.
    await page.keyboard.insertText(document)
    await page.getByRole('button', { name: /Execute query/ }).click()
    await page.locator('.result-window', { hasText: expected }).waitFor()
  }

  it('run a member’s query in GraphiQL from this host alone, within the page’s policy', async () => {
    const { page, complaints } = await openQueries('/account/queries', sam)
    const hosts = new Set<string>()
    page.on('request', (request) => hosts.add(new URL(request.url()).host))
    await page.reload()
    await openEditor(page)
    await run(page, '{ viewer { name } }', '"Sam Student"')
    expect(await page.locator('#plain').isVisible()).to.equal(false)
    await page.getByRole('button', { name: /Show Documentation Explorer/ }).click()
    await page.locator('.graphiql-doc-explorer', { hasText: 'viewer' }).waitFor()
    await expectNoBarrier(page, 'documentation')
    await page.getByRole('button', { name: /Show History/ }).click()
    await page.locator('.graphiql-history-item-label').first().waitFor()
    await expectNoBarrier(page, 'history')
    await page.getByRole('button', { name: /Open settings dialog/ }).click()
    await page.getByRole('dialog').waitFor()
    await expectNoBarrier(page, 'settings')
    await page.keyboard.press('Escape')
    expect([...hosts]).to.deep.equal([new URL(service().url).host])
    expect(complaints).to.deep.equal([])
  })

  it('keep what was typed per API, site and person, until the person signs out', async () => {
    const { page } = await openQueries('/account/queries?site=northlight', marco)
    const kept = async () => await page.evaluate('Object.keys(sessionStorage).length')
    const shown = page.locator('.graphiql-query-editor')
    await run(page, '{ viewer { id } }', '"per_marco"')
    for (const [path, isKept] of [
      ['/account/queries?site=open-kitchen', false],
      ['/admin/open-kitchen/queries', false],
      ['/account/queries?site=northlight', true],
    ] as const) {
      await page.goto(path)
      await openEditor(page)
      const text = (await shown.innerText()).replace(/[\s\u200b\d]/g, '')
      expect(text.includes('{viewer{id}}'), path).to.equal(isKept)
    }
    expect(await kept()).to.be.greaterThan(0)
    await page.goto('/account')
    await page.getByRole('button', { name: 'Sign out' }).click()
    await page.getByRole('heading', { name: 'You are signed out' }).waitFor()
    expect(await kept()).to.equal(0)
  })

  it('run a member’s change, and say when the member is signed out', async () => {
    const { page, complaints } = await openQueries('/account/queries', sam)
    const change = 'mutation { markNotificationRead(id: "not_sam_14") { notification { id } } }'
    await run(page, change, '"not_sam_14"')
    await page.context().clearCookies()
    await run(page, '{ viewer { name } }', 'you are signed out')
    expect(complaints).to.have.length(1)
    expect(complaints[0]).to.include('401')
  })

  it('let a member of two sites switch between them', async () => {
    const { page } = await openQueries('/account/queries?site=northlight', marco)
    await run(page, '{ viewer { enrolledCourses { totalCount } } }', '"totalCount": ')
    await page.getByRole('link', { name: 'Open Kitchen School' }).click()
    await openEditor(page)
    expect(page.url()).to.match(/site=open-kitchen$/)
  })

  it('run an operator’s queries to the Admin API, but no changes', async () => {
    const { page, complaints } = await openQueries('/admin/northlight/queries', olivia)
    await run(page, '{ site { name } }', '"Northlight Academy"')
    const change = 'mutation { updateSite(input: { name: "Changed" }) { id } }'
    await run(page, change, 'This page runs queries only')
    expect(complaints).to.deep.equal([])
  })

  it('have a plain form without scripts and in a small window', async () => {
    const { page: plain } = await openQueries('/account/queries', sam, false)
    expect(await plain.locator('#open-graphiql').isVisible()).to.equal(false)
    await plain.getByLabel('Query').fill('{ viewer { name } }')
    await plain.getByRole('button', { name: 'Run the query' }).click()
    await plain.locator('#answer', { hasText: 'Sam Student' }).waitFor()

    const { page, complaints } = await openQueries('/account/queries', sam)
    const asked: string[] = []
    page.on('request', (request) => asked.push(new URL(request.url()).pathname))
    await page.setViewportSize({ width: 360, height: 800 })
    await page.reload()
    expect(await page.locator('#open-graphiql').isVisible()).to.equal(false)
    expect(asked.filter((path) => /graphiql|react/.test(path))).to.deep.equal([])
    expect(await overflows(page)).to.equal(false)
    expect(complaints).to.deep.equal([])
    expect(await violations(page)).to.deep.equal([])
  })
})

async function expectNoBarrier(page: Page, name: string): Promise<void> {
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    expect(await violations(page), `${name} in ${colorScheme}`).to.deep.equal([])
  }
}
