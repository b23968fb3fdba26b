/** A JSON Schema (2020-12), as a client reads it. */
export type JsonSchema = { readonly [keyword: string]: unknown }

/**
 * The keywords that every host hands to every model. Of the rest some APIs refuse the whole request:
 * `additionalProperties`, `$schema`, `format` and `anyOf` at Google's, lengths and patterns where a schema is taken strictly.
 * What they would say stands in the description, and is checked here all the same.
 */
const keywords = ['type', 'description', 'properties', 'required', 'enum', 'items'] as const

/** A schema of arguments in the plainest form that says what is wanted. */
export function plainSchema(schema: JsonSchema): JsonSchema {
  const kept = keywords.filter((keyword) => keyword in schema)
  return Object.fromEntries(kept.map((keyword) => [keyword, plain(keyword, schema[keyword])]))
}

function plain(keyword: (typeof keywords)[number], value: unknown): unknown {
  if (keyword === 'items') return plainSchema(value as JsonSchema)
  if (keyword !== 'properties') return value
  return Object.fromEntries(
    Object.entries(value as Readonly<Record<string, JsonSchema>>).map(([name, property]) => [
      name,
      plainSchema(property),
    ]),
  )
}

/** The arguments that fit, as a sentence for whoever sent others. */
export function takesWords({ properties, required }: JsonSchema): string {
  const needed = new Set((required ?? []) as string[])
  const names = Object.keys((properties ?? {}) as object)
  if (names.length === 0) return 'It takes no arguments.'
  const said = names.map((name) => (needed.has(name) ? `${name} (required)` : name))
  return `It takes ${said.join(', ')}.`
}
