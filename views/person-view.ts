/** The signed-in person, as pages show them. */
export interface PersonView {
  readonly name: string
  readonly email: string
}

const list = new Intl.ListFormat('en', { type: 'conjunction' })

/** Formats the roles of a person at a site: "your roles: owner and lecturer". */
export function rolesPhrase(roles: readonly string[]): string {
  if (roles.length === 0) return 'you have no role there'
  return `${roles.length === 1 ? 'your role' : 'your roles'}: ${list.format(roles)}`
}
