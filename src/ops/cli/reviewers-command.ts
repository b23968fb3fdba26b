import type { Config } from '../../config/config.ts'
import { canonicalEmail } from '../../directory/people/person-store.ts'
import { asOneLine } from './command-output.ts'
import { recordCommand, withDatabase } from './configured-stores.ts'

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
      return 'There are no platform reviewers. Operators review clients for their own sites.'
    return rows
      .map(({ email, name, granted_at }) =>
        asOneLine(`${email}  ${name}, since ${new Date(granted_at).toISOString()}`),
      )
      .join('\n')
  })
}

/**
 * `reviewers add` and `reviewers remove`: grant or revoke the role, effective from the next request.
 *
 * @throws if there is no such account, or if the role would be granted to a disabled one
 */
export async function changeReviewer(
  config: Config,
  email: string,
  holds: boolean,
): Promise<string> {
  return await withDatabase(config, 'writes', async (database, now) => {
    const person = await database.kysely
      .selectFrom('person')
      .select(['id', 'disabled_at'])
      .where('email_canonical', '=', canonicalEmail(email))
      .executeTakeFirst()
    if (!person) throw new Error(`There is no account with the e-mail address ${email}.`)
    if (holds && person.disabled_at !== null)
      throw new Error(`The account of ${email} is disabled.`)
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
      : `${email} can no longer review clients for all sites. Earlier decisions remain in effect.`
  })
}
