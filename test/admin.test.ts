import { exchange, refresh, userinfo } from './support/client.ts'
import { change, insert } from './support/database.ts'
import {
  amir,
  flushingSoon,
  marco,
  noor,
  olivia,
  sam,
  startService,
  startWith,
} from './support/gatehouse.ts'
import { hiddenField, linkOf, makePagePerson, matchesIn, textOf } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/storages.ts'
import { expectAnswer, expectText } from './support/wire.ts'

const applications = '/admin/northlight/applications'
const publicEntry = {
  name: 'Study Planner',
  redirect_uris: 'http://127.0.0.1/callback\nhttps://planner.example/callback',
  auth_method: 'none',
  scope: ['account:read', 'account:write'],
}
const confidentialEntry = {
  name: 'Study Server',
  redirect_uris: 'https://server.example/callback',
  auth_method: 'client_secret_post',
  scope: 'account:read',
}

describe('/admin', () => {
  const service = sharedService({ policy: flushingSoon })
  const operator = makePagePerson(() => service().url, olivia)

  async function create(entry: Record<string, string | string[]>) {
    const page = await operator.submit(`${applications}/new`, entry, applications)
    return { ...page, clientId: textOf(page, 'client-id'), secret: textOf(page, 'new-secret') }
  }

  // [class tenant; threat 16]
  it('answers 404 on every page and form for an unknown site or application, or one of another site', async () => {
    const unknown = await operator.visit('/admin/nowhere')
    expectAnswer(unknown, 404, '<a id="admin" class="button second" href="/admin">')
    for (const id of ['nothing', 'demo-resource-server'])
      expect((await operator.visit(`${applications}/${id}`)).status, id).to.equal(404)
    const person = makePagePerson(service().url, amir)
    const foreign = '/admin/open-kitchen/applications/northlight-notes'
    for (const page of ['', '/edit', '/people', '/refusals', '/disable', '/delete'])
      expect((await person.visit(foreign + page)).status, page).to.equal(404)
    const csrf = await person.csrf()
    for (const form of ['edit', 'delete', 'disable', 'enable', 'secrets', 'people/end-all'])
      expect((await person.post(`${foreign}/${form}`, { csrf })).status, form).to.equal(404)
  })

  it('refuses the forms of an operator of another site', async () => {
    const person = makePagePerson(service().url, marco)
    const csrf = await person.csrf()
    const notes = `${applications}/northlight-notes`
    const ofNotes = ['delete', 'disable', 'people/end-all'].map((form) => `${notes}/${form}`)
    for (const path of [...ofNotes, '/admin/northlight/beta/off', applications])
      expect((await person.post(path, { csrf })).status, path).to.equal(403)
    expect((await operator.visit(notes)).text).not.to.include('tag')
  })

  it('asks an operator of several sites which one, and sends others to theirs', async () => {
    const choice = await makePagePerson(service().url, amir).visit('/admin')
    expectText(choice.text, '/admin/northlight"', '/admin/open-kitchen"')
    expect((await operator.visit('/admin')).path).to.equal('/admin/northlight')
    expect((await makePagePerson(service().url, sam).visit('/admin')).status).to.equal(403)
  })

  it('finds a site by its id where its slug is a path of the service', async () => {
    await using old = await startService()
    await change(old.kysely, 'site', { id: 'sit_northlight' }, { slug: 'api' })
    const person = makePagePerson(old.url, olivia)
    const home = await person.visit('/admin')
    const path = '/admin/sit_northlight'
    expect(home).to.include({ status: 200, path })
    expect(home.text).to.include(`href="${path}/audit"`).and.not.include('"/admin/api')
    expect((await person.visit(`${path}/audit`)).status).to.equal(200)
    expect((await person.visit('/account')).text).to.include(`href="${path}"`)
    expect((await person.visit('/admin/api')).status).to.equal(404)
    expect((await makePagePerson(old.url, marco).visit(path)).status).to.equal(403)
  })

  // [What the service does 9]
  it('shows OAuth applications under Developers once the operator enables MCP connections', async () => {
    const person = makePagePerson(service().url, marco)
    const site = '/admin/open-kitchen'
    await person.submit(`${site}/beta/off`)
    expect((await person.visit(site)).text).not.to.include('/applications')
    expect((await person.visit(`${site}/applications`)).path).to.equal(`${site}/beta`)

    const on = await person.submit(`${site}/beta`, {}, `${site}/beta/on`)
    expect(on.text).to.include('id="beta-state"').and.include('On')
    const [, developers = ''] = (await person.visit(site)).text.split('>Developers</p>')
    expect(developers.split('</ul>')[0]).to.include(`href="${site}/applications"`)
    const audit = await person.visit(`${site}/audit`)
    expect(audit.text).to.match(/Marco Bellini.*switched MCP connections on.*Marco Bellini.*off/s)
  })

  // [RFC 6749 §3.1.2.1; RFC 6749 §3.1.2; RFC 9700 §2.6; RFC 8252 §7.1; RFC 8252 §8.4; 9]
  it('shows the problem of each field of a new application, keeps the input, and saves nothing', async () => {
    const countRows = async () => (await operator.visit(applications)).text.split('<tr>').length
    const before = await countRows()
    for (const [typed, field, words] of wrongEntries) {
      const page = await create({ ...publicEntry, ...typed })
      expect(page.status, words).to.equal(422)
      const problem = new RegExp(`id="${field}-problem".*?</(ul|p)>`, 's').exec(page.text)?.[0]
      expect(problem?.replaceAll(/<[^>]*>/g, ''), words).to.include(words)
      if (!('name' in typed)) expect(page.text).to.include('value="Study Planner"')
    }
    expect(await countRows()).to.equal(before)
  })

  it('shows each secret of an application once, and admits two at most, which both work until one is removed or expires', async () => {
    const { clientId, secret: first, path } = await create(confidentialEntry)
    expect(first).to.have.length(43)
    const imported = { id: 'sec_ended', client_id: clientId, digest: 'd', hint: 'gone' }
    await insert(service().kysely, 'client_secret', { ...imported, created_at: 0, expires_at: 1 })
    const again = await operator.visit(path)
    expectText(again.text, first.slice(-4), 'id="add-secret"')
    for (const hidden of ['new-secret', first, '<code>gone</code>'])
      expect(again.text).not.to.include(hidden)

    const csrf = hiddenField(again.text)
    const action = `${applications}/${clientId}/secrets`
    const answers = await Promise.all([0, 1, 2].map(() => operator.post(action, { csrf })))
    const secrets = answers.map((each) => textOf(each, 'new-secret')).filter(Boolean)
    expect(secrets).to.have.length(1)
    const client = { client_id: clientId, redirect_uri: confidentialEntry.redirect_uris }
    const errors = async () =>
      await Array.fromAsync([first, ...secrets], async (client_secret) => {
        return (await exchange(service().url, 'none', { ...client, client_secret })).body.error
      })
    const known = 'invalid_grant'
    expect(await errors()).to.deep.equal([known, known])
    const two = await operator.visit(path)
    expect(two.text).not.to.include('id="add-secret"')

    const removals = matchesIn(two.text, /class="remove-secret" href="([^"]+)"/g)
    expect(removals).to.have.length(2)
    const [older = '', newer = ''] = removals
    expect((await operator.submit(older)).text).to.include('The secret was removed.')
    expect((await operator.post(newer, { csrf })).status).to.equal(404)
    expect(await errors()).to.deep.equal(['invalid_client', known])
  })

  // [What the service does 8; What the service does 11]
  it('gives a client_id with which members sign in, lists them, and ends the access of one or of all', async () => {
    const page = await create({ ...publicEntry, name: 'Shared' })
    expect(page.text).to.include('The application was created.').and.not.include('new-secret')
    const { clientId } = page
    const scope = 'openid account:read account:write'
    const asking = { clientId, redirectUri: 'http://127.0.0.1:1/callback', scope }
    for (const person of [sam, noor, amir]) {
      const { tokens } = await getTokens(service().url, { ...asking, person })
      expect(tokens.scope).to.equal(scope)
    }
    const people = await operator.visit(`${applications}/${clientId}/people`)
    expectText(people.text, 'Sam Student', 'Noor van Dijk', 'Amir Haddad')
    const ended = await operator.submit(`${people.path}/per_sam/end`)
    expect(ended.text).to.include('The access was ended.')
    const all = await operator.visit(linkOf(people, 'remove-all'))
    expect(all.text).to.include('the 2 people who connected it')
    expect((await operator.send(all, all.path)).text).to.include('id="no-people"')
  })

  it('lists applications with their use and state, and finds them by name', async () => {
    const { clientId } = await create({ ...publicEntry, name: 'Table 100% Club' })
    const asking = { clientId, redirectUri: 'http://127.0.0.1:1/callback', person: noor }
    await userinfo(service().url, (await getTokens(service().url, asking)).tokens.access_token)
    await refresh(service().url, 'unknown', { client_id: clientId })
    const rowOf = async (search: string) => {
      const { text } = await operator.visit(`${applications}?search=${encodeURIComponent(search)}`)
      return text.split('<tr>').find((row) => row.includes(clientId)) ?? ''
    }
    await eventually(10_000, async () => {
      const cells = [...(await rowOf('0% c')).matchAll(/<td[^>]*>(.*?)<\/td>/g)]
      const texts = cells.map(([, cell = '']) => cell.replaceAll(/<[^>]*>/g, ''))
      expect(texts).to.match(/^public,1,.* UTC,1,on$/)
    })
    expect(await rowOf('Portal')).to.equal('')
    const none = await operator.visit(`${applications}?search=%25%25`)
    expect(none.text).to.include('No matching applications')
  })

  it('does not let two applications of a site have the same name', async () => {
    const only = { ...publicEntry, name: 'Only One' }
    const page = await create(only)
    const again = await create({ ...confidentialEntry, name: 'only one' })
    const other = await create({ ...publicEntry, name: 'Another One' })
    const renamed = await operator.submit(`${other.path.split('?')[0]}/edit`, only)
    for (const seen of [again, renamed])
      expectAnswer(seen, 422, 'Another application has this name.')
    await operator.submit(`${page.path.split('?')[0]}/delete`)
    expect((await create(only)).status).to.equal(200)
  })

  // [class leak]
  it('shows who changed what, with before and after, and never a secret', async () => {
    const page = await create({ ...confidentialEntry, name: 'Audited' })
    const edit = await operator.visit(linkOf(page, 'edit'))
    const changed = { ...confidentialEntry, name: 'Renamed', scope: [] as string[] }
    await operator.send(edit, edit.path, changed)
    const { text } = await operator.visit('/admin/northlight/audit')
    const entry = text.split('<tr><th scope="row">')[1] ?? ''
    expectText(entry, 'Olivia Hartmann', 'changed the application')
    expect(entry).to.match(/<del><bdi>Audited<.*<bdi>Renamed<.*<del><bdi>account:read.*none</s)
    expect(entry).to.not.include('redirectUris')
    expect(text).not.to.include(page.secret)
  })

  it('lets operators review metadata documents, and records it', async () => {
    await using own = await startWith({ metadataDocuments: { openRegistration: true } })
    const client = 'https://planner.example/client.json'
    const document = {
      ...{ name: 'Planner', redirectUris: ['https://planner.example/callback'] },
      ...{ grantTypes: ['authorization_code'], applicationType: 'web', authMethods: ['none'] },
    }
    await insert(own.kysely, 'document_client', {
      ...{ client_id: client, document: JSON.stringify(document), fingerprint: 'f' },
      ...{ first_seen_at: 1, fetched_at: Date.now(), fresh_until: Date.now() },
    })
    const person = makePagePerson(own.url, olivia)
    await insert(own.kysely, 'oauth_grant', {
      ...{ id: 'used', person_id: 'per_sam', client_id: client, client_name: 'Planner' },
      ...{ client_origin: 'document', site_id: 'sit_northlight', allowed: '{}' },
      ...{ granted_at: 1, expires_at: 1 },
    })
    const textOfPage = async (path: string) => (await person.visit(path)).text
    const home = '/admin/northlight'
    const list = `${home}/self-declared-clients`
    const query = `client=${encodeURIComponent(client)}`
    expect(await textOfPage(home)).to.include('1 connected app is not reviewed')
    expect(await textOfPage(list)).to.match(/Planner.*not reviewed/s)
    for (const review of ['approved', 'blocked']) {
      const done = await person.submit(`${list}/${review}?${query}`, {}, `${list}/${review}`)
      expect(done.text).to.include(`was ${review}`)
    }
    expect(await textOfPage(home)).not.to.include('not reviewed')
    // A decision applies only to the version of the document that the page showed.
    const address = `${list}/approved`
    const open = await person.visit(`${address}?${query}`)
    expect(open.text).to.match(/Approve.*Planner.*planner\.example\/callback/s)
    expect(open.text).not.to.include('name="for"')
    const impostor = JSON.stringify({ ...document, name: 'Impostor' })
    await change(own.kysely, 'document_client', {}, { document: impostor, fingerprint: 'g' })
    const again = await person.send(open, address)
    expectAnswer(again, 409, /Impostor.*Nothing was decided/s)
    expect(await textOfPage(list)).to.match(/Impostor.*blocked/s)
    const forged = { for: 'all', fingerprint: 'g' }
    expect((await person.send(open, address, forged)).status).to.equal(403)
    expect((await person.send(again, address)).text).to.include('was approved')
    expect(await textOfPage(list)).to.match(/Impostor.*approved.*for this school/s)
    await insert(own.kysely, 'platform_reviewer', { person_id: 'per_olivia', granted_at: 1 })
    expect((await person.send(open, address, { for: 'all' })).status).to.equal(409)
    const forAll = await person.visit(`${address}?${query}`)
    expect(forAll.text).to.include('Every school')
    expect((await person.send(forAll, address, { for: 'all' })).text).to.include('for every school')
    const approval = /Olivia Hartmann.*approved.*planner\.example.*every site.*blocked/s
    expect(await textOfPage(`${home}/audit`)).to.match(approval)
    const student = makePagePerson(own.url, sam)
    const sent = { csrf: await student.csrf(), client }
    expect((await student.post(address, sent)).status).to.equal(403)
    const unknown = await person.visit(`${address}?client=https%3A%2F%2Fa.example%2Fc`)
    expect(unknown.status).to.equal(404)
  })
})

