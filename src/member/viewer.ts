import type { Database } from '../store/database.ts'
import type { SiteRole } from '../store/schema.ts'

/** A site at which a person holds a role. */
export interface School {
  readonly id: string
  readonly slug: string
  readonly name: string
  readonly roles: readonly SiteRole[]
}

export interface ViewerData {
  /** Every site, by name; the only question here that reaches beyond the site of a token. */
  listSchools(personId: string): Promise<School[]>
}

export function viewerData({ kysely }: Database): ViewerData {
  return {
    async listSchools(personId) {
      const rows = await kysely
        .selectFrom('site_role')
        .innerJoin('site', 'site.id', 'site_role.site_id')
        .select(['site.id', 'site.slug', 'site.name', 'site_role.role'])
        .where('site_role.person_id', '=', personId)
        .orderBy('site.name')
        .orderBy('site.id')
        .orderBy('site_role.role')
        .execute()
      const schools = new Map<string, School & { roles: SiteRole[] }>()
      for (const { role, ...site } of rows) {
        const school = schools.get(site.id) ?? { ...site, roles: [] }
        school.roles.push(role)
        schools.set(site.id, school)
      }
      return [...schools.values()]
    },
  }
}
