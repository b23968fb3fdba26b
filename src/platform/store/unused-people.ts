import { sql } from 'kysely'

// Tables whose rows prevent the deletion of a person. Other rows, such as subscriptions, are deleted with the person.
const keepingTables = ['site_role', 'customer_order', 'course_purchase', 'digital_product_purchase']
  .concat('consulting_service_purchase', 'event_registration', 'oauth_grant', 'platform_reviewer')
  .map((table) => sql`exists (select 1 from ${sql.table(table)} where person_id = person.id)`)

/** Whether a person was never imported, has no password, and has no rows in `keepingTables`. */
export const isUnused = sql<boolean>`person.imported_at is null and person.password_hash is null
  and not (${sql.join(keepingTables, sql` or `)})`
