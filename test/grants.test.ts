import { type EndReason, endGrants, removeApp } from '../src/oauth/grants/end-grants.ts'
import { makeFamilyStore } from '../src/oauth/grants/family-store.ts'
import { makeFindGrant } from '../src/oauth/grants/find-grant.ts'
import { makeGrantLists } from '../src/oauth/grants/grant-lists.ts'
import { COUNT_DAYS, makeGrantStore, type NewGrant } from '../src/oauth/grants/grant-store.ts'
import { makeGrantUsage } from '../src/oauth/grants/grant-usage.ts'
import { checkEntry } from '../src/pages/applications/application-form.ts'
import {
  findApplication,
  listAssistantApplications,
} from '../src/pages/applications/application-lists.ts'
import { makeApplicationSecrets } from '../src/pages/applications/application-secrets.ts'
import { makeApplicationStore } from '../src/pages/applications/application-store.ts'
import {
  makeRefusedRequests,
  REFUSALS_PER_CLIENT,
} from '../src/pages/applications/refused-requests.ts'
import { listEvents } from '../src/platform/audit/audit-list.ts'
import type { Database } from '../src/platform/store/database.ts'
import { insert, rowsOf, withDatabases } from './support/database.ts'
import { rejection } from './support/rejection.ts'

const DAY_MS = 86_400_000
const now = 1_800_000_000_000
const actor = { personId: 'olivia', requestId: 'req', now }
const page = { first: 20, after: undefined }
const idsOf = (ended: 'taken' | readonly { readonly id: string }[]) =>
  ended === 'taken' ? ended : ended.map(({ id }) => id)

