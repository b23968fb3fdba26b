import { asClaude, authorize } from './support/client.ts'
import { change, insert, rowOf, rowsOf } from './support/database.ts'
import { olivia, sam, startWith } from './support/gatehouse.ts'
import { decode, hiddenField, linkOf, makePagePerson, matchesIn } from './support/page-person.ts'
import { sharedService } from './support/storages.ts'
import { expectAnswer, get } from './support/wire.ts'

const page = '/admin/northlight/assistants'
const ownCallback = 'https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'

function sharedOperator() {
  const service = sharedService()
  const operator = makePagePerson(() => service().url, olivia)
  const press = async (assistant: string, typed: Record<string, string> = {}) =>
    await operator.submit(page, { assistant, ...typed })
  return { service, operator, press, ...operator }
}

describe('/admin/{site}/assistants', () => {
  const { service, operator, press, submit, visit } = sharedOperator()

  const made = async (assistant: string) =>
    await rowsOf(service().kysely, 'oauth_application', { assistant, deleted_at: null })

  it('is linked from the site, and adds a public application with one click', async () => {
    expect((await visit('/admin/northlight')).text).to.include(`href="${page}"`)
    expect((await press('claude')).text).to.include('The assistant was added.')
    const [app] = await made('claude')
    expect(app).to.include({
      ...{ name: 'Claude', auth_method: 'none', application_type: 'web' },
      ...{ created_by: 'per_olivia', site_id: 'sit_northlight' },
    })
    const callbacks = ['ai', 'com'].map((end) => `https://claude.${end}/api/mcp/auth_callback`)
    const scopes = ['<code>account:read</code>', '<code>account:write</code>']
    const own = await visit(`/admin/northlight/applications/${app?.client_id}`)
    expectAnswer(own, 200, ...callbacks, ...scopes)
    expectAnswer(await visit('/admin/northlight/audit'), 200, 'created the application', 'Claude')
  })

  it('adds one application for several clicks, and a new one after it was deleted', async () => {
    const first = await visit(page)
    const add = async () => (await operator.send(first, page, { assistant: 'codex' })).status
    expect(await Promise.all([add(), add(), add()])).to.deep.equal([200, 200, 200])
    expect((await press('codex')).text).to.include('already exists')
    const [{ client_id = '' } = {}, ...others] = await made('codex')
    expect(others).to.deep.equal([])
    const events = await rowsOf(service().kysely, 'audit_event', { subject_id: client_id })
    expect(events.map(({ action }) => action)).to.deep.equal(['application.create'])

    await submit(`/admin/northlight/applications/${client_id}/delete`)
    expect(await made('codex')).to.have.length(0)
    expect((await press('codex')).text).to.include('The assistant was added.')
    expect((await made('codex'))[0]?.client_id).not.to.equal(client_id)
  })

  it('asks for the callback of ChatGPT, refuses other addresses, and accepts a second one', async () => {
    for (const callback of ['', 'https://chatgpt.com/', `${ownCallback}/x`, 'javascript:alert(1)'])
      expectAnswer(await press('chatgpt', { callback }), 422, 'id="chatgpt-callback-problem"')
    expect(await made('chatgpt')).to.have.length(0)
    expect((await press('chatgpt', { callback: ownCallback })).text).to.include('was added')
    expect((await press('chatgpt', { callback: ownCallback })).text).to.include('already exists')
    const second = 'https://chatgpt.com/connector/oauth/another'
    expect((await press('chatgpt', { callback: second })).text).to.include('The callback was added')
    expect(await made('chatgpt')).to.have.length(1)
    const { text } = await get(`${service().url}/connect/northlight`)
    expect(text).to.include(ownCallback).and.include(second)
  })

  it('lists added assistants first, with their state', async () => {
    await press('cursor')
    const order = matchesIn((await visit(page)).text, /<li id="([^"]+)">/g)
    const apps = await rowsOf(service().kysely, 'oauth_application', { deleted_at: null })
    const added = apps.flatMap(({ assistant }) => assistant ?? [])
    expect(order.slice(0, added.length)).to.have.members(added).and.include('cursor')
    expect(order).to.include('inspector').and.have.length(13)
    const stateOf = async () =>
      /<li id="cursor">[\s\S]*?<span class="tag[^"]*">([^<]+)/.exec((await visit(page)).text)?.[1]
    expect(await stateOf()).to.equal('On')
    const [app] = await made('cursor')
    await submit(`/admin/northlight/applications/${app?.client_id}/disable`)
    expect(await stateOf()).to.equal('Disabled')
    await submit(`/admin/northlight/applications/${app?.client_id}/delete`)
  })

  it('does not add an assistant if the deployment admits none of its callback hosts', async () => {
    await using strict = await startWith({ loopbackHosts: ['127.0.0.1'] })
    // No callback of Gemini CLI is admitted. The page creates no client, because it could never receive a response.
    const none = await makePagePerson(strict.url, olivia).submit(page, { assistant: 'gemini-cli' })
    expectAnswer(none, 422, 'at least one redirect address')
  })

  it('shows the logo of an assistant that has one, otherwise its initial', async () => {
    await press('claude')
    await authorize(service().url, { ...asClaude, client_id: (await made('claude'))[0]?.client_id })
    const student = makePagePerson(service().url, sam)
    const shown = ['/connect/northlight', page, '/admin/northlight/applications'].map(visit)
    for (const { text } of await Promise.all([...shown, student.visit('/account/apps')]))
      expect(text).to.include('<span class="avatar logo"><svg')
    expect((await visit(page)).text).to.match(/<li id="chatgpt">\s*<bdi class="avatar"[^>]*>C</)
  })

  it('offers MCP connections while they are off, and adds nothing', async () => {
    await service().kysely.deleteFrom('site_feature').execute()
    const seen = await visit(page)
    expect(seen.text).to.include('id="feature-off"').and.not.include('id="add-vscode"')
    const sent = { csrf: hiddenField(seen.text), assistant: 'vscode' }
    expect((await operator.post(page, sent)).path).to.equal('/admin/northlight/beta')
    expect(await made('vscode')).to.have.length(0)
    const on = await operator.send(seen, '/admin/northlight/beta/on')
    expect(on.text).to.include(`href="${page}"`)
    expect((await press('vscode')).text).to.include('The assistant was added.')
  })

  it('is for operators of the site, with the token of its page and a known assistant', async () => {
    const student = makePagePerson(service().url, sam)
    for (const path of [page, `${page}/own`])
      expect((await student.visit(path)).status).to.equal(403)
    const sent = { csrf: await student.csrf(), assistant: 'cursor' }
    expect((await student.post(page, sent)).status).to.equal(403)
    await visit(page)
    expect((await operator.post(page, { assistant: 'cursor' })).status).to.equal(403)
    expect((await press('no-such-assistant')).status).to.equal(404)
    expect(await made('cursor')).to.have.length(0)
  })

  it('shows how operators connect their own: the address for the chosen areas, and assistants to approve first (design 38)', async () => {
    const { text: plain } = await visit(`${page}/own`)
    expect(plain).to.include(`${service().url}/mcp/admin`).and.include('northlight-admin')
    expect(plain).to.include('courses:read').and.not.include('account:read')
    expect(plain).to.not.match(/checked|Approve <bdi>Claude Code|\/mcp\/member|client-id/)
    const { text } = await visit(`${page}/own?change=students&change=courses&change=nothing`)
    expect(text).to.include(`<code>${service().url}/mcp/admin/change/courses.students</code>`)
    expect(text.match(/ checked>/g)).to.have.length(2)
    expect(text).to.include('courses:write').and.not.include('posts:write')
    const [href = ''] = matchesIn(text, /<a href="([^"]*)">Approve <bdi>Claude Code</g)
    const review = await visit(href)
    expectAnswer(review, 200, 'id="review-page"', 'http://localhost/callback')
    await operator.send(review, '/admin/northlight/self-declared-clients/approved')
    const after = await visit(`${page}/own?change=courses`)
    expect(after.text).to.include('Approve <bdi>Codex').and.not.include('Approve <bdi>Claude Code')
  })

  it('shows on the page of an application how members use it, and its settings', async () => {
    const { text } = await visit('/admin/northlight/applications/northlight-notes/set-up')
    const settings = text.slice(text.indexOf('id="settings"'))
    const { url } = service()
    for (const value of [
      ...[`<code>${url}</code>`, `${url}/.well-known/openid-configuration`, `${url}/mcp/member`],
      ...['S256', 'ES256', '<code>none</code>', 'openid profile email account:read account:write'],
    ])
      expect(settings).to.include(value)
    expect(text).to.include('codex mcp add northlight').and.include('northlight-notes')
    const portal = await visit('/admin/northlight/applications/northlight-portal/set-up')
    expect(portal.text).to.include('client_secret_post').and.not.include('codex mcp add')
  })
})

