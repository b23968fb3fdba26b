import { expect } from 'chai'

import { makeDocumentClients } from '../src/oauth/clients/document-clients.ts'
import type { Database } from '../src/platform/store/database.ts'
import { withDatabases } from './support/database.ts'

const MAX = 3
const addressOf = (name: string) => `https://${name}.client.example/client.json`

/** Documents of any host, each as it describes itself. */
function documentsIn(database: Database, now: () => number) {
  const documents = makeDocumentClients(
    {
      metadataDocuments: { hosts: [], openRegistration: true },
      unusedMax: MAX,
      loopbackHosts: ['127.0.0.1'],
      copies: new Map(),
    },
    { database, now },
  )
  return {
    resolve: async (name: string) =>
      await documents.resolve(addressOf(name), async () =>
        Response.json({
          client_id: addressOf(name),
          client_name: name,
          redirect_uris: [`https://${name}.client.example/callback`],
        }),
      ),
    async known() {
      const rows = await database.kysely.selectFrom('document_client').select('client_id').execute()
      return rows.map(({ client_id }) => client_id).sort()
    },
  }
}

withDatabases('copies of metadata documents', (open) => {
  it('give way to later ones, unless somebody allowed something with them or reviewed them', async () => {
    await using database = await open()
    let nowMs = Date.now()
    const { resolve, known } = documentsIn(database, () => nowMs)
    for (const name of ['used', 'reviewed']) await resolve(name)
    const { kysely } = database
    await kysely
      .insertInto('person')
      .values({ id: 'p', email: 'a@b', email_canonical: 'a@b', name: 'A', created_at: 0 })
      .execute()
    await kysely
      .insertInto('oauth_grant')
      .values({
        ...{ id: 'g', person_id: 'p', client_id: addressOf('used'), client_name: 'used' },
        ...{ client_origin: 'document', allowed: '{}', granted_at: 0, expires_at: nowMs * 2 },
      })
      .execute()
    await kysely
      .updateTable('document_client')
      .set({ review: 'blocked' })
      .where('client_id', '=', addressOf('reviewed'))
      .execute()
    for (const name of ['a', 'b', 'c', 'd', 'e']) {
      nowMs += 60_000
      await resolve(name)
    }
    expect(await known()).to.deep.equal(['c', 'd', 'e', 'reviewed', 'used'].map(addressOf))
    // One that is read again is a late one.
    nowMs += 3_600_000
    await resolve('c')
    await resolve('f')
    expect(await known()).to.deep.equal(['c', 'e', 'f', 'reviewed', 'used'].map(addressOf))
  })
})
