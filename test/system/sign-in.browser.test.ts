import { generateSync } from 'otplib'

import { look, press, sharedBrowser, typeInFields } from '../support/browser.ts'
import { authorizeUrl } from '../support/client.ts'
import { editList, insert } from '../support/database.ts'
import { amir, olivia, portal, sam } from '../support/gatehouse.ts'
import { startAtCampus } from '../support/identity-provider.ts'
import { linkTo } from '../support/mail-folder.ts'
import { shared } from '../support/shared.ts'
import { sharedService } from '../support/storages.ts'

/** Signs in with the keyboard in every way except passkeys. */
describe('signing in without a mouse', () => {
  const campus = sharedService()
  const service = shared(async () => {
    const started = await startAtCampus(campus())
    const add = (uris: string[]) => [...uris, `${started.url}/sign-in/signed-out`]
    await editList(campus().kysely, portal.clientId, 'post_logout_redirect_uris', add)
    return started
  })
  const open = sharedBrowser()
  const phone = { viewport: { width: 360, height: 740 }, colorScheme: 'dark' } as const

  it('leads through the password, the code of an app, and a recovery code', async () => {
    const { page } = await open(phone)
    const { url } = service()
    await page.goto(`${url}/account/second-factor`)
    await typeInFields(page, amir.login, amir.password)
    await page.locator('#second-factor-page').waitFor()
    await press(page, '#add')
    const secret = (await page.innerText('#key')).replaceAll(' ', '')
    const codeIn = (ms: number) =>
      generateSync({ secret, epoch: Math.floor((Date.now() + ms) / 1000) })
    await look(page, 'new-authenticator')
    await page.focus('#code')
    await typeInFields(page, codeIn(-30_000))
    await page.locator('#recovery-codes-page').waitFor()
    const [, recoveryCode = ''] =
      /([A-Z2-7]{4}(?:-[A-Z2-7]{4}){3})/.exec(await page.innerText('main')) ?? []
    await look(page, 'recovery-codes')
    for (const [index, code] of [codeIn(0), recoveryCode].entries()) {
      await page.context().clearCookies()
      await page.goto(authorizeUrl(url).href)
      await typeInFields(page, amir.login, amir.password)
      await page.locator('#second-step-page').waitFor()
      await page.reload()
      await look(page, 'second-step')
      if (index === 1) await page.focus('#recovery-code')
      else await page.focus('#code')
      await typeInFields(page, code)
      await page.locator('#consent-page').waitFor()
    }
    await page.goto(`${url}/account/second-factor`)
    await look(page, 'an-authenticator')
  })

  it('leads past a lost app, with a mail, if the site allows it', async () => {
    const { page } = await open(phone)
    const { url, kysely, config } = service()
    const feature = 'factor_reset'
    await insert(kysely, 'site_feature', { site_id: 'sit_northlight', feature, enabled_at: 1 })
    const row = { sealed_secret: 'lost', confirmed_at: 1, last_step: 1, no_reset_before: null }
    await insert(kysely, 'totp', { person_id: 'per_sam', ...row })
    await page.goto(authorizeUrl(url).href)
    await typeInFields(page, sam.login, sam.password)
    await look(page, 'second-step-with-reset', '#second-step-page')
    await press(page, '#reset')
    await page.locator('#link-sent-page').waitFor()
    await page.goto(url + (await linkTo({ config }, sam.login)))
    await look(page, 'factor-reset')
    await press(page, '#confirm')
    await look(page, 'factor-reset-done', '#factor-reset-done-page')
    await press(page, '#continue')
    await typeInFields(page, sam.login, sam.password)
    await page.locator('#consent-page').waitFor()
  })

  it('leads to an identity provider by its button and by the address, back, and out of both', async () => {
    const { page } = await open(phone)
    const { url } = service()
    /** Signs in at the provider, and consents there. */
    const atCampus = async () => {
      await page.waitForURL(`${campus().url}/interaction/**`)
      if (await page.locator('#login').isVisible()) {
        await page.fill('#login', '')
        await page.focus('#login')
        await typeInFields(page, sam.login, sam.password)
      }
      await page.locator('#consent-page').waitFor()
      await press(page, '#consent-approve')
    }
    await page.goto(`${url}/account`)
    await look(page, 'sign-in-with-providers')
    await press(page, '#provider-campus')
    await atCampus()
    await look(page, 'link-an-identity', '#login-note')
    await page.focus('#password')
    await typeInFields(page, sam.password)
    await page.waitForURL(`${url}/account`)

    await page.context().clearCookies()
    await page.goto(`${url}/account`)
    await typeInFields(page, 'anyone@campus.example')
    await atCampus()
    await page.waitForURL(`${url}/account`)
    await page.goto(`${url}/oauth/logout`)
    await press(page, '#logout-confirm')
    await page.waitForURL(`${campus().url}/**`)
    await look(page, 'sign-out-at-the-provider')
    await press(page, '#logout-confirm')
    await page.waitForURL(`${url}/oauth/logout/success`)
    await page.goto(`${campus().url}/account`)
    await page.locator('#login-page').waitFor()
  })

  it('offers only the providers of a site that accepts no other way', async () => {
    const { page } = await open(phone)
    const { url } = service()
    await page.goto(`${url}/admin/northlight/identity-providers?preset=google`)
    await typeInFields(page, olivia.login, olivia.password)
    await look(page, 'identity-providers-empty', '#clientId')
    await page.focus('#clientId')
    await typeInFields(page, 'client', 'secret')
    await look(page, 'identity-providers', '#only')
    await press(page, '#only')
    await page.getByRole('button', { name: 'Allow other ways' }).waitFor()
    await page.goto(authorizeUrl(url).href)
    await page.locator('#login-page').waitFor()
    expect(await page.locator('input:not([type=hidden])').count()).to.equal(0)
    await look(page, 'sign-in-only-way')
  })
})
