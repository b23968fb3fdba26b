import type { Client } from '../src/oauth/clients/client.ts'
import { makeDocumentClients } from '../src/oauth/clients/document-clients.ts'
import { makeKeptClients } from '../src/oauth/clients/find-client.ts'
import { change, insert, rowsOf, withDatabases } from './support/database.ts'
import { fresh } from './support/shared.ts'

const addressOf = (name: string) => `https://${name}.client.example/client.json`

withDatabases('cached clients', (open) => {
  const database = fresh(async () => {
    const opened = await open()
    const site = { id: 'north', slug: 'north', name: 'North', created_at: 1 }
    await insert(opened.kysely, 'site', site)
    await insert(opened.kysely, 'oauth_application', {
      ...{ client_id: 'app', kind: 'site', site_id: 'north', name: 'App' },
      ...{ auth_method: 'client_secret_post', application_type: 'web', created_at: 1 },
    })
    return opened
  })

  const client: Client = {
    ...{ clientId: 'app', origin: 'site', name: 'App', redirectUris: ['https://app.example/cb'] },
    ...{ authMethod: 'client_secret_post', applicationType: 'web', state: 'active' },
  }
  const keeping = (found: Client | undefined, now = Date.now) => {
    let count = 0
    const find = async () => {
      count += 1
      return found
    }
    return { find: makeKeptClients({ find }, database(), now), made: () => count }
  }

  it('are compiled once, and again after each change of their rows', async () => {
    const { kysely } = database()
    const { find, made } = keeping(client)
    await find('app')
    await find('app')
    expect(made()).to.equal(1)
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
      expect(made(), `after change ${count}`).to.equal(count + 2)
    }
  })

  it('are compiled again when a secret expires', async () => {
    let nowMs = 0
    const { find, made } = keeping({ ...client, changesAt: 1000 }, () => nowMs)
    const counts = await Array.fromAsync([0, 999, 1000], async (at) => {
      nowMs = at
      await find('app')
      return made()
    })
    expect(counts).to.deep.equal([1, 1, 2])
  })

  it('do not include a client without a row, or an unknown one', async () => {
    for (const [clientId, found] of [
      [`loopback_${'x'.repeat(22)}`, client],
      ['unknown', undefined],
    ] as const) {
      const { find, made } = keeping(found)
      for (const count of [1, 2]) {
        expect(Boolean(await find(clientId))).to.equal(found !== undefined)
        expect(made()).to.equal(count)
      }
    }
  })

  it('lose the version row of a deleted metadata document', async () => {
    const client_id = addressOf('document')
    const versions = async () => await rowsOf(database().kysely, 'client_version', { client_id })
    await insert(database().kysely, 'document_client', {
      ...{ client_id, document: '{}', fingerprint: 'f', first_seen_at: 1, fetched_at: 1 },
      fresh_until: 1,
    })
    expect(await versions()).to.have.length(1)
    await database().kysely.deleteFrom('document_client').execute()
    expect(await versions()).to.deep.equal([])
  })

  it('from metadata documents are replaced by later ones, unless they are used or reviewed', async () => {
    const { kysely } = database()
    let nowMs = Date.now()
    const settings = {
      ...{ privateKeyJwt: false, unusedMax: 3, copies: new Map() },
      metadataDocuments: { sources: [], openRegistration: true },
      loopbackHosts: ['127.0.0.1' as const],
    }
    const documents = makeDocumentClients(settings, { database: database(), now: () => nowMs })
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
