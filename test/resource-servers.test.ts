import { applicationKinds } from '../src/pages/applications/application-store.ts'
import { paths } from '../src/platform/http/paths.ts'
import { introspect, obtain } from './support/client.ts'
import { rowsOf } from './support/database.ts'
import { amir, marco, olivia, policyWith } from './support/gatehouse.ts'
import { hiddenField, makePagePerson, textOf } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { registerResourceServer } from './support/resource-servers.ts'
import { sharedService } from './support/storages.ts'
import { basic, bearer, expectAnswer, get, refusalOf } from './support/wire.ts'

const servers = '/admin/northlight/resource-servers'

describe('/admin/{site}/resource-servers', () => {
  const service = sharedService({ policy: policyWith({ storage: { usageFlushSeconds: 1 } }) })
  const operator = makePagePerson(() => service().url, olivia)

  async function register(name: string) {
    const page = await operator.submit(servers, { name })
    const path = page.path.split('?')[0] ?? ''
    const [client_id, secret] = [textOf(page, 'client-id'), textOf(page, 'new-secret')]
    const press = async (action: string, from = path) =>
      await operator.submit(from, {}, `${path}/${action}`)
    const ask = async (token: string, client_secret = secret) =>
      await introspect(service().url, token, { client_id, client_secret })
    return { page, path, client_id, secret, press, ask }
  }

  it('registers a resource server, shows its secret once, and introspects for it', async () => {
    expect((await operator.visit('/admin/northlight/applications')).text).to.include(servers)
    const { page, secret, client_id, ask } = await register('  Library  API ')
    expect(secret).to.match(/^[\w-]{43}$/)
    expect(client_id).to.match(/^rs_[0-9a-f]{24}$/)
    expect(page.text).to.include('/api/oauth/introspect').and.include('/api/oauth/forward-auth')
    expect((await operator.visit(page.path)).text).not.to.include(secret)
    const live = { active: true, sub: 'per_sam', org_id: 'sit_northlight', aud: service().url }
    expect((await ask((await obtain(service().url)).access_token)).body).to.include(live)
    expect((await ask('nonsense')).body).to.deep.equal({ active: false })
  })

  it('rotates the secret: two live at once, and a removed one is refused at once, with the reason for operators', async () => {
    const { path, secret: old, press, ask } = await register('Rotating')
    const added = await press('secrets')
    const fresh = textOf(added, 'new-secret')
    const { access_token } = await obtain(service().url)
    for (const secret of [old, fresh])
      expect((await ask(access_token, secret)).body.active).to.equal(true)
    expect(added.text).not.to.include('id="add-secret"')
    const removeFirst = /class="remove-secret" href="([^"]+)"/.exec(added.text)?.[1] ?? ''
    const removed = await operator.submit(removeFirst)
    expect(removed.text).to.include('The secret was removed.').and.not.include('remove-secret')
    expect(refusalOf(await ask(access_token, old))).to.equal('401 invalid_client')
    expect((await ask(access_token, fresh)).body.active).to.equal(true)
    await eventually(10_000, async () => {
      const { text } = await operator.visit(`${path}/refusals`)
      expect(text).to.include('invalid secret provided').and.not.include(old)
    })
  })

  // [threat 17]
  it('disables, enables and deletes at once, and records every change, without the secret', async () => {
    const { path, press, ask, client_id, secret } = await register('Stoppable')
    const { access_token } = await obtain(service().url)
    const proxy = ['X-Forward-Auth-Client', basic(client_id, secret)[1] ?? '']
    const forward = async () =>
      await get(service().url + paths.forwardAuth, [...proxy, ...bearer(access_token)])
    expect((await press('disable', `${path}/disable`)).text).to.include('disabled')
    expect(refusalOf(await ask(access_token))).to.equal('401 invalid_client')
    expect(refusalOf(await forward())).to.equal('400 invalid_client')
    await press('enable')
    expect((await ask(access_token)).body.active).to.equal(true)
    expect((await forward()).status).to.equal(200)
    await press('secrets')
    const gone = await press('delete', `${path}/delete`)
    expect(gone.text).to.include('The resource server was deleted.').and.not.include('Stoppable')
    expect(refusalOf(await ask(access_token))).to.equal('401 invalid_client')
    expect(refusalOf(await forward())).to.equal('400 invalid_client')
    expect((await operator.visit(path)).status).to.equal(404)
    const ofServer = { subject_kind: 'resource_server', subject_id: client_id } as const
    const rows = await rowsOf(service().kysely, 'audit_event', ofServer)
    const actions = ['create', 'disable', 'enable', 'delete'].map(
      (each) => `resource_server.${each}`,
    )
    expect(rows.map(({ action }) => action)).to.have.members([...actions, 'secret.add'])
    for (const row of rows) {
      expect(row).to.include({ site_id: 'sit_northlight' })
      expect(JSON.stringify(row)).not.to.include(secret)
    }
    const { text } = await operator.visit('/admin/northlight/audit')
    expect(text).to.include('registered the resource server')
  })

  // [class tenant]
  it('serves only the operators of the site', async () => {
    const { clientId } = await registerResourceServer(service(), 'sit_northlight')
    const other = makePagePerson(service().url, amir)
    const foreign = `/admin/open-kitchen/resource-servers/${clientId}`
    const home = await other.visit('/admin/open-kitchen/resource-servers')
    expect(home.text).not.to.include(clientId)
    for (const path of ['', '/disable', '/delete', '/refusals', '/secrets/x/remove'])
      expect((await other.visit(foreign + path)).status, path).to.equal(404)
    const csrf = hiddenField(home.text)
    for (const path of ['/disable', '/enable', '/delete', '/secrets', '/secrets/x/remove']) {
      expect((await other.post(foreign + path, { csrf })).status, path).to.equal(404)
      expect((await operator.post(`${servers}/${clientId}${path}`, {})).status, path).to.equal(403)
    }
    for (const path of [
      ...[`${servers}/demo-resource-server`, `${servers}/northlight-notes`],
      `/admin/northlight/applications/${clientId}`,
    ])
      expect((await operator.visit(path)).status, path).to.equal(404)
  })

  const { perSiteMax } = applicationKinds.resource_server
  it(`refuses a malformed name, and more than ${perSiteMax} for a site`, async () => {
    for (const [name, problem] of [
      [' ', 'Enter a name'],
      ['x'.repeat(81), '80 characters'],
      ['a\u202eb', 'invisible characters'],
    ] as const)
      expectAnswer(await operator.submit(servers, { name }), 422, problem, 'aria-invalid="true"')
    expect((await operator.submit(servers, { name: '<b>"bold"</b>' })).text).not.to.include('<b>')
    for (let made = 0; made < perSiteMax; made += 1)
      await registerResourceServer(service(), 'sit_open_kitchen')
    const path = '/admin/open-kitchen/resource-servers'
    const page = await makePagePerson(service().url, marco).submit(path, { name: 'One more' })
    expectAnswer(page, 422, 'Delete one first')
  })
})
