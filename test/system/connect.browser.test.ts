import type { Page } from 'playwright-core'

import { paths } from '../../src/platform/http/paths.ts'
import { mutationOf, startOperator } from '../support/admin-api.ts'
import { look, lookAt, sharedBrowser, signInAt } from '../support/browser.ts'
import { authorizeUrl, exchange } from '../support/client.ts'
import { olivia, sam } from '../support/gatehouse.ts'
import { readTool } from '../support/mcp.ts'
import { makePagePerson } from '../support/page-person.ts'
import { eventually } from '../support/programs.ts'
import { serve, servePage } from '../support/serve.ts'
import { sharedService } from '../support/storages.ts'

/** No server listens at this redirect URI. The test reads the code from the browser's request. */
const callback = 'http://127.0.0.1:9/callback'

describe('connecting an assistant, in a browser', () => {
  const service = sharedService()
  const open = sharedBrowser(service)

  it('an operator adds an assistant, and a member signs in to it with the values on the member page', async () => {
    const noScripts = { javaScriptEnabled: false }
    const { page: operator } = await open({ ...noScripts, at: '/admin/northlight', as: olivia })
    await operator.getByRole('link', { name: 'Connect assistants' }).click()
    await operator.getByRole('button', { name: 'Add Claude Code' }).click()
    await operator.locator('#done').waitFor()

    const at = (await operator.getAttribute('#member-page', 'href')) ?? ''
    const { page: member } = await open({ ...noScripts, at })
    // If a site has only one assistant, the page shows its details without a click.
    const command = await member.locator('#claude-code pre').first().innerText()
    const [, clientId = ''] = /--client-id (\S+)/.exec(command) ?? []
    const [, url = ''] = / (http\S+)/.exec(command) ?? []

    const asked = { client_id: clientId, redirect_uri: callback, resource: url }
    const scope = 'account:read account:write'
    const { href } = authorizeUrl(service().url, { ...asked, scope })
    await signInAt(member, href, sam, '#consent-page')
    expect(await member.innerText('h1')).to.equal('Allow Claude Code to use your account?')
    const [sent] = await Promise.all([
      member.waitForRequest((each) => each.url().startsWith(callback)),
      member.click('#consent-approve'),
    ])
    const code = new URL(sent.url()).searchParams.get('code') ?? ''
    const token = (await exchange(service().url, code, asked)).body.access_token
    const { pathname: path } = new URL(url)
    const viewer = await readTool(service().url, 'get_viewer', { token, path })
    expect(viewer).to.include({ id: 'per_sam' })
    const apps = await makePagePerson(service().url, sam).visit('/account/apps')
    expect(apps.text).to.include('Claude Code')
    const trail = await makePagePerson(service().url, olivia).visit('/admin/northlight/audit')
    expect(trail.text).to.include('claude-code')
  })

  it('the pages have no accessibility barriers and fit a width of 360 pixels, empty, full and with the site’s look', async () => {
    const { page } = await open()
    await lookAt(page, '/connect', '/connect?site=nowhere', '/connect/open-kitchen')
    const assistants = '/admin/northlight/assistants'
    await signInAt(page, assistants, olivia)
    await look(page, 'assistants', '#assistants-page')
    for (const id of 'claude claude-code vscode cursor gemini-cli codex opencode'.split(' ')) {
      const add = page.locator(`#add-${id}`)
      if ((await add.count()) === 0) continue
      await add.click()
      await page.locator('#done').waitFor()
    }
    await page.getByText('Set up ChatGPT').press('Enter')
    await page.fill('#chatgpt-callback', 'https://chatgpt.com/elsewhere')
    await page.click('#add-chatgpt')
    await look(page, 'a wrong callback', '#chatgpt-callback-problem')
    await page.fill('#chatgpt-callback', 'https://chatgpt.com/connector/oauth/OUbdUMlL15Ct')
    await page.click('#add-chatgpt')
    await look(page, 'all assistants', '#done')
    await lookAt(page, `${assistants}/own`, '/admin/northlight/applications/northlight-notes')
    const input = { displayName: 'Northlight Film School', accentColor: '#8a1c4a' }
    await (await startOperator(service())).run(mutationOf('updateAppearance'), { input })
    await lookAt(page, '/connect/northlight')
    expect(await page.innerText('header')).to.include('Northlight Film School')
  })

  for (const [scheme, redirect_uri] of [
    ['the scheme of a known assistant', 'cursor://anysphere.cursor-mcp/oauth/callback'],
    ['a reversed domain name', 'com.example.app:/cb'],
  ] as const) {
    it(`consent leads to an app by ${scheme} (decision 4)`, async () => {
      const client_id = await makeApplication(redirect_uri)
      const request = authorizeUrl(service().url, { client_id, redirect_uri }).href
      const { page, complaints } = await open()
      const followed = await followedSchemes(page)
      await signInAt(page, request, sam, '#consent-page')
      expect(await page.innerText('#consent-page')).to.include('an app on this device')
      await page.goto(request)
      await page.click('#consent-approve')
      await eventually(10_000, async () => expect([...followed, ...complaints]).not.to.be.empty)
      expect(complaints).to.deep.equal([])
      expect(followed[0]).to.satisfy((answer: string) => answer.startsWith(`${redirect_uri}?`))
      expect(new URL(followed[0] ?? '').searchParams.has('code')).to.equal(true)
      // Another app may have claimed the scheme since then, so the service asks for consent again (design 17).
      await page.goto(request)
      expect(await page.locator('#consent-page').count()).to.equal(1)
    })
  }

  it('consent leads through the callback of a broker to its own application (decision 4)', async () => {
    await using application = await servePage()
    await using broker = await serve((request, response) => {
      const { search } = new URL(request.url ?? '/', 'http://broker')
      response.writeHead(303, { location: `${application.url}/arrived${search}` }).end()
    })
    const redirect_uri = `${broker.url}/callback`
    const client_id = await makeApplication(redirect_uri)
    const at = authorizeUrl(service().url, { client_id, redirect_uri }).href
    const signedIn = { at, as: sam, shows: '#consent-page' }
    const { page, complaints } = await open({ javaScriptEnabled: false, ...signedIn })
    await page.click('#consent-approve')
    await page.waitForURL(`${application.url}/arrived?code=**`)
    await page.goto(paths.endSession)
    await page.locator('#logout-confirm').waitFor()
    expect(complaints).to.deep.equal([])
  })

  async function makeApplication(redirectUri: string): Promise<string> {
    const list = '/admin/northlight/applications'
    const operator = makePagePerson(service().url, olivia)
    const form = await operator.visit(`${list}/new`)
    expect(form.text).to.include('another app can claim a scheme').and.include('cursor://')
    const made = await operator.send(form, list, {
      name: `Field Notes of ${redirectUri}`.slice(0, 80),
      redirect_uris: redirectUri,
      auth_method: 'none',
      scope: ['account:read'],
    })
    expect(made.status, made.text).to.equal(200)
    return /id="client-id">([^<]+)</.exec(made.text)?.[1] ?? ''
  }
})

/** Returns a list to which each URL with an app's scheme is added when the browser follows it. */
async function followedSchemes(page: Page): Promise<string[]> {
  const followed: string[] = []
  const session = await page.context().newCDPSession(page)
  await session.send('Network.enable')
  session.on('Network.requestWillBeSent', ({ request }) => {
    if (!/^(https?|data|about):/.test(request.url)) followed.push(request.url)
  })
  return followed
}
