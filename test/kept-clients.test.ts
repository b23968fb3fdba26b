import type { Client } from '../src/oauth/clients/client.ts'
import { makeDocumentClients } from '../src/oauth/clients/document-clients.ts'
import { makeKeptClients } from '../src/oauth/clients/find-client.ts'
import type { Database } from '../src/platform/store/database.ts'
import { change, insert, rowsOf, withDatabases } from './support/database.ts'

const NOW_MS = 1_800_000_000_000
const addressOf = (name: string) => `https://${name}.client.example/client.json`

withDatabases('a compiled client', (open) => {
  let database: Database
  let asked: string[]
  let nowMs = NOW_MS
  beforeEach(async () => {
    database = await open()
    asked = []
    nowMs = NOW_MS
    const site = { id: 'north', slug: 'north', name: 'North', created_at: 1 }
    await insert(database.kysely, 'site', site)
    await insert(database.kysely, 'oauth_application', {
      ...{ client_id: 'app', kind: 'site', site_id: 'north', name: 'App' },
      ...{ auth_method: 'client_secret_post', application_type: 'web', created_at: 1 },
    })
  })
  afterEach(async () => await database[Symbol.asyncDispose]())

  const client: Client = {
    ...{ clientId: 'app', origin: 'site', name: 'App', redirectUris: ['https://app.example/cb'] },
    ...{ authMethod: 'client_secret_post', applicationType: 'web', state: 'active' },
  }
  const keeping = (found: Client | undefined) => {
    const find = async (clientId: string) => {
      asked.push(clientId)
      return found
    }
    return makeKeptClients({ find }, database, () => nowMs)
  }

  it('is made once, and again after each change of its rows', async () => {
    const { kysely } = database
    const find = keeping(client)
    await find('app')
    await find('app')
    expect(asked).to.have.length(1)
    const secret = { id: 's', client_id: 'app', digest: 'd', hint: 'h', created_at: 1 }
    const override = { client_id: 'app', disabled_at: 1, updated_at: 1 }
    for (const [count, change] of [
      kysely.updateTable('oauth_application').set({ name: 'Other' }),
      kysely.updateTable('oauth_application').set({ scopes: '["x"]' }),
      kysely.insertInto('client_secret').values({ ...secret, expires_at: null }),
      kysely.deleteFrom('client_secret'),
      kysely.insertInto('integration_override').values(override),
      kysely.deleteFrom('oauth_application'),
    ].entries()) {
      await change.execute()
      await find('app')
      await find('app')
      expect(asked, `after change ${count}`).to.have.length(count + 2)
    }
  })

  it('is made again when one of its secrets expires', async () => {
    const find = keeping({ ...client, changesAt: NOW_MS + 1000 })
    await find('app')
    nowMs += 999
    await find('app')
    expect(asked).to.have.length(1)
    nowMs += 1
    await find('app')
    expect(asked).to.have.length(2)
  })

  it('is not kept for a client without a row, or an unknown one', async () => {
    const loopback = `loopback_${'x'.repeat(22)}`
    const find = keeping(client)
    await find(loopback)
    await find(loopback)
    expect(asked).to.have.length(2)
    const unknown = keeping(undefined)
    expect(await unknown('unknown')).to.equal(undefined)
    expect(await unknown('unknown')).to.equal(undefined)
    expect(asked).to.have.length(4)
  })

  it('leaves no version of a deleted metadata document', async () => {
    const client_id = addressOf('document')
    const versions = async () => await rowsOf(database.kysely, 'client_version', { client_id })
    await insert(database.kysely, 'document_client', {
      ...{ client_id, document: '{}', fingerprint: 'f', first_seen_at: 1, fetched_at: 1 },
      fresh_until: 1,
    })
    expect(await versions()).to.have.length(1)
    await database.kysely.deleteFrom('document_client').execute()
    expect(await versions()).to.deep.equal([])
  })
})

withDatabases('copies of metadata documents', (open) => {
  it('are replaced by later ones, unless they are used or reviewed', async () => {
    await using database = await open()
    const { kysely } = database
    let nowMs = Date.now()
    const settings = {
      ...{ privateKeyJwt: false, unusedMax: 3, copies: new Map() },
      metadataDocuments: { sources: [], openRegistration: true },
      loopbackHosts: ['127.0.0.1' as const],
    }
    const documents = makeDocumentClients(settings, { database, now: () => nowMs })
    const resolve = async (name: string) =>
      await documents.resolve(addressOf(name), async () =>
        Response.json({
          client_id: addressOf(name),
          client_name: name,
          redirect_uris: [`https://${name}.client.example/callback`],
        }),
      )
    const known = async () =>
      (await rowsOf(kysely, 'document_client')).map(({ client_id }) => client_id)
    for (const name of ['used', 'reviewed']) await resolve(name)
    const person = { id: 'p', email: 'a@b', email_canonical: 'a@b', name: 'A', created_at: 0 }
    await insert(kysely, 'person', person)
    await insert(kysely, 'oauth_grant', {
      ...{ id: 'g', person_id: 'p', client_id: addressOf('used'), client_name: 'used' },
      ...{ client_origin: 'document', allowed: '{}', granted_at: 0, expires_at: nowMs * 2 },
    })
    const reviewed = { client_id: addressOf('reviewed') }
    await change(kysely, 'document_client', reviewed, { review: 'blocked' })
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      nowMs += 60_000
      await resolve(name)
    }
    expect(await known()).to.have.members(['c', 'd', 'e', 'reviewed', 'used'].map(addressOf))
    // A refreshed copy counts as new, so `f` replaces `d` and not `c`.
    nowMs += 3_600_000
    await resolve('c')
    await resolve('f')
    expect(await known()).to.have.members(['c', 'e', 'f', 'reviewed', 'used'].map(addressOf))
  })
})
