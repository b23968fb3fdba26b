import { checkEntry } from '../src/pages/applications/application-form.ts'
import { paths } from '../src/platform/http/paths.ts'
import {
  askToAuthorize,
  errorOf,
  exchange,
  getCode,
  introspect,
  obtain,
  refresh,
} from './support/client.ts'
import { change, insert, remove, rowOf, rowsOf } from './support/database.ts'
import { amir, marco, notes, olivia, type RunningService, sam } from './support/gatehouse.ts'
import { importRecords } from './support/import.ts'
import { makePagePerson, textOf } from './support/page-person.ts'
import { rejection } from './support/rejection.ts'
import { forEachDatabase, sharedService } from './support/storages.ts'
import { postJson } from './support/wire.ts'

const DAY_MS = 86_400_000
const list = '/admin/northlight/applications'
const form = `${list}/new?kind=operator`
const redirect_uri = 'https://school.example/callback'
const chosen = ['courses:read', 'courses:write']
const scope = `openid ${chosen.join(' ')}`
let created = 0
/** Application names are unique within a site. */
const makeEntry = () => {
  created += 1
  return { name: `School server ${created}`, redirect_uris: redirect_uri, scope: chosen }
}
const site = 'sit_northlight'
const createdAt = '2026-01-01T00:00:00Z'

async function create({ url }: RunningService, more: Record<string, string | string[]> = {}) {
  const owner = makePagePerson(url, olivia)
  const entry = makeEntry()
  const made = await owner.submit(form, { ...entry, ...more }, list)
  const clientId = textOf(made, 'client-id')
  const client = { client_id: clientId, client_secret: textOf(made, 'new-secret') }
  const asks = { client_id: clientId, redirect_uri, scope, resource: url }
  return { owner, made, clientId, client, asks, page: `${list}/${clientId}`, entry }
}

type Application = Awaited<ReturnType<typeof create>>

async function connect({ url }: RunningService, { client, asks }: Application) {
  const token = { ...client, redirect_uri }
  return await obtain(url, { authorization: asks, token, person: olivia })
}

const askAdmin = async (url: string, token: string, query = '{ courses { totalCount } }') =>
  await postJson(url + paths.adminGraphql, { query }, { token })

