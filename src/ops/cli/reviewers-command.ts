import type { Config } from '../../config/config.ts'
import { canonicalEmail } from '../../directory/people/person-store.ts'
import { asOneLine } from './command-output.ts'
import { recordCommand, withDatabase } from './configured-stores.ts'

/** `reviewers`: who decides about self-declared clients for every site, one line each. */
export async function listReviewers(config: Config): Promise<string> {
  return await withDatabase(config, async ({ kysely }) => {
    const rows = await kysely
      .selectFrom('platform_reviewer as r')
      .innerJoin('person as p', 'p.id', 'r.person_id')
      .select(['p.email', 'p.name', 'r.granted_at'])
      .orderBy('p.email')
      .execute()
    if (rows.length === 0) return 'Nobody decides for every site; operators decide for their own.'
    return rows
      .map(({ email, name, granted_at }) =>
        asOneLine(`${email}  ${name}, since ${new Date(granted_at).toISOString()}`),
      )
      .join('\n')
  })
}

/**
 * `reviewers add` and `reviewers remove`: gives the platform's role to a person, or takes it away. It counts
 * from the next page on, in every process.
 *
 * @throws when there is no such account, or one that is disabled is to get the role
 */
export async function changeReviewer(
  config: Config,
  email: string,
  holds: boolean,
): Promise<string> {
  return await withDatabase(config, async (database, now) => {
    const person = await database.kysely
      .selectFrom('person')
      .select(['id', 'disabled_at'])
      .where('email_canonical', '=', canonicalEmail(email))
      .executeTakeFirst()
    if (!person) throw new Error(`there is no account with the address ${email}`)
    if (holds && person.disabled_at !== null) throw new Error(`the account of ${email} is disabled`)
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
    if (!changed) return `Nothing to change: ${email} ${holds ? 'has' : 'does not have'} the role.`
    return holds
      ? `${email} decides about self-declared clients for every site from now on.`
      : `${email} does not decide for every site any more. What was decided stays.`
  })
}
