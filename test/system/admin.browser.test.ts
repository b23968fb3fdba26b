import type { Page } from 'playwright-core'

import { look, lookAt, sharedBrowser } from '../support/browser.ts'
import { obtainTokens } from '../support/client.ts'
import { insert, remove, rowOf } from '../support/database.ts'
import { june, marco, olivia, policyWith } from '../support/gatehouse.ts'
import { linkTo } from '../support/mail-folder.ts'
import { eventually } from '../support/programs.ts'
import { sharedService } from '../support/storages.ts'

type Looking = [page: Page, name: string, title: string, shows?: string]

/** Clicks the only link or button with this name, and checks the page that follows with `look`. */
async function clickAndLook(role: 'link' | 'button', ...[page, name, ...next]: Looking) {
  await page.getByRole(role, { name }).click()
  await look(page, ...next)
}

const followLink = async (...looking: Looking) => await clickAndLook('link', ...looking)
const pressButton = async (...looking: Looking) => await clickAndLook('button', ...looking)

describe('/admin and /account in a browser', () => {
  const metadataDocuments = { openRegistration: true }
  const policy = policyWith({ storage: { usageFlushSeconds: 1 }, metadataDocuments })
  const service = sharedService({ policy })
  const open = sharedBrowser(service)
  const signedIn = async (at: string, as: typeof june) =>
    (await open({ at, as, shows: 'nav.area' })).page

  it('an operator enables the feature and creates a client; a student connects and removes it', async () => {
    await remove(service().kysely, 'site_feature', { site_id: 'sit_open_kitchen' })
    const operator = await signedIn('/admin', marco)
    await followLink(operator, 'Beta features', 'beta-off')
    await pressButton(operator, 'Switch MCP connections on', 'beta-on')
    await operator.getByRole('link', { name: 'OAuth applications' }).first().click()
    await look(operator, 'applications-none')
    await operator.getByRole('link', { name: 'New application' }).click()
    await operator.getByLabel('Name').fill('Recipe Box')
    const redirect_uri = 'http://127.0.0.1:9/callback'
    await operator.getByLabel('Redirect addresses').fill(redirect_uri)
    await operator.getByRole('radio', { name: /^Public/ }).check()
    await operator.getByRole('checkbox', { name: /account:read/ }).check()
    await look(operator, 'application-new')
    await pressButton(operator, 'Create application', 'application')
    const client_id = await operator.locator('#client-id').innerText()
    const scope = 'openid account:read'
    await obtainTokens(service().url, { client_id, redirect_uri, scope }, june)
    await operator.locator('.tabs').getByRole('link', { name: 'People' }).click()
    await operator.getByRole('rowheader', { name: 'June Okafor' }).waitFor()
    await look(operator, 'people')

    const student = await signedIn('/account', june)
    await look(student, 'account')
    await student.getByRole('link', { name: 'Connected apps' }).first().click()
    await student.getByRole('heading', { name: 'Recipe Box' }).waitFor()
    await look(student, 'apps')
    await followLink(student, 'Remove Recipe Box', 'remove-app')
    await pressButton(student, 'Remove access', 'apps-none', '#no-apps')
  })

  it('an operator adds a webhook endpoint, tries, changes, disables and deletes it', async () => {
    const page = await signedIn('/admin/northlight/webhooks', olivia)
    await look(page, 'webhooks-none')
    await page.getByLabel('URL').fill('https://hooks.example.invalid/gatehouse')
    await page.getByRole('checkbox', { name: /^course.published/ }).check()
    await page.getByRole('button', { name: 'Add', exact: true }).click()
    await page.locator('#webhook-page').waitFor()
    await page.getByText('Show the secret').click()
    await page.getByRole('button', { name: 'Send a test event' }).click()
    await page.getByText('A test event will be sent').waitFor()
    await eventually(10_000, async () => {
      await page.reload()
      expect(await page.getByRole('cell', { name: /Failed/ }).count()).to.be.above(0)
    })
    await look(page, 'webhook')
    await page.getByRole('checkbox', { name: /^post.published/ }).check()
    await page.getByRole('button', { name: 'Save' }).click()
    await page.getByText('The changes were saved.').waitFor()
    await page.getByRole('button', { name: 'Disable' }).click()
    await page.getByRole('button', { name: 'Enable, and send missed events' }).waitFor()
    await look(page, 'webhook-disabled')
    await lookAt(page, '/admin/northlight/webhooks')
    await page.goBack()
    expect(await page.getByRole('button', { name: 'Delete for good' }).isVisible()).to.equal(false)
    await page.getByText('Delete the endpoint').click()
    await page.getByRole('button', { name: 'Delete for good' }).click()
    await page.locator('#no-webhooks').waitFor()
  })

  it('a person deletes the account with the keyboard, after opening the link of a mail', async () => {
    const page = await signedIn('/account/data', june)
    await page.locator('#delete').press('Enter')
    await look(page, 'deletion-requested', '#code')
    await page.goto(await linkTo(service(), june.login))
    await page.locator('#deletion-page').waitFor()
    await page.locator('#confirm').press('Enter')
    await look(page, 'deletion-scheduled', '#deletion-scheduled-page')
  })

  it('the pages have no accessibility barriers and fit a width of 360 pixels', async () => {
    const site = '/admin/open-kitchen'
    const operator = await signedIn(`${site}/beta`, marco)
    const off = operator.getByRole('button', { name: 'Switch MCP connections on' })
    if (await off.isVisible()) await off.click()
    await operator.goto(`${site}/applications/new`)
    await operator.getByLabel('Name').fill('Kitchen Server')
    await operator.getByLabel('Redirect addresses').fill('http://kitchen.example/callback')
    await operator.getByRole('radio', { name: /^Confidential/ }).check()
    await pressButton(operator, 'Create application', 'application-wrong', '#redirect-uris-problem')
    await operator.getByLabel('Redirect addresses').fill('https://kitchen.example/callback')
    await pressButton(operator, 'Create application', 'application-secret', '#new-secret')
    await pressButton(operator, 'Create a new secret', 'application-two-secrets')
    const application = new URL(operator.url()).pathname
    await operator.locator('.remove-secret').first().click()
    await look(operator, 'secret-remove')
    const ofApplication = 'edit set-up disable delete people people/end-all refusals'
    await lookAt(
      operator,
      ...ofApplication.split(' ').map((path) => `${application}/${path}`),
      ...[site, `${site}/resource-servers`, `${site}/overview`, `${site}/audit`, `${site}/beta`],
      ...[`${site}/audit?action=application.create&person=nobody`, `${site}/beta/off`],
      ...[`${site}/people`, `${site}/people?search=none`, `${site}/appearance`],
      ...['', '/remove', '/end-access'].map((path) => `${site}/people/per_june${path}`),
      ...[`${site}/applications`, `${site}/self-declared-clients`],
      `${site}/self-declared-clients/approved?client=https%3A%2F%2Fa.example%2Fc`,
    )
    await operator.goto(`${site}/resource-servers`)
    await operator.getByLabel('Name').fill('Library API')
    await pressButton(operator, 'Register', 'resource-server', '#new-secret')
    const resourceServer = new URL(operator.url()).pathname
    await lookAt(
      operator,
      ...['disable', 'delete', 'refusals'].map((path) => `${resourceServer}/${path}`),
      // The operator may not open the first of these pages.
      ...['/admin/northlight', '/account/security', '/account/sessions', '/account/data'],
      '/account/sign-out-everywhere',
    )
    await pressButton(operator, 'Sign out everywhere', 'signed-out-everywhere')
    const { page } = await open({ at: '/account' })
    await page.locator('#login-cancel').click()
    await look(page, 'not-signed-in', '#not-signed-in-page')
  })

  it('the overview says in words what its charts show, and the keyboard opens their numbers', async () => {
    await obtainTokens(service().url)
    await fillDays()
    const page = await signedIn('/admin/northlight', olivia)
    await page.getByRole('link', { name: 'Analytics' }).click()
    const calls = page.getByRole('img', { name: 'Calls' })
    const said = /^[\d,]+ in all; at most \d+ a day\.$/
    expect(await calls.locator('desc').textContent()).to.match(said)
    expect(await calls.locator('rect').count()).to.equal(30)
    await page.locator('summary', { hasText: 'Calls: the numbers' }).focus()
    await page.keyboard.press('Enter')
    const table = page.getByRole('table', { name: 'Calls: the numbers' })
    expect(await table.getByRole('row').count()).to.equal(31)
    const shown = { dateStyle: 'medium', timeZone: 'UTC' } as const
    const today = new Date().toLocaleDateString('en-GB', shown)
    expect(await table.getByRole('row', { name: today }).innerText()).to.match(/\t[1-9]\d*$/)
    await look(page, 'overview with its numbers')
    await page.locator('.tabs').getByRole('link', { name: 'Refusals' }).click()
    await page.locator('.tabs').getByRole('link', { name: '90 days' }).click()
    await page.locator('#reasons').waitFor()
    expect(await page.locator('#chart rect').count()).to.equal(90)
    await look(page, 'refusals of 90 days')
  })

  it('a form narrows the audit trail, and a link shows all of it again', async () => {
    const page = await signedIn('/admin/northlight', olivia)
    await page.getByRole('link', { name: 'Audit trail' }).first().click()
    const label = 'allowed the application to access the account'
    const rows = page.locator('tbody tr')
    await rows.filter({ hasText: label }).first().waitFor()
    await page.getByLabel('Action').selectOption({ label })
    await page.getByLabel('Person').fill('sam@northlight.example')
    await page.getByRole('button', { name: 'Filter' }).click()
    await page.locator('#show-all').waitFor()
    expect(await rows.count()).to.equal(1)
    await look(page, 'audit, narrowed')
    await page.locator('#show-all').click()
    expect(await rows.count()).to.be.greaterThan(1)
  })

  async function fillDays(): Promise<void> {
    const { kysely } = service()
    const { id } = await rowOf(kysely, 'oauth_grant', { client_id: 'northlight-notes' })
    const today = Math.floor(Date.now() / 86_400_000)
    const days = Array.from({ length: 30 }, (_, index) => index).filter((index) => index % 7 !== 3)
    const callsOn = (ago: number) => ({ day: today - ago, calls: (ago * 37) % 61 || 5 })
    const rows = days.map((ago) => ({ grant_id: id, ...callsOn(ago) }))
    await insert(kysely, 'oauth_grant_day', rows)
    const errors = ['invalid_grant', 'invalid_token', 'insufficient_scope', 'invalid_client']
    const refusals = errors.flatMap((error, kind) =>
      days.map((ago) => ({
        ...{ site_id: 'sit_northlight', error },
        ...{ day: today - ago, refusals: ((ago + kind) * 13) % (9 - kind) },
      })),
    )
    await insert(kysely, 'site_refusal_day', refusals)
  }
})
