import { expect } from 'chai'

import {
  findAdminSite,
  listOperatedSites,
  switchMcpConnections,
} from '../src/directory/sites/site-admin.ts'
import { removeApp } from '../src/oauth/grants/end-grants.ts'
import { makeFamilyStore } from '../src/oauth/grants/family-store.ts'
import { makeFindGrant } from '../src/oauth/grants/find-grant.ts'
import { makeGrantLists } from '../src/oauth/grants/grant-lists.ts'
import { makeGrantStore, type NewGrant } from '../src/oauth/grants/grant-store.ts'
import { makeGrantUsage } from '../src/oauth/grants/grant-usage.ts'
import { checkEntry } from '../src/pages/applications/application-form.ts'
import { findApplication, listApplications } from '../src/pages/applications/application-lists.ts'
import { makeApplicationSecrets } from '../src/pages/applications/application-secrets.ts'
import { makeApplicationStore } from '../src/pages/applications/application-store.ts'
import {
  makeRefusedRequests,
  REFUSALS_PER_CLIENT,
} from '../src/pages/applications/refused-requests.ts'
import {
  findConnectableSite,
  listAssistantApplications,
  listConnectableSites,
} from '../src/pages/assistants/connect-routes.ts'
import { listEvents } from '../src/platform/audit/audit-list.ts'
import type { Database } from '../src/platform/store/database.ts'
import { cleanUpAt } from './support/clean-up.ts'
import { withDatabases } from './support/database.ts'

const DAY_MS = 86_400_000
const now = 1_800_000_000_000
const actor = { personId: 'olivia', requestId: 'req', now }
const page = { first: 20, after: undefined }

