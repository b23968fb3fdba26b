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
  const openPage = sharedBrowser(service)
  const open = async (at: string) =>
    (await openPage({ viewport: { width: 360, height: 740 }, colorScheme: 'dark', at })).page
  const authorization = () => authorizeUrl(service().url).href

  it('leads through the password, the code of an app, and a recovery code', async () => {
    const page = await open('/account/second-factor')
    await typeInFields(page, [amir.login, amir.password], { shows: '#second-factor-page' })
    await press(page, '#add')
    const secret = (await page.innerText('#key')).replaceAll(' ', '')
    const codeIn = (ms: number) =>
      generateSync({ secret, epoch: Math.floor((Date.now() + ms) / 1000) })
    await look(page, 'new-authenticator')
    await typeInFields(page, [codeIn(-30_000)], { from: '#code', shows: '#recovery-codes-page' })
    const [, recoveryCode = ''] =
      /([A-Z2-7]{4}(?:-[A-Z2-7]{4}){3})/.exec(await page.innerText('main')) ?? []
    await look(page, 'recovery-codes')
    for (const [from, code] of Object.entries({
      '#code': () => codeIn(0),
      '#recovery-code': () => recoveryCode,
    })) {
      await page.context().clearCookies()
      await page.goto(authorization())
      await typeInFields(page, [amir.login, amir.password], { shows: '#second-step-page' })
      await page.reload()
      await look(page, 'second-step')
      await typeInFields(page, [code()], { from, shows: '#consent-page' })
    }
    await page.goto('/account/second-factor')
    await look(page, 'an-authenticator')
  })

  it('leads past a lost app, with a mail, if the site allows it', async () => {
    const { kysely, config } = service()
    const feature = 'factor_reset'
    await insert(kysely, 'site_feature', { site_id: 'sit_northlight', feature, enabled_at: 1 })
    const row = { sealed_secret: 'lost', confirmed_at: 1, last_step: 1, no_reset_before: null }
    await insert(kysely, 'totp', { person_id: 'per_sam', ...row })
    const page = await open(authorization())
    await typeInFields(page, [sam.login, sam.password])
    await look(page, 'second-step-with-reset', '#second-step-page')
    await press(page, '#reset', '#link-sent-page')
    await page.goto(await linkTo({ config }, sam.login))
    await look(page, 'factor-reset')
    await press(page, '#confirm')
    await look(page, 'factor-reset-done', '#factor-reset-done-page')
    await press(page, '#continue')
    await typeInFields(page, [sam.login, sam.password], { shows: '#consent-page' })
  })

  it('leads to an identity provider by its button and by the address, back, and out of both', async () => {
    const page = await open('/account')
    /** Signs in at the provider, and consents there. */
    const atCampus = async () => {
      await page.waitForURL(`${campus().url}/interaction/**`)
      if (await page.locator('#login').isVisible()) {
        await page.fill('#login', '')
        await typeInFields(page, [sam.login, sam.password], { from: '#login' })
      }
      await page.locator('#consent-page').waitFor()
      await press(page, '#consent-approve')
    }
    await look(page, 'sign-in-with-providers')
    await press(page, '#provider-campus')
    await atCampus()
    await look(page, 'link-an-identity', '#login-note')
    await typeInFields(page, [sam.password], { from: '#password' })
    await page.waitForURL('/account')

    await page.context().clearCookies()
    await page.goto('/account')
    await typeInFields(page, ['anyone@campus.example'])
    await atCampus()
    await page.waitForURL('/account')
    await page.goto('/oauth/logout')
    await press(page, '#logout-confirm')
    await page.waitForURL(`${campus().url}/**`)
    await look(page, 'sign-out-at-the-provider')
    await press(page, '#logout-confirm')
    await page.waitForURL('/oauth/logout/success')
    await page.goto(`${campus().url}/account`)
    await page.locator('#login-page').waitFor()
  })

  it('offers only the providers of a site that accepts no other way', async () => {
    const page = await open('/admin/northlight/identity-providers?preset=google')
    await typeInFields(page, [olivia.login, olivia.password])
    await look(page, 'identity-providers-empty', '#clientId')
    await typeInFields(page, ['client', 'secret'], { from: '#clientId' })
    await look(page, 'identity-providers', '#only')
    await press(page, '#only')
    await page.getByRole('button', { name: 'Allow other ways' }).waitFor()
    await page.goto(authorization())
    await page.locator('#login-page').waitFor()
    expect(await page.locator('input:not([type=hidden])').count()).to.equal(0)
    await look(page, 'sign-in-only-way')
  })
})
