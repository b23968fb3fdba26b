/** The values of a template. Sections with an empty or false value are omitted. */
export type TemplateValues = Readonly<Record<string, string | boolean>>

/**
 * Fills a template. Replaces `{{name}}`. Keeps `{{#name}}…{{/name}}` only if the name has a value, and
 * `{{^name}}…{{/name}}` only if it has none. If a line contains only a tag, the whole line is removed.
 *
 * @throws for an unknown name, an unused value or an unclosed section
 */
export function fillTemplate(template: string, values: TemplateValues): string {
  const named = new Set([...template.matchAll(/\{\{[#^/]?(\w+)\}\}/g)].map(([, name = '']) => name))
  const unknown = [...named].filter((name) => !Object.hasOwn(values, name))
  const unused = Object.keys(values).filter((name) => !named.has(name))
  if (unknown.length > 0) throw new Error(`the template has no value for ${unknown.join(', ')}`)
  if (unused.length > 0) throw new Error(`the template does not use ${unused.join(', ')}`)
  const text = keepSections(template, values)
  const [open] = /\{\{[#^/]\w*\}\}/.exec(text) ?? []
  if (open !== undefined) throw new Error(`${open} is not closed`)
  return text.replace(/\{\{(\w+)\}\}/g, (_, name) => String(values[name]))
}

/** Sections can be nested, but not inside a section of the same name. */
function keepSections(text: string, values: TemplateValues): string {
  const section = /\{\{([#^])(\w+)\}\}(\n?)([\s\S]*?)\{\{\/\2\}\}\3/g
  return text.replace(section, (...[, mark, name, , inside]: string[]) =>
    Boolean(values[name ?? '']) === (mark === '#') ? keepSections(inside ?? '', values) : '',
  )
}
