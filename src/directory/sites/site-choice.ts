import { sql } from 'kysely'

import type { Html } from '../../../views/html.ts'
import { compiled, type Valued } from '../../platform/store/compiled-queries.ts'
import type { Database } from '../../platform/store/database.ts'
import type { SiteRole } from '../../platform/store/schema.ts'
import { EVERYTHING } from '../scopes/sensitive-operations.ts'
import type { Decision } from './review-policy.ts'
import { type LocalTexts, shownText } from './site-look.ts'

const operatorRoles: ReadonlySet<SiteRole> = new Set(['owner', 'admin'])

/** Whether a person with these roles is an operator of the site (design 15). */
export function operates(roles: readonly SiteRole[]): boolean {
  return roles.some((role) => operatorRoles.has(role))
}

/** With this feature, a site accepts only its own identity providers. Our own pages accept other sign-ins, too. */
export const OWN_SIGN_IN = 'own_sign_in'

/** A site where a person has roles. */
export interface HeldSite {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly roles: readonly SiteRole[]
  /** The review of the client's metadata document by the operators of this site. */
  readonly documentReview?: Decision | undefined
  /** Set if the site requires two factors for every operation by an operator. */
  readonly operatorDemand?: { readonly maxAgeSeconds: number | undefined }
  /** Set if the site's identity providers are the only way to sign in there. */
  readonly hasOwnSignIn?: true
}

/** The outcome of choosing the site of a new authorization (design 15 and 16). */
export type SiteDecision =
  /** The authorization is bound to no site. */
  | { readonly kind: 'none' }
  | { readonly kind: 'bound'; readonly site: HeldSite }
  | { readonly kind: 'choose'; readonly sites: readonly HeldSite[] }
  | { readonly kind: 'refused'; readonly why: string }

export interface SiteQuestion {
  /** The site that the client belongs to, if any. */
  readonly clientSiteId: string | undefined
  /** Whether only owners of the client's site may authorize the client. */
  readonly ownersOnly?: boolean
  /** Whether operator scopes are requested. */
  readonly operator: boolean
  /** All sites where the person has a role. */
  readonly held: readonly HeldSite[]
  /** Whether the review of the client at a site permits the requested scopes. */
  readonly admits: (site: HeldSite) => boolean
  /** The site that the person has just chosen on the page. */
  readonly chosenSiteId: string | undefined
  /** The site of the grant to which the session refers. */
  readonly rememberedSiteId: string | undefined
}

/**
 * Decides to which site an authorization is bound. For a client of a site, that is the client's site. Other clients
 * need a site only for operator scopes: the only suitable site, or the one that the person chooses or chose before. If
 * a site is needed but none is suitable, the authorization is rejected.
 */
export function decideSite(question: SiteQuestion): SiteDecision {
  const { clientSiteId, operator, held, chosenSiteId, rememberedSiteId } = question
  if (clientSiteId !== undefined) {
    const site = held.find(({ id }) => id === clientSiteId)
    if (site && question.ownersOnly && !site.roles.includes('owner')) {
      return refused('only an owner of the site may connect this application; ask an owner')
    }
    if (site) return { kind: 'bound', site }
    return refused(
      'you have no role at the site of this application; ask an operator of the site to invite you',
    )
  }
  if (!operator) return { kind: 'none' }

  const operated = held.filter(({ roles }) => operates(roles))
  if (operated.length === 0) return refused('you are not an owner or admin of any site')
  const sites = operated.filter(question.admits)
  const [only, second] = sites
  if (!only) return refused('none of your sites allows the access that this application requests')
  if (!second) return { kind: 'bound', site: only }
  const site =
    sites.find(({ id }) => id === chosenSiteId) ?? sites.find(({ id }) => id === rememberedSiteId)
  return site ? { kind: 'bound', site } : { kind: 'choose', sites }
}

const refused = (why: string) => ({ kind: 'refused', why }) as const

/** Creates the query for a person's sites, sorted by name, with the person's roles and the reviews of a client. */
export function makeFindHeldSites({ kysely }: Database) {
  const query = compiled(kysely, (value: Valued<{ personId: string; clientId: string }>) =>
    kysely
      .selectFrom('site_role')
      .innerJoin('site', 'site.id', 'site_role.site_id')
      .leftJoin('document_site_review as d', (join) =>
        join.onRef('d.site_id', '=', 'site.id').on('d.client_id', '=', value('clientId')),
      )
      .leftJoin('site_assurance as a', (join) =>
        join.onRef('a.site_id', '=', 'site.id').on('a.areas', '=', EVERYTHING),
      )
      .leftJoin('site_feature as own', (join) =>
        join.onRef('own.site_id', '=', 'site.id').on('own.feature', '=', OWN_SIGN_IN),
      )
      .select(['site.id', 'site.slug', 'site.name', 'site_role.role', 'own.enabled_at'])
      .select(['d.review', 'd.fingerprint', 'a.areas', 'a.max_age_seconds'])
      .where('site_role.person_id', '=', value('personId'))
      .orderBy('site.name')
      .orderBy('site.id')
      .orderBy('site_role.role'),
  )
  return async (personId: string, clientId = ''): Promise<HeldSite[]> => {
    const { rows } = await query({ personId, clientId })
    const sites = new Map<string, HeldSite & { roles: SiteRole[] }>()
    for (const each of rows) {
      const { role, review, fingerprint, areas, max_age_seconds, enabled_at, ...row } = each
      const decided = review !== null && { documentReview: { review, fingerprint } }
      const maxAgeSeconds = max_age_seconds ?? undefined
      const demanded = areas !== null && { operatorDemand: { maxAgeSeconds } }
      const own = enabled_at !== null && ({ hasOwnSignIn: true } as const)
      const site = sites.get(row.id) ?? { ...row, ...decided, ...demanded, ...own, roles: [] }
      site.roles.push(role)
      sites.set(row.id, site)
    }
    return [...sites.values()]
  }
}

/** Returns the condition that a person has a role at a site. Both parameters are names of columns that contain ids. */
export const hasRole = (person: string, site: string) =>
  sql<boolean>`exists (select 1 from site_role as any_role
    where any_role.person_id = ${sql.ref(person)} and any_role.site_id = ${sql.ref(site)})`

/** Finds the translated names of a person's sites. Returns a function that names a site in the reader's language. */
export async function findSiteNames({ kysely }: Pick<Database, 'kysely'>, personId: string) {
  const rows = await kysely
    .selectFrom('site_appearance')
    .select(['site_id', 'texts'])
    .where('texts', '<>', '[]')
    .where('site_id', 'in', (eb) =>
      eb.selectFrom('site_role').select('site_id').where('person_id', '=', personId),
    )
    .execute()
  const texts = new Map(rows.map((row) => [row.site_id, JSON.parse(row.texts) as LocalTexts[]]))
  return ({ id, name }: { readonly id: string; readonly name: string }): Html =>
    shownText({ name, texts: texts.get(id) ?? [] }, 'displayName')
}
