import { look, press, sharedBrowser, signInAs, signInAt } from '../support/browser.ts'
import { authorizeUrl } from '../support/client.ts'
import { insert } from '../support/database.ts'
import { noor, sam } from '../support/gatehouse.ts'
import { sharedService } from '../support/storages.ts'

describe('passkeys in a browser', () => {
  const service = sharedService({ host: 'localhost' })
  const open = sharedBrowser(service)

  /** Opens a page with a virtual authenticator that confirms every request. */
  async function openWithAuthenticator() {
    const opened = await open({ viewport: { width: 360, height: 740 }, colorScheme: 'dark' })
    const { page } = opened
    const authenticator = await page.context().newCDPSession(page)
    await authenticator.send('WebAuthn.enable')
    const { authenticatorId } = await authenticator.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...({ protocol: 'ctap2', transport: 'internal' } as const),
        ...{ hasResidentKey: true, hasUserVerification: true, isUserVerified: true },
        automaticPresenceSimulation: true,
      },
    })
    const forget = async () =>
      await authenticator.send('WebAuthn.clearCredentials', { authenticatorId })
    return { ...opened, forget }
  }

  it('are added and used with the keyboard, by autofill and by button', async () => {
    const { page, complaints, forget } = await openWithAuthenticator()
    const openSignedOut = async () => {
      await page.context().clearCookies()
      await page.goto('/account')
    }
    await page.goto('/account/passkeys')
    await look(page, 'sign-in', '#passkey:not([hidden])')
    await signInAs(page, sam, '#no-passkeys')
    await press(page, '#add', '#add-passkey-page #passkey:not([hidden])')
    expect(await page.locator('#passkey-unsupported').count()).to.equal(0)
    await look(page, 'add')
    await page.fill('#name', 'My phone')
    await page.keyboard.press('Enter')
    await page.locator('#done').waitFor()
    expect(await page.innerText('.card h2')).to.equal('My phone')
    await look(page, 'passkeys')
    await page.goto('/account/passkeys/add')
    await press(page, '#passkey-submit', '#passkey-problem:not([hidden])')
    expect(await page.innerText('#passkey-problem')).to.include('already has a passkey')

    await openSignedOut()
    await page.waitForURL('/account')
    expect(await page.innerText('nav.area')).to.include('Sam Student')

    await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = undefined')
    await openSignedOut()
    await page.locator('#passkey:not([hidden])').waitFor()
    await press(page, '#passkey-submit')
    await page.waitForURL('/account')

    await forget()
    await openSignedOut()
    await page.locator('#passkey:not([hidden])').waitFor()
    await press(page, '#passkey-submit', '#passkey-problem:not([hidden])')
    expect(await page.innerText('#passkey-problem')).to.include('sign in another way')
    await look(page, 'sign-in-problem')
    await signInAs(page, sam)
    await page.waitForURL('/account')
    expect(complaints).to.deep.equal([])
  })

  it('follow the password where two factors are needed, with the keyboard', async () => {
    const { page, complaints } = await openWithAuthenticator()
    const { url, kysely } = service()
    await page.addInitScript('PublicKeyCredential.isConditionalMediationAvailable = undefined')
    await signInAt(page, '/account/passkeys/add', noor, '#passkey:not([hidden])')
    await press(page, '#passkey-submit', '#done')
    await page.context().clearCookies()

    const demand = authorizeUrl(url, { acr_values: 'urn:gatehouse:mfa' }).href
    await page.goto(demand)
    await look(page, 'sign-in-two-factors')
    const [tab] = await Promise.all([
      page.waitForEvent('popup'),
      press(page, '#needs-two-factors a'),
    ])
    await signInAs(tab, noor)
    await look(tab, 'no-second-factor', '#second-factor-page')
    await tab.close()
    await signInAs(page, noor, '#second-step-page #passkey:not([hidden])')
    expect(await page.locator('#passkey-unsupported').count()).to.equal(0)
    await look(page, 'second-step-passkey')
    await press(page, '#passkey-submit', '#consent-page')

    const totp = { person_id: 'per_noor', sealed_secret: '', confirmed_at: 1, last_step: 0 }
    await insert(kysely, 'totp', totp)
    await page.context().clearCookies()
    await signInAt(page, demand, noor)
    await page.fill('#code', '000000')
    await page.keyboard.press('Enter')
    await look(page, 'second-step-problem', '#login-problem')
    await press(page, '#passkey-submit', '#consent-page')
    expect(complaints.filter((text) => !text.includes('401'))).to.deep.equal([])
  })

  it('are not mentioned where scripts do not run', async () => {
    const { page } = await open({ javaScriptEnabled: false, at: '/account/passkeys/add' })
    expect(await page.locator('#passkey-submit').isVisible()).to.equal(false)
    await signInAs(page, sam)
    expect(await page.innerText('#passkey-unsupported')).to.include('JavaScript')
  })
})
