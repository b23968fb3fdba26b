import { expect } from 'chai'

import { applicationKinds } from '../src/pages/applications/application-store.ts'
import { introspect, obtain, refresh } from './support/client.ts'
import { amir, marco, olivia, type RunningService, sam, startService } from './support/gatehouse.ts'
import {
  linkOf,
  makePagePerson,
  type PagePerson,
  type Seen,
  textOf,
} from './support/page-person.ts'
import { registerResourceServer } from './support/resource-servers.ts'
import { refusalOf } from './support/wire.ts'

const servers = '/admin/northlight/resource-servers'

describe('/admin/{site}/resource-servers', () => {
  let service: RunningService
  let operator: PagePerson
  before(async () => {
    service = await startService({
      policy: (policy) => ({ ...policy, storage: { ...policy.storage, usageFlushSeconds: 1 } }),
    })
    operator = makePagePerson(service.url, olivia)
  })
  after(async () => await service[Symbol.asyncDispose]())

  const register = async (name: string): Promise<Seen> =>
    await operator.send(await operator.visit(servers), servers, { name })

  const asks = async (token: string, page: Seen, secret: string) => {
    const fields = { client_id: textOf(page, 'client-id'), client_secret: secret }
    return await introspect(service.url, token, fields)
  }

  it('registers one, shows its secret once, and it is told of the tokens of the site', async () => {
    expect((await operator.visit('/admin/northlight/applications')).text).to.include(servers)
    const made = await register('  Library  API ')
    const secret = textOf(made, 'new-secret')
    expect(secret).to.match(/^[\w-]{43}$/)
    expect(textOf(made, 'client-id')).to.match(/^rs_[0-9a-f]{24}$/)
    expect(made.text).to.include('/api/oauth/introspect').and.include('/api/oauth/forward-auth')
    expect((await operator.visit(made.path)).text).not.to.include(secret)
    const { access_token } = await obtain(service.url)
    expect((await asks(access_token, made, secret)).body).to.include({
      ...{ active: true, sub: 'per_sam', org_id: 'sit_northlight', aud: service.url },
    })
    expect((await asks('nonsense', made, secret)).body).to.deep.equal({ active: false })
  })

  it('never becomes a client that authorizes anybody', async () => {
    const made = await register('Nosy')
    const client_id = textOf(made, 'client-id')
    const client_secret = textOf(made, 'new-secret')
    const { refresh_token } = await obtain(service.url)
    const answer = await refresh(service.url, refresh_token, { client_id, client_secret })
    expect(answer.status).to.be.oneOf([400, 401])
    const page = await fetch(
      `${service.url}/oauth/authorize?response_type=code&client_id=${client_id}&scope=openid`,
      { redirect: 'manual' },
    )
    expect(page.status).to.equal(400)
  })

  it('rotates the secret: two live at once, and the removed one is refused at the next request', async () => {
    const made = await register('Rotating')
    const path = made.path.split('?')[0] ?? ''
    const old = textOf(made, 'new-secret')
    const added = await operator.send(made, `${path}/secrets`)
    const fresh = textOf(added, 'new-secret')
    const { access_token } = await obtain(service.url)
    for (const secret of [old, fresh]) {
      expect((await asks(access_token, made, secret)).body.active).to.equal(true)
    }
    expect(added.text).not.to.include('id="add-secret"')
    const removeFirst = /class="remove-secret" href="([^"]+)"/.exec(added.text)?.[1] ?? ''
    const asked = await operator.visit(removeFirst)
    const removed = await operator.send(asked, removeFirst)
    expect(removed.text).to.include('The secret was removed.').and.not.include('remove-secret')
    expect(refusalOf(await asks(access_token, made, old))).to.equal('401 invalid_client')
    expect((await asks(access_token, made, fresh)).body.active).to.equal(true)
  })

  it('disables, enables and deletes one, each at the next request', async () => {
    const made = await register('Stoppable')
    const path = made.path.split('?')[0] ?? ''
    const secret = textOf(made, 'new-secret')
    const { access_token } = await obtain(service.url)
    const disabled = await operator.send(
      await operator.visit(linkOf(made, 'disable')),
      `${path}/disable`,
    )
    expect(disabled.text).to.include('disabled')
    expect(refusalOf(await asks(access_token, made, secret))).to.equal('401 invalid_client')
    await operator.send(disabled, `${path}/enable`)
    expect((await asks(access_token, made, secret)).body.active).to.equal(true)
    const gone = await operator.send(await operator.visit(linkOf(made, 'delete')), `${path}/delete`)
    expect(gone.text).to.include('The resource server was deleted.').and.not.include('Stoppable')
    expect(refusalOf(await asks(access_token, made, secret))).to.equal('401 invalid_client')
    expect((await operator.visit(path)).status).to.equal(404)
  })

  it('shows why one was refused, which it is not told', async () => {
    const made = await register('Refused')
    await asks('nonsense', made, 'a-wrong-secret')
    const deadline = Date.now() + 10_000
    let page = await operator.visit(linkOf(made, 'refusals'))
    while (!page.text.includes('invalid secret provided') && Date.now() < deadline) {
      page = await operator.visit(linkOf(made, 'refusals'))
    }
    expect(page.text).to.include('invalid secret provided').and.not.include('a-wrong-secret')
  })

  // [threat 17]
  it('writes every change into the audit trail, without the secret', async () => {
    const made = await register('Audited')
    const path = made.path.split('?')[0] ?? ''
    await operator.send(await operator.visit(linkOf(made, 'disable')), `${path}/disable`)
    await operator.send(await operator.visit(path), `${path}/enable`)
    await operator.send(await operator.visit(path), `${path}/secrets`)
    await operator.send(await operator.visit(linkOf(made, 'delete')), `${path}/delete`)
    const { kysely } = service.service.stores.database
    const rows = await kysely
      .selectFrom('audit_event')
      .selectAll()
      .where('subject_id', '=', textOf(made, 'client-id'))
      .execute()
    expect(rows.map(({ action }) => action)).to.have.members([
      'resource_server.create',
      'resource_server.disable',
      'resource_server.enable',
      'secret.add',
      'resource_server.delete',
    ])
    for (const row of rows) {
      expect(row).to.include({ subject_kind: 'resource_server', site_id: 'sit_northlight' })
      expect(JSON.stringify(row)).not.to.include(textOf(made, 'new-secret'))
    }
    expect((await operator.visit('/admin/northlight/audit')).text).to.include(
      'registered the resource server',
    )
  })

  it('says what is wrong with a name, and keeps what was typed', async () => {
    for (const [name, problem] of [
      [' ', 'Enter a name'],
      ['x'.repeat(81), '80 characters'],
      ['a\u202eb', 'invisible characters'],
    ] as const) {
      const page = await register(name)
      expect(page.status).to.equal(422)
      expect(page.text).to.include(problem).and.include('aria-invalid="true"')
    }
    expect((await register('<b>"bold"</b>')).text).not.to.include('<b>')
  })

  // [class tenant]
  it('is for the operators of this very site', async () => {
    const made = await registerResourceServer(service, 'sit_northlight')
    const page = `${servers}/${made.clientId}`
    for (const answers of [sam, marco]) {
      const person = makePagePerson(service.url, answers)
      expect((await person.visit(servers)).status).to.equal(403)
      expect((await person.visit(page)).status).to.equal(403)
    }
    const other = makePagePerson(service.url, amir)
    const foreign = `/admin/open-kitchen/resource-servers/${made.clientId}`
    const home = await other.visit('/admin/open-kitchen/resource-servers')
    expect(home.text).not.to.include(made.clientId)
    const csrf = /name="csrf" value="([^"]+)"/.exec(home.text)?.[1] ?? ''
    for (const path of ['', '/disable', '/delete', '/refusals', '/secrets/x/remove']) {
      expect((await other.visit(foreign + path)).status, path).to.equal(404)
    }
    for (const path of ['/disable', '/enable', '/delete', '/secrets', '/secrets/x/remove']) {
      expect((await other.post(foreign + path, { csrf })).status, path).to.equal(404)
      expect((await operator.post(page + path, {})).status, path).to.equal(403)
    }
    for (const clientId of ['demo-resource-server', 'northlight-notes']) {
      expect((await operator.visit(`${servers}/${clientId}`)).status).to.equal(404)
    }
    const asApplication = `/admin/northlight/applications/${made.clientId}`
    expect((await operator.visit(asApplication)).status).to.equal(404)
  })

  const { perSiteMax } = applicationKinds.resource_server
  it(`takes ${perSiteMax} of a site`, async () => {
    const other = makePagePerson(service.url, marco)
    const path = '/admin/open-kitchen/resource-servers'
    for (let made = 0; made < perSiteMax; made += 1) {
      await registerResourceServer(service, 'sit_open_kitchen')
    }
    const page = await other.send(await other.visit(path), path, { name: 'One more' })
    expect(page.status).to.equal(422)
    expect(page.text).to.include('Delete one first')
  })
})
