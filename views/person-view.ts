/** Who is signed in, as pages show it. */
export interface PersonView {
  readonly name: string
  readonly email: string
}

const list = new Intl.ListFormat('en', { type: 'conjunction' })

/** The roles of a person at a site, in words: "your roles: owner and lecturer". */
export function rolesPhrase(roles: readonly string[]): string {
  if (roles.length === 0) return 'you have no role there'
  return `${roles.length === 1 ? 'your role' : 'your roles'}: ${list.format(roles)}`
}
