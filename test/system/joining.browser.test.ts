import { mutationOf, startOperator } from '../support/admin-api.ts'
import { look, sharedBrowser, signInAs, signInAt, typeInFields } from '../support/browser.ts'
import { authorizeUrl } from '../support/client.ts'
import { june, olivia, sam } from '../support/gatehouse.ts'
import { linkTo } from '../support/mail-folder.ts'
import { getTokens } from '../support/relying-party.ts'
import { sharedService } from '../support/storages.ts'

const password = 'three horses and a tram'

describe('joining a site in a browser', () => {
  const service = sharedService()
  const open = sharedBrowser()
  const invited = async (email: string) => {
    const input = { email, name: 'Ines', roles: ['STUDENT'] }
    await (await startOperator(service())).run(mutationOf('inviteMember'), { input })
    return service().url + (await linkTo(service(), email))
  }

  // [250]
  it('leads from an invitation to tokens, with the keyboard and without a script', async () => {
    const login = 'ines@new.example'
    const { page, complaints } = await open({
      ...{ javaScriptEnabled: false, viewport: { width: 360, height: 740 }, colorScheme: 'dark' },
    })
    await page.goto(await invited(login))
    expect(await page.inputValue('#name')).to.equal('Ines')
    await page.focus('#name')
    await typeInFields(page, 'Ines Newcomer', 'short', 'short')
    await page.waitForSelector('#password-problem')
    expect(await page.inputValue('#name')).to.equal('Ines Newcomer')
    complaints.length = 0
    await page.focus('#password')
    await typeInFields(page, password, password)
    await page.waitForSelector('#joined-page')
    await page.focus('#continue')
    await page.keyboard.press('Enter')
    await signInAs(page, { login, password }, '#account-page')
    const { tokens } = await getTokens(service().url, { person: { login, password } })
    expect(tokens.claims()?.sub).to.match(/^per_/)
    expect(complaints).to.deep.equal([])
  })

  it('asks a person who has an account to join with that account', async () => {
    const { page, complaints } = await open()
    await signInAt(page, `${service().url}/account`, sam, '#account-page')
    expect((await page.goto(await invited(june.login)))?.status()).to.equal(403)
    await look(page, 'other account')
    await page.click('#switch')
    expect(await page.inputValue('#login')).to.equal(june.login)
    await page.fill('#password', june.password)
    await page.click('#login-submit')
    await look(page, 'join', '#join-page')
    complaints.length = 0
    await page.focus('#accept')
    await page.keyboard.press('Enter')
    await look(page, 'joined', '#joined-page')
    expect(complaints).to.deep.equal([])
  })

  it('lets people sign up after an owner allowed it', async () => {
    const { url } = service()
    const owner = await open()
    await signInAt(owner.page, `${url}/admin/northlight`, olivia)
    await owner.page.click('#switch-sign-up')
    await look(owner.page, 'home of a site', 'text=People can now create an account')
    const { page, complaints } = await open()
    await page.goto(authorizeUrl(url).href)
    await page.click('#sign-up')
    await look(page, 'sign-up')
    await page.focus('#login')
    await typeInFields(page, 'noel@new.example')
    await look(page, 'link sent', '#code')
    await page.goto(url + (await linkTo(service(), 'noel@new.example')))
    await look(page, 'new account')
    await page.focus('#name')
    await typeInFields(page, 'Noel', password, '', password)
    await page.waitForSelector('#joined-page')
    await page.click('#continue')
    await signInAs(page, { login: 'noel@new.example', password }, '#consent-page')
    expect([complaints, owner.complaints]).to.deep.equal([[], []])
  })
})
