import type { Config } from '../../config/config.ts'
import { scheduleDeletion } from '../../school/privacy/delete-account.ts'
import { exportPerson } from '../../school/privacy/export-person.ts'
import { withDatabase } from './configured-stores.ts'

/** `person export`: prints everything that is stored about a person, for a request by letter. */
export async function printPerson(config: Config, id: string): Promise<string> {
  return await withDatabase(
    config,
    'writes',
    async (database, now) => await exportPerson(database, id, { now: now() }),
  )
}

/** `person delete --yes`: makes the deletion of an account due, for a request by letter. */
export async function deletePerson(config: Config, id: string, isSure: boolean): Promise<string> {
  if (!isSure)
    throw new Error('Nothing was deleted. Read what `person export` prints, and use --yes.')
  return await withDatabase(config, 'writes', async (database, clock) => {
    const now = clock()
    const deletion = { personId: id, dueAt: now }
    const sites = await database.kysely
      .transaction()
      .execute(async (trx) => await scheduleDeletion(trx, database, deletion, { now }))
    if (!sites) throw new Error(`There is no account with the id ${id}.`)
    if (sites.length > 0) {
      throw new Error(
        `The person is the last owner of ${sites.join(', ')}. Add another owner first.`,
      )
    }
    return 'The running service deletes the account within a minute, unless the person signs in before.'
  })
}
