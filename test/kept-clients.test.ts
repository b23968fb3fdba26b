import { expect } from 'chai'

import type { Client } from '../src/oauth/clients/client.ts'
import { makeKeptClients } from '../src/oauth/clients/find-client.ts'
import type { Database } from '../src/platform/store/database.ts'
import { withDatabases } from './support/database.ts'

const NOW_MS = 1_800_000_000_000

withDatabases('what was compiled of a client', (open) => {
  let database: Database
  let asked: string[]
  let nowMs = NOW_MS
  beforeEach(async () => {
    database = await open()
    asked = []
    nowMs = NOW_MS
    await database.kysely
      .insertInto('site')
      .values({ id: 'north', slug: 'north', name: 'North', created_at: 1 })
      .execute()
    await database.kysely
      .insertInto('oauth_application')
      .values({
        ...{ client_id: 'app', kind: 'site', site_id: 'north', name: 'App', created_by: null },
        ...{ auth_method: 'client_secret_post', application_type: 'web', created_at: 1 },
        ...{ disabled_at: null, deleted_at: null },
      })
      .execute()
  })
  afterEach(async () => await database[Symbol.asyncDispose]())

  const client: Client = {
    ...{ clientId: 'app', origin: 'site', name: 'App', redirectUris: ['https://app.example/cb'] },
    ...{ authMethod: 'client_secret_post', applicationType: 'web', state: 'active' },
  }
  const keeping = (found: Client | 'nobody' = client) =>
    makeKeptClients(
      {
        find: async (clientId) => {
          asked.push(clientId)
          return found === 'nobody' ? undefined : found
        },
      },
      database,
      () => nowMs,
    )

  it('is made once, and again after each change of a row that it is made of, by whomever', async () => {
    const { kysely } = database
    const find = keeping()
    await find('app')
    await find('app')
    expect(asked).to.have.length(1)
    const uri = { client_id: 'app', uri: 'https://app.example/cb' }
    const secret = { id: 's', client_id: 'app', digest: 'd', hint: 'h', created_at: 1 }
    const changes = [
      () => kysely.updateTable('oauth_application').set({ name: 'Other' }).execute(),
      () =>
        kysely
          .insertInto('oauth_application_redirect_uri')
          .values({ ...uri, position: 0 })
          .execute(),
      () => kysely.updateTable('oauth_application_redirect_uri').set({ position: 1 }).execute(),
      () => kysely.deleteFrom('oauth_application_redirect_uri').execute(),
      () => kysely.insertInto('oauth_application_post_logout_uri').values(uri).execute(),
      () =>
        kysely
          .insertInto('oauth_application_scope')
          .values({ client_id: 'app', scope: 'x' })
          .execute(),
      () => kysely.deleteFrom('oauth_application_scope').execute(),
      () =>
        kysely
          .insertInto('client_secret')
          .values({ ...secret, expires_at: null })
          .execute(),
      () => kysely.deleteFrom('client_secret').execute(),
      () =>
        kysely
          .insertInto('integration_override')
          .values({ client_id: 'app', disabled_at: 1, note: null, updated_at: 1 })
          .execute(),
      () => kysely.deleteFrom('oauth_application').execute(),
    ]
    for (const [count, change] of changes.entries()) {
      await change()
      await find('app')
      await find('app')
      expect(asked, `after change ${count}`).to.have.length(count + 2)
    }
  })

  it('is made again when one of its secrets ends by itself', async () => {
    const find = keeping({ ...client, changesAt: NOW_MS + 1000 })
    await find('app')
    nowMs += 999
    await find('app')
    expect(asked).to.have.length(1)
    nowMs += 1
    await find('app')
    expect(asked).to.have.length(2)
  })

  it('is not kept for a client that is no row of the database, or is not there', async () => {
    const loopback = `loopback_${'x'.repeat(22)}`
    const find = keeping()
    await find(loopback)
    await find(loopback)
    expect(asked).to.have.length(2)
    const nobody = keeping('nobody')
    expect(await nobody('nobody')).to.equal(undefined)
    expect(await nobody('nobody')).to.equal(undefined)
    expect(asked).to.have.length(4)
  })

  it('leaves no version behind of a metadata document, and the next one is not taken for it', async () => {
    const { kysely } = database
    const clientId = 'https://client.example/document'
    const document = {
      ...{ client_id: clientId, document: '{}', fingerprint: 'f', first_seen_at: 1, fetched_at: 1 },
      ...{ fresh_until: 1, review: null, reviewed_fingerprint: null, reviewed_by: null },
      reviewed_at: null,
    }
    const version = async () =>
      (
        await kysely
          .selectFrom('client_version')
          .select('version')
          .where('client_id', '=', clientId)
          .executeTakeFirst()
      )?.version
    await kysely.insertInto('document_client').values(document).execute()
    const first = await version()
    expect(first).to.be.a('number')
    await kysely.deleteFrom('document_client').execute()
    expect(await version()).to.equal(undefined)
  })
})
