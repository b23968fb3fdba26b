import type { Config } from '../../config/config.ts'
import { accountOf } from '../../directory/people/person-store.ts'
import { removeSecondFactors } from '../../directory/people/second-factors.ts'
import { scheduleDeletion } from '../../school/privacy/delete-account.ts'
import { exportPerson } from '../../school/privacy/personal-data.ts'
import { asOneLine, type Given } from './command-line.ts'
import { recordCommand, withDatabase } from './configured-stores.ts'

/** `person export`: returns the stored data about a person, for a privacy request. */
export async function printPerson(config: Config, { argument: id }: Given): Promise<string> {
  return await withDatabase(config, 'writes', async (database, now) =>
    exportPerson(database, id, { now: now() }),
  )
}

/** `person delete --yes`: marks an account for immediate deletion, for a privacy request. */
export async function deletePerson(config: Config, { argument: id, yes }: Given): Promise<string> {
  if (!yes)
    throw new Error(
      'Nothing was deleted. Check the output of `person export`, then confirm with --yes.',
    )
  return await withDatabase(config, 'writes', async (database, clock) => {
    const now = clock()
    const deletion = { personId: id, dueAt: now }
    const sites = await database.kysely
      .transaction()
      .execute(async (trx) => await scheduleDeletion(trx, database, deletion, { now }))
    if (!sites) throw new Error(`There is no account with the id ${id}.`)
    const owned = sites.join(', ')
    if (owned) throw new Error(`The person is the last owner of ${owned}. Add another owner first.`)
    const { sweepSeconds } = config.service.storage
    return `The running service deletes the account in about ${sweepSeconds} s, unless the person signs in first.`
  })
}

/**
 * `person end-second-factors`: removes the authenticator app and recovery codes of a person who lost them. The operator
 * must first verify that this person asked for it.
 */
export async function endSecondFactors(
  config: Config,
  { argument: email }: Given,
): Promise<string> {
  return await withDatabase(config, 'writes', async ({ kysely }, now) => {
    const person = await accountOf(kysely, email).select('id').executeTakeFirst()
    if (!person) throw new Error(`There is no account with the e-mail address ${email}.`)
    const removed = await kysely
      .transaction()
      .execute(async (trx) => await removeSecondFactors(trx, person.id, { now: now() }))
    return removed
      ? `The authenticator app and recovery codes of ${email} were removed. The person will get an e-mail.`
      : `Nothing to do: ${email} has no authenticator app.`
  })
}

/** `reviewers`: lists the platform reviewers, who review self-declared clients for all sites. */
export async function listReviewers(config: Config): Promise<string> {
  return await withDatabase(config, 'reads', async ({ kysely }) => {
    const rows = await kysely
      .selectFrom('platform_reviewer as r')
      .innerJoin('person as p', 'p.id', 'r.person_id')
      .select(['p.email', 'p.name', 'r.granted_at'])
      .orderBy('p.email')
      .execute()
    if (rows.length === 0)
      return 'There are no platform reviewers. Operators review self-declared clients for their own sites.'
    const lines = rows.map(
      ({ email, name, granted_at: at }) => `${email}  ${name}, since ${new Date(at).toISOString()}`,
    )
    return lines.map(asOneLine).join('\n')
  })
}

/** `reviewers add`: grants the role. @throws if no account has the e-mail address, or if the account is disabled */
export const addReviewer = async (config: Config, { argument: email }: Given) =>
  await changeReviewer(config, email, true)

/** `reviewers remove`: revokes the role. @throws if no account has the e-mail address */
export const removeReviewer = async (config: Config, { argument: email }: Given) =>
  await changeReviewer(config, email, false)

/** Grants or revokes the role of platform reviewer. Takes effect with the person's next request. */
async function changeReviewer(config: Config, email: string, holds: boolean) {
  return await withDatabase(config, 'writes', async (database, now) => {
    const account = accountOf(database.kysely, email).select(['id', 'disabled_at'])
    const person = await account.executeTakeFirst()
    if (!person) throw new Error(`There is no account with the e-mail address ${email}.`)
    if (holds && person.disabled_at !== null)
      throw new Error(`The account of ${email} is disabled. Enable it first.`)
    const changed = await database.kysely.transaction().execute(async (trx) => {
      const row = { person_id: person.id, granted_at: now() }
      const change = holds
        ? trx
            .insertInto('platform_reviewer')
            .values(row)
            .onConflict((conflict) => conflict.doNothing())
            .returning('person_id')
        : trx
            .deleteFrom('platform_reviewer')
            .where('person_id', '=', person.id)
            .returning('person_id')
      if ((await change.execute()).length === 0) return false
      await recordCommand(trx, row.granted_at, {
        action: holds ? 'platform_reviewer.add' : 'platform_reviewer.remove',
        subject: { kind: 'person', id: person.id },
      })
      return true
    })
    if (!changed)
      return `Nothing to do: ${email} ${holds ? 'is already' : 'is not'} a platform reviewer.`
    return holds
      ? `${email} can now review self-declared clients for all sites.`
      : `${email} can no longer review self-declared clients for all sites. Earlier decisions remain in effect.`
  })
}