withDatabases('grants and applications', (open) => {
  let database: Database
  let clock = now
  beforeEach(async () => {
    clock = now
    database = await open()
    const { kysely } = database
    const person = { picture: null, password_hash: null, disabled_at: null, created_at: 1 }
    await kysely
      .insertInto('person')
      .values(
        ['olivia', 'sam', 'noor'].map((id) => ({
          ...person,
          id,
          name: id,
          email: `${id}@x.example`,
          email_canonical: `${id}@x.example`,
        })),
      )
      .execute()
    const site = { id: 'north', slug: 'north', name: 'North', created_at: 1 }
    await kysely.insertInto('site').values(site).execute()
    const role = { site_id: 'north', granted_at: 1 }
    await kysely
      .insertInto('site_role')
      .values([
        { ...role, person_id: 'olivia', role: 'owner' },
        { ...role, person_id: 'olivia', role: 'lecturer' },
        { ...role, person_id: 'sam', role: 'student' },
      ])
      .execute()
  })
  afterEach(async () => await database[Symbol.asyncDispose]())

  const time = () => clock
  const EXPIRY_DAYS = 100
  const grantSeconds = (EXPIRY_DAYS * DAY_MS) / 1000
  const grant: NewGrant = {
    id: 'g1',
    personId: 'sam',
    clientId: 'planner',
    clientName: 'Planner',
    clientOrigin: 'integration',
    siteId: 'north',
    documentFingerprint: undefined,
    allowed: { openid: { scope: 'openid' } },
  }
  const allowing = (...scopes: string[]) => ({ allowed: { openid: { scope: scopes.join(' ') } } })
  const begin = async (id: string) =>
    await makeFamilyStore(database).begin({
      ...{
        id,
        grantId: 'g1',
        seed: 'seed',
        token: { scopes: ['openid'], audience: 'https://gatehouse.example', refreshes: true },
      },
      ...{ startedAt: clock, issuedAt: clock, keptUntil: clock + EXPIRY_DAYS * DAY_MS },
    })
  const makeStore = () => makeGrantStore(database, grantSeconds, time)
  const cleanUp = async () => await cleanUpAt(database, clock)
  const save = async (...changes: Partial<NewGrant>[]) => {
    const store = makeStore()
    for (const change of changes) await store.save({ ...grant, ...change })
    return store
  }
  const find = makeFind()
  function makeFind() {
    const admitted = { integrations: new Set<string>(), admitsOrigin: () => true }
    return async (id: string) => (await makeFindGrant(database, admitted)({ grantId: id }))?.grant
  }

  it('one line for each client and site, from however many browsers, with all of its scopes', async () => {
    await save({}, { id: 'g2', ...allowing('openid', 'email') }, { id: 'g3', siteId: undefined })
    await save(allowing('openid', 'profile'), { id: 'own', clientOrigin: 'first_party' })
    const { rows } = await makeGrantLists(database, time).listApps('sam', page)
    expect(rows.map(({ site }) => site?.name)).to.have.members(['North', undefined])
    const scopes = rows.find(({ site }) => site)?.scopes
    expect(scopes).to.have.members(['openid', 'email', 'profile'])
  })

  it('never brings a grant back that was ended while it was being saved', async () => {
    const store = await save({})
    expect(await store.end({ id: 'g1' }, 'the person removed it')).to.deep.equal(['g1'])
    await store.save({ ...grant, ...allowing('openid', 'profile') })
    await store.prolong({ id: 'g1', expiresAt: 1 })
    expect(await find('g1')).to.deep.include({
      endedBecause: 'the person removed it',
      allowed: grant.allowed,
      expiresAt: now + EXPIRY_DAYS * DAY_MS,
    })
    expect(await store.end({ id: 'g1' }, 'the client revoked it'), 'it ends once').to.deep.equal([])
  })

  it('a grant is one row: site and fingerprint are columns, and what is allowed is kept by resource', async () => {
    const allowed = {
      openid: { scope: 'openid profile', claims: ['email'] },
      resources: { 'https://gatehouse.example': 'openid courses:read' },
      rejected: { openid: { scope: 'email' } },
    }
    await save({ allowed, documentFingerprint: 'f' })
    expect(await find('g1')).to.deep.equal({
      id: 'g1',
      personId: 'sam',
      clientId: 'planner',
      clientOrigin: 'integration',
      siteId: 'north',
      documentFingerprint: 'f',
      allowed,
      grantedAt: now,
      expiresAt: now + EXPIRY_DAYS * DAY_MS,
      endedBecause: undefined,
    })
  })

  it('its end moves on by a day at least, and families of refresh tokens are rows below it', async () => {
    const store = await save({})
    const ends = now + EXPIRY_DAYS * DAY_MS
    clock = now + DAY_MS - 1
    await store.prolong({ id: 'g1', expiresAt: ends })
    expect((await find('g1'))?.expiresAt).to.equal(ends)
    clock = now + DAY_MS
    await store.prolong({ id: 'g1', expiresAt: ends })
    expect((await find('g1'))?.expiresAt).to.equal(ends + DAY_MS)
    expect([await begin('f1'), await begin('f2'), await begin('f1')]).to.deep.equal([
      true,
      true,
      false,
    ])
    const families = await database.kysely.selectFrom('refresh_token_family').selectAll().execute()
    expect(families.map(({ id, grant_id }) => [id, grant_id])).to.have.deep.members([
      ['f1', 'g1'],
      ['f2', 'g1'],
    ])
  })

  it('keeps what two pages of one browser consented to at the same moment', async () => {
    const store = await save(allowing('openid'))
    const resource = 'https://gatehouse.example'
    await Promise.all([
      store.save({ ...grant, ...allowing('openid', 'email') }),
      store.save({ ...grant, allowed: { resources: { [resource]: 'courses:read' } } }),
    ])
    const { allowed } = (await find('g1')) ?? {}
    expect(allowed?.openid?.scope?.split(' ')).to.have.members(['openid', 'email'])
    expect(allowed?.resources).to.deep.equal({ [resource]: 'courses:read' })
  })

  it('ends every grant of an application that very many people use, and lists nobody afterwards', async () => {
    const store = await save({})
    const grants = Array.from({ length: 2500 }, (_none, number) => ({
      ...{ id: `many${number}`, person_id: 'sam', client_id: 'planner', client_name: 'Planner' },
      ...{ client_origin: 'integration', allowed: '{}', granted_at: now, expires_at: now + DAY_MS },
    }))
    for (let first = 0; first < grants.length; first += 500) {
      const rows = grants.slice(first, first + 500)
      await database.kysely.insertInto('oauth_grant').values(rows).execute()
    }
    const ended = await store.end({ clientId: 'planner' }, 'an operator ended it')
    expect(new Set(ended).size).to.equal(2501)
    const people = await makeGrantLists(database, time).listPeople('planner', page)
    expect(people.rows).to.deep.equal([])
    expect(people.hasNextPage).to.equal(false)
  })

  it('ends once, for one reason, when two end it at the same moment', async () => {
    const store = await save({})
    const { personId, clientId } = grant
    const endings = await Promise.all([
      store.end({ clientId, personId }, 'an operator ended it'),
      store.end({ clientId }, 'the application was deleted'),
      store.end({ id: 'g1' }, 'the client revoked it'),
    ])
    expect(endings.flat()).to.deep.equal(['g1'])
    const reasons = ['an operator ended it', 'the application was deleted', 'the client revoked it']
    const { endedBecause } = (await find('g1')) ?? {}
    expect(endedBecause).to.equal(reasons[endings.findIndex(({ length }) => length === 1)])
  })

  it('no line after it expired, and no row after the next clean-up', async () => {
    await save({})
    clock = now + EXPIRY_DAYS * DAY_MS
    const { rows } = await makeGrantLists(database, time).listApps('sam', page)
    expect(rows).to.deep.equal([])
    await cleanUp()
    expect(await find('g1')).to.equal(undefined)
  })

  it('a family is forgotten when none of its tokens can live any more, and its grant goes on', async () => {
    const store = await save({})
    await begin('early')
    clock = now + EXPIRY_DAYS * DAY_MS - 1
    await store.prolong({ id: 'g1', expiresAt: clock + 1 })
    await begin('late')
    clock += 2
    await cleanUp()
    const families = await database.kysely.selectFrom('refresh_token_family').selectAll().execute()
    expect(families.map(({ id }) => id)).to.deep.equal(['late'])
    expect((await find('g1'))?.id).to.equal('g1')
  })

  it('counts the calls of thirty days, of several processes, and not what has ended', async () => {
    await save({}, { id: 'g2' })
    const [first, second] = [0, 1].map(() => makeGrantUsage(database, time))
    const uses: [typeof first, string, number][] = [
      [first, 'g1', now - 40 * DAY_MS],
      [first, 'g1', now - 29 * DAY_MS],
      [second, 'g1', now],
      [second, 'g2', now],
      [second, 'gone', now],
    ]
    for (const [usage, grantId, at] of uses) {
      clock = at
      usage?.count(grantId)
      if (at !== now) await usage?.flush()
    }
    await Promise.all([first?.flush(), second?.flush()])
    const lists = makeGrantLists(database, time)
    const [line] = (await lists.listApps('sam', page)).rows
    expect(line).to.include({ calls: 3, lastUsedAt: now })
    await cleanUp()
    const days = await database.kysely.selectFrom('oauth_grant_day').select('day').execute()
    expect(days).to.have.length(3)
  })

  it('writes the last use once a minute at most', async () => {
    await save({})
    const usage = makeGrantUsage(database, time)
    const lastUsed = async () => {
      usage.count('g1')
      await usage.flush()
      const { rows } = await makeGrantLists(database, time).listApps('sam', page)
      return rows[0]?.lastUsedAt
    }
    expect(await lastUsed()).to.equal(now)
    clock = now + 59_000
    expect(await lastUsed()).to.equal(now)
    clock = now + 60_000
    expect(await lastUsed()).to.equal(now + 60_000)
  })

  it('keeps what was counted when the database does not answer', async () => {
    await save({})
    let down = true
    const kysely = new Proxy(database.kysely, {
      get(target, name) {
        if (down && name === 'transaction') throw new Error('down')
        const value: unknown = Reflect.get(target, name)
        return typeof value === 'function' ? value.bind(target) : value
      },
    })
    const usage = makeGrantUsage({ ...database, kysely }, time)
    usage.count('g1')
    expect(await usage.flush().catch((error: Error) => error.message)).to.equal('down')
    down = false
    await usage.flush()
    const { rows } = await makeGrantLists(database, time).listApps('sam', page)
    expect(rows[0]?.calls).to.equal(1)
  })

  it('lists people in pages, and counts each once', async () => {
    const store = await save({ personId: 'noor', id: 'n' })
    clock = now + 1
    await save({}, { id: 'g2' })
    const lists = makeGrantLists(database, time)
    const first = await lists.listPeople('planner', { first: 1, after: undefined })
    const second = await lists.listPeople('planner', { first: 1, after: first.places.at(-1) })
    expect([first, second].map(({ rows }) => rows[0]?.name)).to.deep.equal(['sam', 'noor'])
    expect(second.hasNextPage).to.equal(false)
    expect(await lists.countPeople('planner')).to.equal(2)
    const ended = await store.end({ clientId: 'planner', personId: 'sam' }, 'an operator ended it')
    expect(ended).to.have.members(['g1', 'g2'])
    expect(await lists.countPeople('planner')).to.equal(1)
  })

  it('ends what a person removes, at that site only, and writes it down', async () => {
    await save({}, { id: 'g2', siteId: undefined }, { id: 'g3', personId: 'noor' })
    const line = { personId: 'sam', clientId: 'planner', siteId: 'north' }
    expect(await removeApp(database, line, actor)).to.deep.equal(['g1'])
    expect(await removeApp(database, line, actor)).to.deep.equal([])
    expect(await removeApp(database, { ...line, siteId: undefined }, actor)).to.deep.equal(['g2'])
    const { rows } = await listEvents(database, { siteId: 'north' }, page)
    const consents = ['consent.given', 'consent.given']
    expect(rows.map(({ action }) => action)).to.have.members(['grant.remove', ...consents])
  })

  it('creates, narrows, disables and deletes an application, each with its line in the audit trail', async () => {
    const { kysely } = database
    const store = makeApplicationStore(database)
    const entry = entryOf({ authMethod: 'client_secret_post' })
    const { clientId, secret } = await create(store, entry)
    expect(await findApplication(kysely, 'elsewhere', clientId)).to.equal(undefined)
    const app = await findApplication(kysely, 'north', clientId)
    if (!app) throw new Error('the application was created')
    expect(app.secrets.map(({ hint }) => hint)).to.deep.equal([secret?.slice(-4)])

    await save({ clientId, ...allowing(...entry.scopes) }, { clientId, id: 'g2' })
    expect(await store.update(app, entryOf({ scopes: [] }), actor)).to.deep.equal(['g1'])
    await store.setEnabled(app, false, actor)
    await store.setEnabled(app, false, actor)
    const { rows: lines } = await listApplications(kysely, 'north', page)
    expect(lines[0]).to.include({ clientId, disabled: true })
    expect(await store.remove(app, actor)).to.deep.equal(['g2'])
    const { rows } = await listEvents(database, { siteId: 'north' }, page)
    expect(rows.map(({ action }) => action)).to.have.members([
      'consent.given',
      'consent.given',
      'application.create',
      'application.update',
      'application.disable',
      'application.delete',
    ])
  })

  it('makes one application for an assistant, however many presses come at once', async () => {
    const store = makeApplicationStore(database)
    const entry = { ...entryOf({}), assistant: 'claude' }
    const made = await Promise.all([0, 1, 2, 3].map(() => store.create('north', entry, actor)))
    expect(made.filter((outcome) => typeof outcome !== 'string')).to.have.length(1)
    expect(made.filter((outcome) => outcome === 'taken')).to.have.length(3)
    const [known] = await listAssistantApplications(database.kysely, 'north')
    expect(known).to.include({ assistant: 'claude', disabled: false })

    const app = await findApplication(database.kysely, 'north', known?.clientId ?? '')
    if (!app) throw new Error('the application was made')
    await store.remove(app, actor)
    expect(await listAssistantApplications(database.kysely, 'north')).to.deep.equal([])
    await create(store, entry)

    const site = await findConnectableSite(database, 'north')
    expect(site?.applications, 'while MCP connections is off').to.deep.equal([])
    await switchMcpConnections(database, 'north', true, actor)
    const [shown] = (await findConnectableSite(database, 'north'))?.applications ?? []
    expect(shown).to.deep.include({
      assistant: 'claude',
      scopes: entry.scopes,
      redirectUris: entry.redirectUris,
    })
    const { rows } = await listConnectableSites(database, page)
    expect(rows).to.deep.equal([{ id: 'north', slug: 'north', name: 'North' }])
  })

  it('has two live secrets at most, however many are asked for at once', async () => {
    const entry = entryOf({ authMethod: 'client_secret_post' })
    const { clientId } = await create(makeApplicationStore(database), entry)
    const app = await findApplication(database.kysely, 'north', clientId)
    if (!app) throw new Error('the application was created')
    const secrets = makeApplicationSecrets(database)
    const made = await Promise.all([0, 1, 2].map(() => secrets.add(app, actor)))
    expect(made.filter(Boolean)).to.have.length(1)
  })

  it('keeps the last refusals of a client only, and none of a client that is no application', async () => {
    const { clientId } = await create(makeApplicationStore(database), entryOf({}))
    const refusals = makeRefusedRequests(database)
    const refusal = { route: 'token', error: 'invalid_grant', reason: 'x', requestId: 'r' }
    for (let number = 0; number < REFUSALS_PER_CLIENT + 10; number += 1) {
      refusals.note({ ...refusal, clientId, occurredAt: number })
      if (number % 30 === 0) await refusals.flush()
    }
    refusals.note({ ...refusal, clientId: 'nobody', occurredAt: 1 })
    await refusals.flush()
    const kept = await refusals.list(clientId)
    expect(kept).to.have.length(REFUSALS_PER_CLIENT)
    expect(kept[0]?.occurredAt).to.equal(REFUSALS_PER_CLIENT + 9)
    expect(await refusals.list('nobody')).to.deep.equal([])
  })

  it('knows the site of a slug with the roles of who asks, and switches the feature', async () => {
    expect(await findAdminSite(database, 'north', 'sam')).to.deep.include({ roles: ['student'] })
    expect(await findAdminSite(database, 'north', 'noor')).to.deep.include({ roles: [] })
    expect(await findAdminSite(database, 'south', 'sam')).to.equal(undefined)
    expect(await listOperatedSites(database, 'olivia')).to.have.length(1)
    expect(await listOperatedSites(database, 'sam')).to.deep.equal([])
    expect(await switchMcpConnections(database, 'north', true, actor)).to.equal(true)
    expect(await switchMcpConnections(database, 'north', true, actor)).to.equal(false)
    const site = await findAdminSite(database, 'north', 'olivia')
    expect(site).to.include({ mcpConnectionsOnSince: now })
    expect(await switchMcpConnections(database, 'north', false, actor)).to.equal(true)
  })
})

async function create(
  store: ReturnType<typeof makeApplicationStore>,
  entry: ReturnType<typeof entryOf>,
) {
  const created = await store.create('north', entry, actor)
  if (typeof created === 'string') throw new Error(`the application was not made: ${created}`)
  return created
}

function entryOf(change: { authMethod?: string; scopes?: string[] }) {
  const checked = checkEntry(
    {
      name: 'Planner',
      redirectUris: 'https://planner.example/callback',
      postLogoutRedirectUris: '',
      authMethod: change.authMethod ?? 'none',
      scopes: change.scopes ?? ['account:read'],
    },
    { loopbackHosts: ['127.0.0.1'], appSchemes: [] },
  )
  if (checked.kind === 'bad') throw new Error('the entry is good')
  return checked.application
}