forEachDatabase('an application that acts for an owner (design 40)', (start) => {
  const running = sharedService({ demandsApprovals: true }, start)
  const statusOf = async (token: string) => (await askAdmin(running().url, token)).status

  it('is a confidential client with the chosen operator scopes, marked as powerful', async () => {
    const { url, kysely } = running()
    const app = await create(running())
    const { owner, made, clientId, page } = app
    expect(made.text).to.include('This application is powerful.').and.include('courses:write')
    expect((await owner.visit(list)).text).to.include('acts for an owner')
    expect((await owner.visit(`${page}/set-up`)).text).to.include(paths.mcpAdmin)
    const tokens = await connect(running(), app)
    expect(tokens.scope.split(' ')).to.have.members(scope.split(' '))
    const { courses } = (await askAdmin(url, tokens.access_token)).body.data
    expect(courses.totalCount).to.be.above(0)
    // The application needs no approval to publish, because an owner registered it (decision 23).
    const mutate = async (query: string) => (await askAdmin(url, tokens.access_token, query)).body
    const draft = 'slug: "hills", title: "Hills", summary: "Hills."'
    const { data } = await mutate(`mutation { createCourse(input: {${draft}}) { course { id } } }`)
    const { id } = data.createCourse.course
    const published = await mutate(`mutation { publishCourse(id: "${id}") { course { id } } }`)
    expect(published.errors, JSON.stringify(published)).to.equal(undefined)
    const grant = await rowOf(kysely, 'oauth_grant', { client_id: clientId })
    expect(grant).to.include({ client_origin: 'operator', person_id: 'per_olivia', site_id: site })
    const created = { action: 'application.create', subject_id: clientId }
    const event = await rowOf(kysely, 'audit_event', created)
    expect(JSON.parse(event.after ?? '')).to.include({ actsForOwner: true, endless: false })
  })

  it('ends with the role of the owner who allowed it, also if the role returns [440]', async () => {
    const service = running()
    const { kysely } = service
    const ofOlivia = { person_id: 'per_olivia', site_id: site, granted_at: 1 }
    await insert(kysely, 'site_role', { ...ofOlivia, person_id: 'per_amir', role: 'owner' })
    const app = await create(service)
    for (const [how, end] of Object.entries({
      'a page': async () => {
        const member = '/admin/northlight/people/per_olivia'
        await makePagePerson(service.url, amir).submit(member, { role: 'admin' }, `${member}/roles`)
      },
      'an import': async () => {
        const { email, name } = await rowOf(kysely, 'person', { id: 'per_olivia' })
        const roles = [{ site, role: 'admin', grantedAt: createdAt }]
        const record = { type: 'person', id: 'per_olivia', email, name, createdAt, roles }
        await importRecords(service.service.stores.database, [record])
      },
    })) {
      const { access_token, refresh_token } = await connect(service, app)
      expect(await statusOf(access_token), how).to.equal(200)
      await end()
      const events = await rowsOf(kysely, 'audit_event', { action: 'grant.end' })
      const ended = { event_type: 'application.disconnected', site_id: site }
      expect(events.at(-1), how).to.include(ended)
      expect(await statusOf(access_token), how).to.equal(401)
      await remove(kysely, 'site_role', { person_id: 'per_olivia' })
      for (const role of ['owner', 'admin'] as const)
        await insert(kysely, 'site_role', { ...ofOlivia, role })
      expect(await statusOf(access_token), how).to.equal(401)
      const { body } = await refresh(service.url, refresh_token, app.client)
      expect(body.error, how).to.equal('invalid_grant')
    }
    // Removing a role directly in the database ends no grant, but each use checks the role.
    const { access_token } = await connect(service, app)
    await remove(kysely, 'site_role', { person_id: 'per_olivia', role: 'owner' })
    expect(await statusOf(access_token)).to.equal(401)
    await insert(kysely, 'site_role', { ...ofOlivia, role: 'owner' })
  })

  it('ends after 90 days or, if the owner chooses so, 30 days after the last use; the choice can be undone', async () => {
    const clock = { ms: Date.now() }
    await using service = await start({ now: () => clock.ms })
    const { url, kysely } = service
    // Create both before the clock moves: sign-in to our own pages fails if the clock is far ahead of the engine's.
    const [usual, app] = [await create(service), await create(service, { endless: 'yes' })]
    const refreshFor200Days = async (each: Application) => {
      let { refresh_token } = await connect(service, each)
      for (let day = 0; day < 200; day += 20) {
        clock.ms += 20 * DAY_MS
        const { status, body } = await refresh(url, refresh_token, each.client)
        if (status !== 200) return body.error
        refresh_token = body.refresh_token
      }
      return refresh_token
    }
    expect(await refreshFor200Days(usual)).to.equal('invalid_grant')
    const { body } = await refresh(url, await refreshFor200Days(app), app.client)
    expect((await askAdmin(url, body.access_token)).status).to.equal(200)
    expect((await introspect(url, body.refresh_token, app.client)).body.active).to.equal(true)
    const grant = await rowOf(kysely, 'oauth_grant', { client_id: app.clientId })
    const [family] = await rowsOf(kysely, 'refresh_token_family', { grant_id: grant.id })
    for (const end of [grant.expires_at, family?.kept_until])
      expect(Number(end)).to.be.above(clock.ms + 30 * DAY_MS)
    clock.ms += 31 * DAY_MS
    const late = await refresh(url, body.refresh_token, app.client)
    expect(late.body.error).to.equal('invalid_grant')
    const kept = await refreshFor200Days(app)
    await change(kysely, 'oauth_application', { client_id: app.clientId }, { endless_at: null })
    expect((await refresh(url, kept, app.client)).body.error).to.equal('invalid_grant')
  })
})