const confidentialApp = { redirect_uris: 'com.example.app:/cb', auth_method: 'client_secret_post' }
const wrongEntries: [Record<string, string | string[]>, string, string][] = [
  [{ name: '  ' }, 'name', 'Enter a name'],
  [{ name: 'x'.repeat(81) }, 'name', '80 characters'],
  [{ name: 'Study\u202eplanner' }, 'name', 'invisible characters'],
  [{ name: '\u3164' }, 'name', 'invisible characters'],
  [{ name: 'Study\u2028planner' }, 'name', 'invisible characters'],
  [{ name: `Study${'\u0338'.repeat(30)}` }, 'name', 'invisible characters'],
  [{ redirect_uris: '' }, 'redirect-uris', 'at least one'],
  [{ redirect_uris: 'planner' }, 'redirect-uris', 'not an address'],
  [{ redirect_uris: 'http://planner.example/cb' }, 'redirect-uris', 'must begin with https://'],
  [{ redirect_uris: 'https://127.0.0.1/cb' }, 'redirect-uris', 'must begin with http://'],
  [{ redirect_uris: 'https://planner.example/cb#x' }, 'redirect-uris', 'after #'],
  [{ redirect_uris: 'https://me@planner.example/' }, 'redirect-uris', 'user name'],
  [{ redirect_uris: 'https://*.planner.example/' }, 'redirect-uris', 'wildcard'],
  [{ redirect_uris: 'http://2130706433/cb' }, 'redirect-uris', 'Write'],
  [{ redirect_uris: 'https://planner.example/a/../b' }, 'redirect-uris', 'Write'],
  [{ redirect_uris: 'javascript:alert(1)' }, 'redirect-uris', 'com.example.app'],
  [{ redirect_uris: 'planner:/cb' }, 'redirect-uris', 'com.example.app'],
  [confidentialApp, 'redirect-uris', 'cannot keep a secret'],
  [{ redirect_uris: 'https://a.example/\nhttps://a.example/' }, 'redirect-uris', 'twice'],
  [{ auth_method: 'private_key_jwt' }, 'kind', 'keep a secret'],
  [{ scope: 'courses:read' }, 'scopes', 'listed scopes'],
]
