import { compiled, type Valued } from '../store/compiled.ts'
import type { Database } from '../store/database.ts'
import type { SiteRole } from '../store/schema.ts'
import { operates } from './roles.ts'

/** A site at which a person holds roles. */
export interface HeldSite {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly roles: readonly SiteRole[]
}

/** To which site a new authorization is bound (design 15 and 16). */
export type SiteDecision =
  /** A plain sign-in: no site is involved. */
  | { readonly kind: 'none' }
  | { readonly kind: 'bound'; readonly site: HeldSite }
  | { readonly kind: 'choose'; readonly sites: readonly HeldSite[] }
  | { readonly kind: 'refused'; readonly why: string }

export interface SiteQuestion {
  /** The site of a site's own client; undefined for every other client. */
  readonly clientSiteId: string | undefined
  /** Whether operator scopes are requested. */
  readonly operator: boolean
  /** Every site where the person holds a role. */
  readonly held: readonly HeldSite[]
  /** What the person chose on the page just now. */
  readonly chosenSiteId: string | undefined
  /** The site of the grant that the session remembers. */
  readonly rememberedSiteId: string | undefined
}

/** Decides the site. Pure; `listHeldSites` brings the facts. */
export function decideSite(question: SiteQuestion): SiteDecision {
  const { clientSiteId, operator, held, chosenSiteId, rememberedSiteId } = question
  if (clientSiteId !== undefined) {
    const site = held.find(({ id }) => id === clientSiteId)
    return site
      ? { kind: 'bound', site }
      : { kind: 'refused', why: 'you have no role at the site of this application' }
  }
  if (!operator) return { kind: 'none' }

  const sites = held.filter(({ roles }) => operates(roles))
  const [only, second] = sites
  if (!only) return { kind: 'refused', why: 'you are neither owner nor admin of a site' }
  if (!second) return { kind: 'bound', site: only }
  const site =
    sites.find(({ id }) => id === chosenSiteId) ?? sites.find(({ id }) => id === rememberedSiteId)
  return site ? { kind: 'bound', site } : { kind: 'choose', sites }
}

/** Finds every site where a person holds a role, by name, with the roles. One query. */
export type FindHeldSites = (personId: string) => Promise<HeldSite[]>

/** Made once, because the Member API asks for them at nearly every request. */
export function makeFindHeldSites({ kysely }: Database): FindHeldSites {
  const query = compiled(kysely, (value: Valued<{ personId: string }>) =>
    kysely
      .selectFrom('site_role')
      .innerJoin('site', 'site.id', 'site_role.site_id')
      .select(['site.id', 'site.slug', 'site.name', 'site_role.role'])
      .where('site_role.person_id', '=', value('personId'))
      .orderBy('site.name')
      .orderBy('site.id')
      .orderBy('site_role.role'),
  )
  return async (personId) => {
    const { rows } = await query({ personId })
    const sites = new Map<string, HeldSite & { roles: SiteRole[] }>()
    for (const { role, ...row } of rows) {
      const site = sites.get(row.id) ?? { ...row, roles: [] }
      site.roles.push(role)
      sites.set(row.id, site)
    }
    return [...sites.values()]
  }
}

/** The same, for pages, which people open seldom. */
export async function listHeldSites(database: Database, personId: string): Promise<HeldSite[]> {
  return await makeFindHeldSites(database)(personId)
}