describe('an application that acts for an owner, against people with less power', () => {
  const running = sharedService()

  it('is neither created nor changed by an admin, who may disable and delete it [441]', async () => {
    const { url, kysely } = running()
    const app = await create(running())
    const admin = makePagePerson(url, amir)
    expect((await admin.visit(list)).text).to.not.include('new-operator-application')
    expect((await admin.visit(form)).status).to.equal(403)
    const entry = { ...makeEntry(), auth_method: 'operator' }
    expect((await admin.submit(`${list}/new`, entry, list)).status).to.equal(403)
    const stolen = { ...app.entry, redirect_uris: 'https://evil.example/callback' }
    expect((await admin.submit(`${app.page}/edit`, stolen)).status).to.equal(403)
    expect((await admin.submit(app.page, {}, `${app.page}/secrets`)).status).to.equal(403)
    expect((await admin.submit(`${app.page}/disable`)).status).to.equal(200)
    expect((await admin.submit(app.page, {}, `${app.page}/enable`)).status).to.equal(403)
    expect(await rowsOf(kysely, 'client_secret', { client_id: app.clientId })).to.have.length(1)
  })

  it('is not connected by an admin, a member or an owner of another site [442]', async () => {
    const { url } = running()
    const app = await create(running())
    for (const person of [amir, sam, marco]) {
      const failed = await rejection(getCode(url, app.asks, person))
      expect(failed.message, person.login).to.include('access_denied')
    }
    expect((await makePagePerson(url, marco).visit(app.page)).status).to.be.oneOf([403, 404])
  })

  it('gets no scopes other than the chosen ones, and no member scopes [443]', async () => {
    const { url } = running()
    const app = await create(running())
    for (const more of ['students:read', 'account:read', 'curriculum:write']) {
      const answer = await askToAuthorize(url, { ...app.asks, scope: `${scope} ${more}` })
      expect(errorOf(answer), more).to.equal('invalid_scope')
    }
    const elsewhere = { ...app.asks, redirect_uri: 'http://school.example/callback' }
    expect((await askToAuthorize(url, elsewhere)).status).to.equal(400)
    const code = await getCode(url, app.asks, olivia)
    const withoutSecret = { client_id: app.clientId, redirect_uri }
    expect((await exchange(url, code, withoutSecret)).status).to.equal(401)
  })

  for (const [what, typed, field] of [
    ['an http address', { redirectUris: 'http://school.example/callback' }, 'redirectUris'],
    ['a loopback address', { redirectUris: 'http://127.0.0.1/callback' }, 'redirectUris'],
    ['the scheme of an app', { redirectUris: 'com.example.app:/callback' }, 'redirectUris'],
    ['no scope', { scopes: [] }, 'scopes'],
    ['a scope of members', { scopes: ['account:read'] }, 'scopes'],
  ] as const) {
    it(`is not created with ${what} [444]`, () => {
      const good = { name: 'Server', redirectUris: redirect_uri, postLogoutRedirectUris: '' }
      const entry = { ...good, authMethod: 'operator', scopes: chosen, ...typed }
      const checked = checkEntry(entry, { loopbackHosts: ['127.0.0.1'], appSchemes: ['cursor:'] })
      const problems = checked.kind === 'bad' ? Object.entries(checked.problems) : []
      const wrong = problems.filter(([, problem]) => problem).map(([name]) => name)
      expect(wrong).to.deep.equal([field])
    })
  }

  /** Imports a valid application with each of these changes. Returns the rejected lines. */
  const importChanged = async (...changes: readonly object[]) => {
    const application = {
      ...{ type: 'application', clientId: 'school-server', kind: 'site', site, name: 'School' },
      ...{ authMethod: 'client_secret_post', applicationType: 'web', secret: 'x'.repeat(43) },
      ...{ redirectUris: [redirect_uri], scopes: chosen, operatorAt: createdAt, createdAt },
    }
    const records = changes.map((change) => ({ ...application, ...change }))
    return (await importRecords(running().service.stores.database, records)).rejected
  }

  it('is exported and imported with its kind, and only as it could be created [445]', async () => {
    const rejected = await importChanged(
      {},
      { operatorAt: null },
      { scopes: ['account:read'] },
      { redirectUris: ['http://127.0.0.1/callback'] },
      { authMethod: 'none', secret: null },
      { operatorAt: null, scopes: ['account:read'], endlessAt: createdAt },
    )
    expect(rejected.map(({ line, problem }) => `${line} ${problem.split(':', 1)}`)).to.deep.equal([
      ...['2 scopes', '3 scopes', '4 operatorAt', '5 operatorAt', '6 endlessAt'],
    ])
  })

  it('cannot be made from an application that people have connected, or the other way around [446]', async () => {
    const app = await create(running())
    const { clientId } = app
    await connect(running(), app)
    await obtain(running().url)
    const problems = async () => {
      const rejected = await importChanged(
        { clientId: notes.clientId, name: notes.clientId },
        { clientId, name: clientId, operatorAt: null, scopes: ['account:read'] },
      )
      return rejected.map(({ problem }) => problem.split(':', 1)[0])
    }
    expect(await problems()).to.deep.equal(['operatorAt', 'operatorAt'])
    const unmarked = { clientId, name: 'X', operatorAt: undefined }
    const rejected = await importChanged(
      { ...unmarked, authMethod: 'none', secret: undefined, scopes: ['account:read'] },
      { ...unmarked, kind: 'resource_server', redirectUris: undefined, scopes: undefined },
    )
    const required =
      'operatorAt: is required because the stored application acts for an owner; add it to the line'
    expect(rejected.map(({ problem }) => problem)).to.deep.equal([required, required])
    await change(running().kysely, 'oauth_grant', {}, { ended_at: 1 })
    expect(await problems()).to.deep.equal([])
  })
})
