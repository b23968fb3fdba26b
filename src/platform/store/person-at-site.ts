import { type RawBuilder, sql } from 'kysely'

/** Selects the name that operators of a site entered for a person. Null if they see the person's own name. */
export function enteredName(siteId: string, person = 'person'): RawBuilder<string | null> {
  return sql`(select added.name from member_addition as added
    where added.person_id = ${sql.ref(`${person}.id`)} and added.site_id = ${siteId})`
}

/**
 * Selects the name of a person as operators of a site see it. Operators can add any e-mail address. So they see the name
 * that they entered, until the platform imports a role or an order of the person at the site (design 35).
 */
export function nameAt(siteId: string, person = 'person'): RawBuilder<string> {
  return sql`coalesce(${enteredName(siteId, person)}, ${sql.ref(`${person}.name`)})`
}

/**
 * Selects the name, e-mail address and picture of a person as operators of a site see them. With an entered name, the
 * address is canonical and the picture null, because the person's own would reveal an account.
 */
export function personAt(siteId: string) {
  const entered = enteredName(siteId)
  const email = sql<string>`case when ${entered} is null then email else email_canonical end`
  const picture = sql<string | null>`case when ${entered} is null then picture end`
  return [nameAt(siteId).as('name'), email.as('email'), picture.as('picture')] as const
}