withDatabases('grants and applications', (open) => {
  let database: Database
  let clock = now
  beforeEach(async () => {
    clock = now
    database = await open()
    const people = ['olivia', 'sam', 'noor'].map((id) => ({
      ...{ id, name: id, email: `${id}@x.example`, email_canonical: `${id}@x.example` },
      created_at: 1,
    }))
    await insert(database.kysely, 'person', people)
    const site = { id: 'north', slug: 'north', name: 'North', created_at: 1 }
    await insert(database.kysely, 'site', site)
    const here = { site_id: 'north', granted_at: 1 }
    await insert(database.kysely, 'site_role', [
      { ...here, person_id: 'olivia', role: 'owner' },
      { ...here, person_id: 'olivia', role: 'lecturer' },
      { ...here, person_id: 'sam', role: 'student' },
    ])
  })
  afterEach(async () => await database[Symbol.asyncDispose]())

  const time = () => clock
  const LIFETIME_MS = 100 * DAY_MS
  const grant: NewGrant = {
    ...{ id: 'g1', personId: 'sam', clientId: 'planner', clientName: 'Planner', siteId: 'north' },
    ...{ clientOrigin: 'integration', documentFingerprint: undefined },
    allowed: { openid: { scope: 'openid' } },
  }
  const allowing = (...scopes: string[]) => ({ allowed: { openid: { scope: scopes.join(' ') } } })
  const begin = async (id: string) =>
    await makeFamilyStore(database).begin({
      ...{ id, grantId: 'g1', seed: 'seed' },
      token: { scopes: ['openid'], audience: 'https://gatehouse.example', refreshes: true },
      ...{ startedAt: clock, issuedAt: clock, keptUntil: clock + LIFETIME_MS },
    })
  const save = async (...changes: Partial<NewGrant>[]) => {
    const store = makeGrantStore(database, LIFETIME_MS / 1000, time)
    for (const change of changes) await store.save({ ...grant, ...change })
    return store
  }
  const find = async (grantId: string) => {
    const admitted = { integrations: new Set<string>(), admitsOrigin: () => true }
    return (await makeFindGrant(database, admitted, Date.now)({ grantId }))?.grant
  }
  const end = async (ending: Parameters<typeof endGrants>[1], reason: EndReason) =>
    (await endGrants(database.kysely, ending, { reason, nowMs: clock })).map(({ id }) => id)
  const listApps = async () => (await makeGrantLists(database, time).listApps('sam', page)).rows
  const listActions = async () =>
    (await listEvents(database, { siteId: 'north' }, page)).rows.map(({ action }) => action)

  it('grants are listed as one line for each client and site, with all scopes', async () => {
    await save({}, { id: 'g2', ...allowing('openid', 'email') }, { id: 'g3', siteId: undefined })
    await save(allowing('openid', 'profile'), { id: 'own', clientOrigin: 'first_party' })
    const rows = await listApps()
    expect(rows.map(({ site }) => site?.name)).to.have.members(['North', undefined])
    expect(rows.find(({ site }) => site)?.scopes).to.have.members(['openid', 'email', 'profile'])
    clock = now + LIFETIME_MS
    expect(await listApps(), 'expired').to.deep.equal([])
  })

  it('an ended grant stays ended when it is saved or prolonged at the same time', async () => {
    const mails: string[] = []
    const store = makeGrantStore(database, LIFETIME_MS / 1000, time, async (_trx, { clientId }) => {
      mails.push(clientId)
    })
    await store.save(grant)
    expect(await end({ id: 'g1' }, 'the person removed it')).to.deep.equal(['g1'])
    await store.save({ ...grant, ...allowing('openid', 'profile') })
    expect([mails, await listActions()]).to.deep.equal([['planner'], ['consent.given']])
    await store.prolong({ id: 'g1', expiresAt: 1 })
    expect(await find('g1')).to.deep.include({
      endedBecause: 'the person removed it',
      allowed: grant.allowed,
      expiresAt: now + LIFETIME_MS,
    })
    expect(await end({ id: 'g1' }, 'the client revoked it')).to.deep.equal([])
  })

  it('a grant is prolonged by a day at least, and has families of refresh tokens', async () => {
    const store = await save({})
    const expiresAt = now + LIFETIME_MS
    for (const [passedMs, addedMs] of [[DAY_MS - 1, 0] as const, [DAY_MS, DAY_MS] as const]) {
      clock = now + passedMs
      await store.prolong({ id: 'g1', expiresAt })
      expect((await find('g1'))?.expiresAt).to.equal(expiresAt + addedMs)
    }
    const begun = [await begin('f1'), await begin('f2'), await begin('f1')]
    expect(begun).to.deep.equal([true, true, false])
    const families = await rowsOf(database.kysely, 'refresh_token_family')
    const ids = families.map(({ id, grant_id }) => `${id} of ${grant_id}`)
    expect(ids).to.have.members(['f1 of g1', 'f2 of g1'])
  })

  it('a grant keeps both of two consents given at once', async () => {
    const [here, elsewhere] = ['https://gatehouse.example', 'https://elsewhere.example']
    const before = { openid: { scope: 'openid', claims: ['name'] }, resources: { [here]: 'a b' } }
    const store = await save({ allowed: before })
    const resources = { [here]: 'b c', [elsewhere]: 'd' }
    await Promise.all([
      store.save({ ...grant, allowed: { openid: { scope: 'openid email', claims: ['email'] } } }),
      store.save({ ...grant, allowed: { resources } }),
    ])
    expect((await find('g1'))?.allowed).to.deep.equal({
      openid: { scope: 'openid email', claims: ['name', 'email'] },
      resources: { [here]: 'a b c', [elsewhere]: 'd' },
    })
  })

  it('2,500 grants end with their application', async () => {
    await save({})
    const grants = Array.from({ length: 2500 }, (_none, number) => ({
      ...{ id: `many${number}`, person_id: 'sam', client_id: 'planner', client_name: 'Planner' },
      ...{ client_origin: 'integration', allowed: '{}', granted_at: now, expires_at: now + DAY_MS },
    }))
    for (let first = 0; first < grants.length; first += 500)
      await insert(database.kysely, 'oauth_grant', grants.slice(first, first + 500))
    const ended = await end({ clientId: 'planner' }, 'an operator ended it')
    expect(new Set(ended).size).to.equal(2501)
    const people = await makeGrantLists(database, time).listPeople('planner', page)
    expect(people).to.deep.include({ rows: [], hasNextPage: false })
  })

  it('a grant that is ended three times at once ends once, for one reason', async () => {
    await save({})
    const { personId, clientId } = grant
    const ways = [
      [{ clientId, personId }, 'an operator ended it'],
      [{ clientId }, 'the application was deleted'],
      [{ id: 'g1' }, 'the client revoked it'],
    ] as const
    const endings = await Promise.all(ways.map(([which, reason]) => end(which, reason)))
    expect(endings.flat()).to.deep.equal(['g1'])
    const [, reason] = ways[endings.findIndex(({ length }) => length === 1)] ?? []
    expect((await find('g1'))?.endedBecause).to.equal(reason)
  })

  it('calls of thirty days are added up across processes', async () => {
    await save({}, { id: 'g2' })
    const usages = [makeGrantUsage(database, time), makeGrantUsage(database, time)] as const
    for (const [process, grantId, at] of [
      [0, 'g1', now - (COUNT_DAYS + 10) * DAY_MS],
      [0, 'g1', now - 40 * DAY_MS],
      [0, 'g1', now - 29 * DAY_MS],
      [1, 'g1', now],
      [1, 'g2', now],
      [1, 'gone', now],
    ] as const) {
      clock = at
      usages[process].count(grantId)
      if (at !== now) await usages[process].flush()
    }
    await Promise.all(usages.map((usage) => usage.flush()))
    expect((await listApps())[0]).to.include({ calls: 3, lastUsedAt: now })
  })

  it('the last use is written once a minute at most', async () => {
    await save({})
    const usage = makeGrantUsage(database, time)
    const lastUses: unknown[] = []
    for (const passedMs of [0, 59_000, 60_000]) {
      clock = now + passedMs
      usage.count('g1')
      await usage.flush()
      lastUses.push((await listApps())[0]?.lastUsedAt)
    }
    expect(lastUses).to.deep.equal([now, now, now + 60_000])
  })

  it('counted calls survive a failure of the database', async () => {
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
    expect(await rejection(usage.flush())).to.have.property('message', 'down')
    down = false
    await usage.flush()
    expect((await listApps())[0]?.calls).to.equal(1)
  })

  it('people are listed in pages, each once', async () => {
    await save({ personId: 'noor', id: 'n' })
    clock = now + 1
    await save({}, { id: 'g2' })
    const lists = makeGrantLists(database, time)
    const first = await lists.listPeople('planner', { first: 1, after: undefined })
    const second = await lists.listPeople('planner', { first: 1, after: first.places.at(-1) })
    expect([first, second].map(({ rows }) => rows[0]?.name)).to.deep.equal(['sam', 'noor'])
    expect([second.hasNextPage, await lists.countPeople('planner')]).to.deep.equal([false, 2])
    const ended = await end({ clientId: 'planner', personId: 'sam' }, 'an operator ended it')
    expect(ended).to.have.members(['g1', 'g2'])
    expect(await lists.countPeople('planner')).to.equal(1)
  })

  it('removing an application at one site ends its grants there, with an event', async () => {
    await save({}, { id: 'g2', siteId: undefined }, { id: 'g3', personId: 'noor' })
    const removeAt = async (siteId: string | undefined) =>
      idsOf(await removeApp(database, { personId: 'sam', clientId: 'planner', siteId }, actor))
    expect(await removeAt('north')).to.deep.equal(['g1'])
    expect(await removeAt('north')).to.deep.equal([])
    expect(await removeAt(undefined)).to.deep.equal(['g2'])
    const consents = ['consent.given', 'consent.given']
    expect(await listActions()).to.have.members(['grant.remove', ...consents])
  })

  const entryOf = (change: { authMethod?: string; scopes?: string[] }) => {
    const entry = {
      ...{ name: 'Planner', authMethod: 'none', scopes: ['account:read'], ...change },
      ...{ redirectUris: 'https://planner.example/callback', postLogoutRedirectUris: '' },
    }
    const checked = checkEntry(entry, { loopbackHosts: ['127.0.0.1'], appSchemes: [] })
    if (checked.kind === 'bad') throw new Error('the entry is good')
    return checked.application
  }
  const create = async (entry: ReturnType<typeof entryOf>) => {
    const created = await makeApplicationStore(database).create('north', entry, actor)
    if (typeof created === 'string') throw new Error(`the application was not made: ${created}`)
    const app = await findApplication(database.kysely, 'north', created.clientId)
    if (!app) throw new Error('there is no such application')
    return { ...created, app }
  }

  it('narrowing or deleting an application ends its grants, with an event for each change', async () => {
    const store = makeApplicationStore(database)
    const entry = entryOf({ authMethod: 'client_secret_post' })
    const { clientId, app } = await create(entry)
    await save({ clientId, ...allowing(...entry.scopes) }, { clientId, id: 'g2' })
    expect(idsOf(await store.update(app, entryOf({ scopes: [] }), actor))).to.deep.equal(['g1'])
    await store.setEnabled(app, false, actor)
    await store.setEnabled(app, false, actor)
    expect(idsOf(await store.remove(app, actor))).to.deep.equal(['g2'])
    expect(await listActions()).to.have.members([
      ...['consent.given', 'consent.given', 'application.create', 'application.update'],
      ...['application.disable', 'application.delete'],
    ])
  })

  it('four requests at once create one application for an assistant', async () => {
    const store = makeApplicationStore(database)
    const entry = { ...entryOf({}), assistant: 'claude' }
    const made = await Promise.all([0, 1, 2, 3].map(() => store.create('north', entry, actor)))
    expect(made.filter((outcome) => outcome === 'taken')).to.have.length(3)
    const [known, ...others] = await listAssistantApplications(database.kysely, 'north')
    expect(known).to.include({ assistant: 'claude', isDisabled: false })
    expect(others).to.deep.equal([])
  })

  it('an application has two live secrets at most, also after three requests at once', async () => {
    const { app } = await create(entryOf({ authMethod: 'client_secret_post' }))
    const secrets = makeApplicationSecrets(database)
    const made = await Promise.all([0, 1, 2].map(() => secrets.add(app, actor)))
    expect(made.filter(Boolean)).to.have.length(1)
  })

  const refusal = { route: 'token', error: 'invalid_grant', reason: 'x', requestId: 'r' }

  it('only the latest refusals of applications are kept; those of other clients are not stored', async () => {
    const { clientId } = await create(entryOf({}))
    const refusals = makeRefusedRequests(database)
    for (let number = 0; number < REFUSALS_PER_CLIENT + 10; number += 1) {
      refusals.note({ ...refusal, clientId, occurredAt: number })
      if (number % 30 === 0) await refusals.flush()
    }
    refusals.note({ ...refusal, clientId: 'nobody', occurredAt: 1 })
    await refusals.flush()
    const kept = await refusals.list('app.client_id', clientId)
    expect(kept).to.have.length(REFUSALS_PER_CLIENT)
    expect(kept[0]?.occurredAt).to.equal(REFUSALS_PER_CLIENT + 9)
    expect(await refusals.list('app.client_id', 'nobody')).to.deep.equal([])
  })

  it('a refusal that cannot be stored does not lose those of other applications', async () => {
    const { clientId: one } = await create(entryOf({}))
    const { clientId: other } = await create({ ...entryOf({}), name: 'Other' })
    const refusals = makeRefusedRequests(database)
    for (const clientId of [one, other]) refusals.note({ ...refusal, clientId, occurredAt: 1 })
    const rename = async (from: string, to: string) =>
      await database.kysely.schema.alterTable(from).renameTo(to).execute()
    await rename('client_refusal', 'elsewhere')
    expect((await rejection(refusals.flush())).message).to.include('client_refusal')
    await rename('elsewhere', 'client_refusal')
    await refusals.flush()
    expect(await refusals.list('app.client_id', other)).to.have.length(1)
  })
})
