/** JSON in which every string may hold placeholders. */
export type Content =
  | string
  | number
  | boolean
  | readonly Content[]
  | { readonly [name: string]: Content }

/** What stands in the table for the values of one site. */
export const placeholders = ['url', 'client_id', 'server', 'site', 'scopes'] as const

/** The values of one site and one application. */
export interface Values {
  /** The address that the assistant connects to. */
  readonly url: string
  /** Of the site's application; empty where the assistant registers itself. */
  readonly clientId: string
  /** By which the assistant knows the server: letters, digits and hyphens. */
  readonly server: string
  /** The name of the site, which its owners chose freely. */
  readonly site: string
  readonly scopes: readonly string[]
}

const form = /\{([a-z_]+)\}/g

/** Puts the values into a text, in one go: what a value holds is never read as a placeholder. */
export function fill(text: string, { url, clientId, server, site, scopes }: Values): string {
  const all: Record<string, string> = {
    ...{ url, server, site },
    ...{ client_id: clientId, scopes: scopes.join(' ') },
  }
  return text.replace(form, (whole, name) => (Object.hasOwn(all, name) ? (all[name] ?? '') : whole))
}

/** The same in names and values of JSON; a list that holds `{scopes}` alone becomes the list of scopes. */
export function fillContent(content: Content, values: Values): Content {
  if (typeof content === 'string') return fill(content, values)
  if (typeof content !== 'object') return content
  if (isList(content)) {
    if (content.length === 1 && content[0] === '{scopes}') return values.scopes
    return content.map((each) => fillContent(each, values))
  }
  return Object.fromEntries(
    Object.entries(content).map(([name, value]) => [
      fill(name, values),
      fillContent(value, values),
    ]),
  )
}

function isList(content: object): content is readonly Content[] {
  return Array.isArray(content)
}

/** The names of all placeholders in a value of the table, known ones and others. */
export function placeholdersIn(value: unknown): string[] {
  const names = JSON.stringify(value).matchAll(form)
  return [...new Set([...names].map(([, name = '']) => name))]
}