describe('/connect', () => {
  const { service, press, submit, visit } = sharedOperator()
  before(async () => {
    await press('claude-code')
    await press('vscode')
  })

  const clientIdOf = async (assistant: string) =>
    (await rowOf(service().kysely, 'oauth_application', { assistant })).client_id

  const open = async (path: string) => await get(service().url + path)

  const shownIds = (text: string) => matchesIn(text, /<details class="card" id="([^"]+)"/g)

  it('is public, without scripts and cookies, lists the sites, and is linked from other pages', async () => {
    expect((await open('/')).text).to.include('href="/connect"')
    const student = makePagePerson(service().url, sam)
    expect((await student.visit('/account')).text).to.include('href="/connect/northlight"')
    expect(linkOf(await visit(page), 'member-page')).to.equal(`${service().url}/connect/northlight`)
    const home = await open('/connect')
    expectAnswer(home, 200, 'href="/connect/northlight"', 'Open Kitchen School', 'client_id')
    expect(home.text).to.not.include('<script')
    expect(home.headers.get('set-cookie')).to.equal(null)
    expect(home.headers.get('content-security-policy')).to.include("script-src 'none'")
  })

  it('does not list a site that has published nothing, but shows its page [215]', async () => {
    const site = { id: 'sit_new', slug: 'brand-new', name: 'Brand New', created_at: 1 }
    await insert(service().kysely, 'site', site)
    expect((await open('/connect')).text).to.not.include('brand-new')
    expect((await open('/connect/brand-new')).status).to.equal(200)
    expect((await open('/connect?site=brand-new')).status).to.equal(303)
  })

  it('finds a site by its short name, or says that there is none', async () => {
    const { status, headers } = await open('/connect?site=%20Northlight%20')
    expect([status, headers.get('location')]).to.deep.equal([303, '/connect/northlight'])
    for (const name of ['<b>nowhere</b>', 'x'.repeat(5000)]) {
      const none = await open(`/connect?site=${name}`)
      expectAnswer(none, 404, 'id="site-problem"')
      expect(none.text).to.not.include('<b>nowhere')
    }
    expect((await open('/connect?site=')).status).to.equal(200)
  })

  it('shows the steps of each assistant that the site has an application for', async () => {
    const { status, text } = await open('/connect/northlight')
    expect(status).to.equal(200)
    expect(text).to.include('Connect an assistant to <bdi>Northlight Academy</bdi>')
    expect(shownIds(text)).to.deep.equal(['claude-code', 'vscode'])
    const [url, clientId] = [`${service().url}/mcp/member`, await clientIdOf('claude-code')]
    expect(decode(text)).to.include(
      `claude mcp add --transport http --scope user --client-id ${clientId} --callback-port 8765 northlight ${url}`,
    )
    const href = /href="(vscode:[^"]+)"/.exec(text)?.[1] ?? ''
    const oauth = { clientId: await clientIdOf('vscode') }
    const content = JSON.parse(decodeURIComponent(href.slice('vscode:mcp/install?'.length)))
    expect(content).to.deep.equal({ name: 'northlight', type: 'http', url, oauth })
    expect(text).to.include('They can add <bdi>Claude</bdi>, <bdi>ChatGPT</bdi>, <bdi>Cursor</bdi>')
  })

  it('says what to tell the operator of a site without assistants, and answers 404 for an unknown site', async () => {
    const assistants = `${service().url}/admin/open-kitchen/assistants`
    expectAnswer(await open('/connect/open-kitchen'), 200, 'id="no-assistants"', assistants)
    for (const name of ['nowhere', 'sit_northlight', 'north%00light', '%3Cscript%3E'])
      expect((await open(`/connect/${name}`)).status, name).to.equal(404)
  })

  it('hides disabled assistants, those without a working callback, and all of a site with MCP off', async () => {
    const address = `/admin/northlight/applications/${await clientIdOf('vscode')}`
    const shown = async () => shownIds((await open('/connect/northlight')).text)
    await submit(`${address}/disable`)
    expect(await shown()).to.deep.equal(['claude-code'])
    expect((await visit(page)).text).to.include('Members cannot connect it at the moment')
    await submit(address, {}, `${address}/enable`)
    await submit('/admin/northlight/beta/off')
    expect(await shown()).to.deep.equal([])
    await submit('/admin/northlight/beta', {}, '/admin/northlight/beta/on')
    expect(await shown()).to.deep.equal(['claude-code', 'vscode'])

    const edit = async (redirect_uris: string) => {
      const entry = { name: 'VS Code', redirect_uris, scope: ['account:read', 'account:write'] }
      await submit(`${address}/edit`, entry)
    }
    await edit('https://elsewhere.example/callback')
    expect(await shown()).to.deep.equal(['claude-code'])
    await edit('https://vscode.dev/redirect')
    expect(await shown()).to.deep.equal(['claude-code', 'vscode'])
  })

  it('shows a hostile name of a site as text', async () => {
    const name = '</bdi><script>alert(1)</script>"\'`$(id)\\{url}'
    await change(service().kysely, 'site', { id: 'sit_northlight' }, { name })
    await press('claude')
    for (const { text } of [
      ...[await open('/connect'), await open('/connect/northlight')],
      ...[await visit(page), await visit(`${page}/own`)],
    ]) {
      expect(text).not.to.include('</bdi><script').and.not.include('<script>alert')
      expect(decode(text)).to.include(name)
    }
  })
})
