import { makeLoopbackClients } from '../src/oauth/clients/loopback-clients.ts'
import type { Database } from '../src/platform/store/database.ts'
import { sqlState } from '../src/platform/store/oauth-state.ts'
import { cleanUpAt } from './support/clean-up.ts'
import { rowsOf, withDatabases } from './support/database.ts'
import { defaultsInForce } from './support/figures.ts'
import { fresh } from './support/shared.ts'

const DAY_MS = 86_400_000
const HERE = '192.0.2.7'
const { service } = defaultsInForce()

const registration = {
  name: 'A program',
  redirectUris: ['http://127.0.0.1:1/callback', 'http://localhost:1/callback'],
  grantTypes: ['authorization_code', 'refresh_token'],
  scope: 'openid',
} as const

/** Creates the registry of loopback clients on a database, with an adjustable clock and a count of its writes. */
function watch(database: Database, loopbackHosts = service.loopbackHosts) {
  const clock = { ms: Date.now() }
  const now = () => clock.ms
  const records = sqlState(database, { now }).adapterFor('Client')
  const counted = { writes: 0 }
  const clients = makeLoopbackClients({
    records: {
      ...records,
      async upsert(...record) {
        counted.writes += 1
        await records.upsert(...record)
      },
    },
    database,
    networkKey: Buffer.alloc(32, 1),
    registration: {
      ...service.registration,
      unusedClientSeconds: 86_400,
      unusedClientsPerNetworkMax: 3,
      idleClientSeconds: 90 * 86_400,
    },
    loopbackHosts,
    now,
  })
  return { clients, clock, counted }
}

withDatabases('loopback clients', (open) => {
  const database = fresh(open)

  it('are found as they were registered, by every process at once', async () => {
    const { clients } = watch(database())
    const { clientId, issuedAtSeconds } = await clients.register(registration, HERE)
    expect(issuedAtSeconds).to.be.closeTo(Date.now() / 1000, 5)
    const inAnotherProcess = watch(database()).clients
    expect(await inAnotherProcess.find(clientId)).to.include({
      ...{ clientId, origin: 'loopback', name: 'A program', applicationType: 'native' },
      ...{ authMethod: 'none', state: 'active' },
    })
    expect(await clients.find(`${clientId}x`)).to.equal(undefined)
  })

  it('expire after 90 days without use (design 8)', async () => {
    const { clients, clock } = watch(database())
    const { clientId } = await clients.register(registration, HERE)
    await clients.use(clientId)
    for (const found of [true, true, false]) {
      clock.ms += (found ? 89.9 : 90.1) * DAY_MS
      expect((await clients.find(clientId)) !== undefined).to.equal(found)
    }
  })

  it('expire after a day without an authorization, however often they are looked up (design 8)', async () => {
    const { clients, clock } = watch(database())
    const { clientId } = await clients.register(registration, HERE)
    for (let hour = 0; hour < 24; hour += 1) {
      expect(await clients.find(clientId)).to.include({ clientId })
      clock.ms += DAY_MS / 24
    }
    clock.ms += 1
    expect(await clients.find(clientId)).to.equal(undefined)
    await clients.use(clientId)
    expect(await clients.find(clientId)).to.equal(undefined)
    await cleanUpAt(database(), clock.ms)
    expect(await rowsOf(database().kysely, 'unused_client')).to.deep.equal([])
  })

  it('are replaced by later ones of their network, the oldest first (design 8)', async () => {
    const { clients, clock } = watch(database())
    const register = async (address: string) => {
      clock.ms += 1000
      return (await clients.register(registration, address)).clientId
    }
    const used = await register('2001:db8:0:1::1')
    await clients.use(used)
    const elsewhere = await register(HERE)
    const ids = await Array.fromAsync([2, 3, 4, 5, 6], (host) => register(`2001:db8:0:1::${host}`))
    const other = await register('2001:db8:0:2::1')
    const found = await Promise.all([used, elsewhere, other, ...ids].map((id) => clients.find(id)))
    const known = found.map((client) => client !== undefined)
    expect(known).to.deep.equal([...Array(3).fill(true), false, false, ...Array(3).fill(true)])
    const rows = await database().kysely.selectFrom('unused_client').select('network').execute()
    expect(rows.map(({ network }) => network).join()).to.not.match(/192|2001|db8/)
  })

  it('are written once a day at most', async () => {
    const { clients, clock, counted } = watch(database())
    const { clientId } = await clients.register(registration, HERE)
    await clients.use(clientId)
    for (let hour = 0; hour < 72; hour += 1) {
      clock.ms += DAY_MS / 24
      await clients.find(clientId)
    }
    expect(counted.writes).to.equal(2 + 2)
  })

  it('lose redirect URIs of hosts that are disabled later (design 7)', async () => {
    const { clients } = watch(database())
    const both = await clients.register(registration, HERE)
    const [kept = '', lost = ''] = registration.redirectUris
    const local = await clients.register({ ...registration, redirectUris: [lost] }, HERE)
    const strict = watch(database(), ['127.0.0.1']).clients
    expect((await strict.find(both.clientId))?.redirectUris).to.deep.equal([kept])
    expect(await strict.find(local.clientId)).to.equal(undefined)
  })
})
