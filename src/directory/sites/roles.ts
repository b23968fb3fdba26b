import type { SiteRole } from '../../platform/store/schema.ts'

const operatorRoles: ReadonlySet<SiteRole> = new Set(['owner', 'admin'])

/** Whether these roles make the person an operator of the site (design 15). */
export function operates(roles: readonly SiteRole[]): boolean {
  return roles.some((role) => operatorRoles.has(role))
}
