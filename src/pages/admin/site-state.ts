import { type RawBuilder, sql } from 'kysely'

import type { SiteStateView } from '../../../views/admin-home.ts'
import { findLook } from '../../directory/sites/site-look.ts'
import type { AdminParts } from './admin-parts.ts'
import type { Operator } from './operator-pages.ts'
import { patternsOf } from './stop-and-secret-routes.ts'

const OLD_SECRET_MS = 365 * 86_400_000
/** A missing code exchange is reported this long after the consent. By default, a code expires after a minute. */
const EXCHANGE_MS = 10 * 60_000
const ROWS_SHOWN_MAX = 5

/** Returns the SQL condition that an application has an active grant (alias `given`) that meets `condition`. */
function hasGrant(condition: RawBuilder<unknown>) {
  return sql<boolean>`exists (select 1 from oauth_grant as given
    where given.client_id = app.client_id and given.ended_at is null and ${condition})`
}

/** The SQL condition for grants whose code was exchanged: they have a token family, or their tokens were used. */
const wasExchanged = sql`(given.last_used_at is not null
  or exists (select 1 from refresh_token_family as family where family.grant_id = given.id))`

/** Reads the set-up of a site, and the items that its operators should check. */
export async function readSiteState(
  { site, address }: Operator,
  { database, reviews, now }: AdminParts,
): Promise<SiteStateView> {
  const { kysely } = database
  const applications = kysely
    .selectFrom('oauth_application as app')
    .where('app.site_id', '=', site.id)
    .where('app.deleted_at', 'is', null)
  const { counted } = await applications
    .where('app.kind', '=', 'site')
    .select((eb) => eb.fn.countAll().as('counted'))
    .executeTakeFirstOrThrow()
  const listed = applications
    .select(['app.client_id', 'app.name', 'app.kind'])
    .distinct()
    .orderBy('app.client_id')
    .limit(ROWS_SHOWN_MAX)
  const oldSecrets = await listed
    .innerJoin('client_secret as secret', 'secret.client_id', 'app.client_id')
    .where('secret.created_at', '<', now() - OLD_SECRET_MS)
    .where((e) => e.or([e('expires_at', 'is', null), e('expires_at', '>', now())]))
    .execute()
  const neverExchanged = await listed
    .where('app.disabled_at', 'is', null)
    .where(hasGrant(sql`given.granted_at < ${now() - EXCHANGE_MS}`))
    .where((eb) => eb.not(hasGrant(wasExchanged)))
    .execute()
  const { operators } = await kysely
    .selectFrom('site_role')
    .select((eb) => eb.fn.count('person_id').distinct().as('operators'))
    .where('site_id', '=', site.id)
    .where('role', 'in', ['owner', 'admin'])
    .executeTakeFirstOrThrow()
  const look = await findLook(database, site.id)
  // Select only the names, because reading a provider's secret fails if its root secret was removed from SECRET.
  const providers = await kysely
    .selectFrom('identity_provider')
    .select('name')
    .where('site_id', '=', site.id)
    .orderBy('created_at')
    .execute()
  const view = ({ client_id, name, kind }: (typeof oldSecrets)[number]) => ({
    name,
    href: address(patternsOf[kind].one, { client: client_id }),
  })
  return {
    applications: Number(counted),
    operators: Number(operators),
    hasLogo: typeof look?.logoFileId === 'string',
    providers: providers.map(({ name }) => name),
    unreviewed: (await reviews?.countUnreviewed(site.id)) ?? 0,
    oldSecrets: oldSecrets.map(view),
    neverExchanged: neverExchanged.map(view),
  }
}
