import type { Html } from './html.ts'
import { listText, text, textIfAny } from './text.ts'

/** The signed-in person, as pages show them. */
export interface PersonView {
  readonly name: string
  readonly email: string
}

/** Formats the roles of a person at a site: "your roles: owner and lecturer". */
export function rolesPhrase(roles: readonly string[]): Html {
  return text('person.roles', { count: roles.length, roles: roleList(roles) })
}

/** Lists the names of roles. */
export function roleList(roles: readonly string[]): Html {
  return listText(roles.map((role) => textIfAny(`role.${role}`) ?? role))
}
