import { expect } from 'chai'

import { olivia, type RunningService, sam, startService } from './support/gatehouse.ts'
import { linkOf, makePagePerson, type PagePerson, type Seen } from './support/page-person.ts'
import { get } from './support/wire.ts'

const page = '/admin/northlight/assistants'
const ownCallback = 'https://chatgpt.com/connector/oauth/OUbdUMlL15Ct'

describe('Connect assistants, for operators', () => {
  let service: RunningService
  let operator: PagePerson
  beforeEach(async () => {
    service = await startService()
    operator = makePagePerson(service.url, olivia)
  })
  afterEach(async () => await service[Symbol.asyncDispose]())

  const press = async (assistant: string, typed: Record<string, string> = {}): Promise<Seen> =>
    await operator.send(await operator.visit(page), page, { assistant, ...typed })

  const made = async () =>
    await service.service.stores.database.kysely
      .selectFrom('oauth_application')
      .selectAll()
      .where('assistant', 'is not', null)
      .where('deleted_at', 'is', null)
      .execute()

  it('is linked from the site, and makes a public application with one press', async () => {
    const home = await operator.visit('/admin/northlight')
    expect(home.text).to.include(`href="${page}"`)
    const seen = await press('claude')
    expect(seen.text).to.include('The assistant was added.')
    const [app] = await made()
    expect(app).to.include({
      name: 'Claude',
      assistant: 'claude',
      auth_method: 'none',
      application_type: 'web',
      created_by: 'per_olivia',
      site_id: 'sit_northlight',
    })
    const { text } = await operator.visit(`/admin/northlight/applications/${app?.client_id}`)
    expect(text).to.include('https://claude.ai/api/mcp/auth_callback')
    expect(text).to.include('https://claude.com/api/mcp/auth_callback')
    expect(text).to.include('<code>account:read</code>').and.include('<code>account:write</code>')
    const audit = await operator.visit('/admin/northlight/audit')
    expect(audit.text).to.include('created the application').and.include('Claude')
  })

  it('makes no second one when it is pressed again, or twice at the same moment', async () => {
    const first = await operator.visit(page)
    const answers = await Promise.all(
      [0, 1, 2].map(() => operator.send(first, page, { assistant: 'codex' })),
    )
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 200, 200])
    expect(await made()).to.have.length(1)
    const again = await press('codex')
    expect(again.text).to.include('already exists')
    expect(await made()).to.have.length(1)
    const { text } = await operator.visit('/admin/northlight/audit')
    // The filter of the page has the name of the action, too.
    const [, events = ''] = text.split('</form>')
    expect(events.match(/created the application/g)).to.have.length(1)
  })

  it('makes another one once the first was deleted', async () => {
    await press('codex')
    const [app] = await made()
    const address = `/admin/northlight/applications/${app?.client_id}`
    await operator.send(await operator.visit(`${address}/delete`), `${address}/delete`)
    expect(await made()).to.have.length(0)
    expect((await press('codex')).text).to.include('The assistant was added.')
    expect((await made())[0]?.client_id).not.to.equal(app?.client_id)
  })

  it('asks for the callback of ChatGPT, refuses another address, and takes a second one', async () => {
    for (const callback of [
      '',
      'https://chatgpt.com/',
      `${ownCallback}/x`,
      'javascript:alert(1)',
    ]) {
      const seen = await press('chatgpt', { callback })
      expect(seen.status, callback).to.equal(422)
      expect(seen.text).to.include('id="chatgpt-callback-problem"')
    }
    expect(await made()).to.have.length(0)
    expect((await press('chatgpt', { callback: ownCallback })).text).to.include('was added')
    expect((await press('chatgpt', { callback: ownCallback })).text).to.include('already exists')
    const second = 'https://chatgpt.com/connector/oauth/another'
    expect((await press('chatgpt', { callback: second })).text).to.include('The callback was added')
    expect(await made()).to.have.length(1)
    const { text } = await get(`${service.url}/connect/northlight`)
    expect(text).to.include(ownCallback).and.include(second)
  })

  it('leaves out callbacks to a host of this machine that the deployment does not admit', async () => {
    await using strict = await startService({
      policy: (policy) => ({ ...policy, loopbackHosts: ['127.0.0.1'] }),
    })
    const person = makePagePerson(strict.url, olivia)
    const seen = await person.send(await person.visit(page), page, { assistant: 'cursor' })
    expect(seen.text).to.include('The assistant was added.')
    const rows = await strict.service.stores.database.kysely
      .selectFrom('oauth_application_redirect_uri as uri')
      .innerJoin('oauth_application as app', 'app.client_id', 'uri.client_id')
      .select('uri.uri')
      .where('app.assistant', '=', 'cursor')
      .orderBy('uri.position')
      .execute()
    expect(rows.map(({ uri }) => uri)).to.deep.equal([
      'https://www.cursor.com/agents/mcp/oauth/callback',
      'cursor://anysphere.cursor-mcp/oauth/callback',
    ])
    // Nothing of Gemini CLI is left, and the page says so instead of making a client that cannot return.
    const none = await person.send(await person.visit(page), page, { assistant: 'gemini-cli' })
    expect([none.status, none.text.includes('at least one redirect address')]).to.deep.equal([
      422,
      true,
    ])
  })

  it('says that MCP connections is off, offers it, and makes nothing meanwhile', async () => {
    await service.service.stores.database.kysely.deleteFrom('site_feature').execute()
    const seen = await operator.visit(page)
    expect(seen.text).to.include('id="feature-off"').and.not.include('id="add-claude"')
    const csrf = /name="csrf" value="([^"]+)"/.exec(seen.text)?.[1] ?? ''
    const sent = await operator.post(page, { csrf, assistant: 'claude' })
    expect(sent.path).to.equal('/admin/northlight/beta')
    expect(await made()).to.have.length(0)
    const on = await operator.send(seen, '/admin/northlight/beta/on')
    expect(on.text).to.include(`href="${page}"`)
    expect((await press('claude')).text).to.include('The assistant was added.')
  })

  it('is for the operators of the site, with the token of its page, and knows its table only', async () => {
    const student = makePagePerson(service.url, sam)
    for (const path of [page, `${page}/own`]) {
      expect((await student.visit(path)).status).to.equal(403)
    }
    const csrf =
      /name="csrf" value="([^"]+)"/.exec((await student.visit('/account')).text)?.[1] ?? ''
    expect((await student.post(page, { csrf, assistant: 'claude' })).status).to.equal(403)
    await operator.visit(page)
    expect((await operator.post(page, { assistant: 'claude' })).status).to.equal(403)
    expect((await press('no-such-assistant')).status).to.equal(404)
    expect(await made()).to.have.length(0)
  })

  it('says how operators connect their own, with the address that needs no client_id', async () => {
    const { text } = await operator.visit(`${page}/own`)
    expect(text).to.include(`${service.url}/mcp/admin`).and.include('northlight-admin')
    expect(text).not.to.include('/mcp/member').and.not.include('client-id')
    // Gemini CLI asks for what it is told and for no member scope.
    expect(text).to.include('courses:read').and.not.include('account:read')
  })

  it('shows on the page of any application how members use it, and what a library needs', async () => {
    const { text } = await operator.visit('/admin/northlight/applications/northlight-notes')
    const settings = text.slice(text.indexOf('id="settings"'))
    for (const value of [
      `<code>${service.url}</code>`,
      `${service.url}/.well-known/openid-configuration`,
      'S256',
      'ES256',
      'openid profile email account:read account:write',
      `${service.url}/mcp/member`,
      '<code>none</code>',
    ]) {
      expect(settings, value).to.include(value)
    }
    // Its callback is that of Claude Code and Codex, too, on a port that varies.
    expect(text).to.include('codex mcp add northlight').and.include('northlight-notes')
    const portal = await operator.visit('/admin/northlight/applications/northlight-portal')
    expect(portal.text).to.include('client_secret_post').and.not.include('codex mcp add')
  })
})

