import { mutationOf, startOperator } from '../support/admin-api.ts'
import { look, sharedBrowser, signInAs, typeInFields } from '../support/browser.ts'
import { authorizeUrl } from '../support/client.ts'
import { june, olivia, sam } from '../support/gatehouse.ts'
import { linkTo } from '../support/mail-folder.ts'
import { getTokens } from '../support/relying-party.ts'
import { sharedService } from '../support/storages.ts'

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
    const { page, complaints } = await open({
      ...{ javaScriptEnabled: false, viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
      at: await invited(login),
    })
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
