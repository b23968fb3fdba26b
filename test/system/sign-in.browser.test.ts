import { generateSync } from 'otplib'

import { mutationOf, startOperator } from '../support/admin-api.ts'
import { look, press, sharedBrowser, signInAs, signInAt, typeInFields } from '../support/browser.ts'
import { authorizeUrl } from '../support/client.ts'
import { editList, insert } from '../support/database.ts'
import { amir, june, noor, olivia, portal, sam } from '../support/gatehouse.ts'
import { startAtCampus } from '../support/identity-provider.ts'
import { linkTo } from '../support/mail-folder.ts'
import { getTokens } from '../support/relying-party.ts'
import { shared } from '../support/shared.ts'
import { sharedService } from '../support/storages.ts'

const phone = { viewport: { width: 360, height: 740 }, colorScheme: 'dark' } as const

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
  const open = async (at: string) => (await openPage({ ...phone, at })).page
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

  it('leads to an identity provider by its button or by the address, and back, and signs out of both', async () => {
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

const password = 'three horses and a tram'

describe('joining a site in a browser', () => {
  const service = sharedService()
  const open = sharedBrowser(service)
  const invited = async (email: string) => {
    const input = { email, name: 'Ines', roles: ['STUDENT'] }
    await (await startOperator(service())).run(mutationOf('inviteMember'), { input })
    return await linkTo(service(), email)
  }

  // [250]
  it('leads from an invitation to tokens, with the keyboard and without a script', async () => {
    const login = 'ines@new.example'
    const at = await invited(login)
    const { page, complaints } = await open({ ...phone, javaScriptEnabled: false, at })
    expect(await page.inputValue('#name')).to.equal('Ines')
    const named = { from: '#name', shows: '#password-problem' }
    await typeInFields(page, ['Ines Newcomer', 'short', 'short'], named)
    expect(await page.inputValue('#name')).to.equal('Ines Newcomer')
    complaints.length = 0
    const chosen = { from: '#password', shows: '#joined-page' }
    await typeInFields(page, [password, password], chosen)
    await page.locator('#continue').press('Enter')
    await signInAs(page, { login, password }, '#account-page')
    const { tokens } = await getTokens(service().url, { person: { login, password } })
    expect(tokens.claims()?.sub).to.match(/^per_/)
    expect(complaints).to.deep.equal([])
  })

  it('asks a person who has an account to join with that account', async () => {
    const { page, complaints } = await open({ at: '/account', as: sam, shows: '#account-page' })
    expect((await page.goto(await invited(june.login)))?.status()).to.equal(403)
    await look(page, 'other account')
    await page.click('#switch')
    expect(await page.inputValue('#login')).to.equal(june.login)
    await page.fill('#password', june.password)
    await page.click('#login-submit')
    await look(page, 'join', '#join-page')
    complaints.length = 0
    await page.locator('#accept').press('Enter')
    await look(page, 'joined', '#joined-page')
    expect(complaints).to.deep.equal([])
  })

  it('lets people sign up after an owner allowed it', async () => {
    const owner = await open({ at: '/admin/northlight', as: olivia })
    await owner.page.click('#switch-sign-up')
    await look(owner.page, 'home of a site', 'text=People can now create an account')
    const { page, complaints } = await open({ at: authorizeUrl(service().url).href })
    await page.click('#sign-up')
    await look(page, 'sign-up')
    await typeInFields(page, ['noel@new.example'], { from: '#login' })
    await look(page, 'link sent', '#code')
    await page.goto(await linkTo(service(), 'noel@new.example'))
    await look(page, 'new account')
    const named = { from: '#name', shows: '#joined-page' }
    await typeInFields(page, ['Noel', password, '', password], named)
    await page.click('#continue')
    await signInAs(page, { login: 'noel@new.example', password }, '#consent-page')
    expect([complaints, owner.complaints]).to.deep.equal([[], []])
  })
})

describe('passkeys in a browser', () => {
  const service = sharedService({ host: 'localhost' })
  const open = sharedBrowser(service)

  /** Opens a page with a virtual authenticator that confirms every request. */
  async function openWithAuthenticator() {
    const opened = await open(phone)
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