describe('/connect', () => {
  let service: RunningService
  let operator: PagePerson
  before(async () => {
    service = await startService()
    operator = makePagePerson(service.url, olivia)
    for (const assistant of ['claude-code', 'vscode']) {
      await operator.send(await operator.visit(page), page, { assistant })
    }
  })
  after(async () => await service[Symbol.asyncDispose]())

  const clientIdOf = async (assistant: string) => {
    const row = await service.service.stores.database.kysely
      .selectFrom('oauth_application')
      .select('client_id')
      .where('assistant', '=', assistant)
      .executeTakeFirstOrThrow()
    return row.client_id
  }

  it('is for everybody, without a script and without a cookie, and leads to the sites', async () => {
    const { status, text, headers } = await get(`${service.url}/connect`)
    expect(status).to.equal(200)
    expect(text).to.include('href="/connect/northlight"').and.include('Open Kitchen School')
    expect(text).to.include('client_id').and.not.include('<script')
    expect(headers.get('set-cookie')).to.equal(null)
    expect(headers.get('content-security-policy')).to.include("script-src 'none'")
  })

  it('finds a site by its short name, and says when there is none', async () => {
    const found = await fetch(`${service.url}/connect?site=%20Northlight%20`, {
      redirect: 'manual',
    })
    expect([found.status, found.headers.get('location')]).to.deep.equal([
      303,
      '/connect/northlight',
    ])
    for (const name of ['<b>nowhere</b>', 'x'.repeat(5000)]) {
      const none = await get(`${service.url}/connect?site=${name}`)
      expect(none.status, name).to.equal(404)
      expect(none.text).to.include('id="site-problem"').and.not.include('<b>nowhere')
    }
    expect((await get(`${service.url}/connect?site=`)).status).to.equal(200)
    // Nothing is looked for that no store keeps.
    expect((await get(`${service.url}/connect?site=north%00light`)).status).to.equal(400)
  })

  it('shows the steps of each assistant that the site has an application for', async () => {
    const { status, text } = await get(`${service.url}/connect/northlight`)
    expect(status).to.equal(200)
    expect(text).to.include('Connect an assistant to <bdi>Northlight Academy</bdi>')
    expect(
      [...text.matchAll(/<details class="card" id="([^"]+)"/g)].map(([, id]) => id),
    ).to.deep.equal(['claude-code', 'vscode'])
    const seen: Seen = { status, text, path: '' }
    expect(decoded(seen)).to.include(
      `claude mcp add --transport http --scope user --client-id ${await clientIdOf('claude-code')} --callback-port 8765 northlight ${service.url}/mcp/member`,
    )
    const href = /href="(vscode:[^"]+)"/.exec(text)?.[1] ?? ''
    expect(JSON.parse(decodeURIComponent(href.slice('vscode:mcp/install?'.length)))).to.deep.equal({
      name: 'northlight',
      type: 'http',
      url: `${service.url}/mcp/member`,
      oauth: { clientId: await clientIdOf('vscode') },
    })
    expect(text).to.include('One press is enough for Claude, ChatGPT, Cursor')
  })

  it('says what to tell the operator at a site that has none, and 404 at no site', async () => {
    const { text } = await get(`${service.url}/connect/open-kitchen`)
    expect(text).to.include('id="no-assistants"')
    expect(text).to.include(`${service.url}/admin/open-kitchen/assistants`)
    for (const name of ['nowhere', 'sit_northlight', 'north%00light', '%3Cscript%3E']) {
      const none = await get(`${service.url}/connect/${name}`)
      expect(none.status, name).to.equal(404)
    }
  })

  it('shows none that is disabled, deleted, or of a site that switched MCP connections off', async () => {
    const address = `/admin/northlight/applications/${await clientIdOf('vscode')}`
    const shown = async () =>
      [
        ...(await get(`${service.url}/connect/northlight`)).text.matchAll(
          /<details class="card" id="([^"]+)"/g,
        ),
      ].map(([, id]) => id)
    await operator.send(await operator.visit(`${address}/disable`), `${address}/disable`)
    expect(await shown()).to.deep.equal(['claude-code'])
    expect((await operator.visit(page)).text).to.include('Members cannot connect it at the moment')
    await operator.send(await operator.visit(address), `${address}/enable`)
    const off = '/admin/northlight/beta/off'
    await operator.send(await operator.visit(off), off)
    expect(await shown()).to.deep.equal([])
    await operator.send(await operator.visit('/admin/northlight/beta'), '/admin/northlight/beta/on')
    expect(await shown()).to.deep.equal(['claude-code', 'vscode'])
  })

  it('shows none whose application was changed so that the assistant cannot come back', async () => {
    const address = `/admin/northlight/applications/${await clientIdOf('vscode')}/edit`
    const edit = async (redirectUris: string) =>
      await operator.send(await operator.visit(address), address, {
        name: 'VS Code',
        redirect_uris: redirectUris,
        scope: ['account:read', 'account:write'],
      })
    await edit('https://elsewhere.example/callback')
    const seen = await get(`${service.url}/connect/northlight`)
    expect(seen.text).to.include('id="claude-code"').and.not.include('id="vscode"')
    await edit('https://vscode.dev/redirect')
    expect((await get(`${service.url}/connect/northlight`)).text).to.include('id="vscode"')
  })

  it('is reached from the welcome page and from the account, for each site', async () => {
    const welcome = await get(service.url)
    expect(welcome.text).to.include('href="/connect"')
    const student = makePagePerson(service.url, sam)
    expect((await student.visit('/account')).text).to.include('href="/connect/northlight"')
    expect(linkOf(await operator.visit(page), 'member-page')).to.equal(
      `${service.url}/connect/northlight`,
    )
  })

  it('writes a hostile name of a site as text, wherever it stands', async () => {
    await using hostile = await startService()
    const name = '</bdi><script>alert(1)</script>"\'`$(id)\\{url}'
    const { kysely } = hostile.service.stores.database
    await kysely.updateTable('site').set({ name }).where('id', '=', 'sit_northlight').execute()
    const person = makePagePerson(hostile.url, olivia)
    await person.send(await person.visit(page), page, { assistant: 'claude' })
    const texts = [
      (await get(`${hostile.url}/connect`)).text,
      (await get(`${hostile.url}/connect/northlight`)).text,
      (await person.visit(page)).text,
      (await person.visit(`${page}/own`)).text,
    ]
    for (const text of texts) {
      expect(text).not.to.include('<script').and.not.include('</bdi><script')
      expect(decoded({ text, status: 200, path: '' })).to.include(name)
    }
  })
})

function decoded({ text }: Seen): string {
  return text.replace(/&#(\d+);/g, (_all, code) => String.fromCharCode(Number(code)))
}
