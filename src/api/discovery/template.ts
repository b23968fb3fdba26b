/** What a name stands for; a section of a name that is empty or false is left out. */
export type TemplateValues = Readonly<Record<string, string | boolean>>

/**
 * Fills a text with values: `{{name}}` is replaced, what stands between `{{#name}}` and `{{/name}}`
 * stays only when the name has a value, and between `{{^name}}` and `{{/name}}` only when it has none.
 * A section whose marks stand on lines of their own takes these lines with it.
 *
 * @throws when the text asks for a name that has no value, never asks for one that has, or does not
 *   close a section
 */
export function fillTemplate(template: string, values: TemplateValues): string {
  const named = new Set([...template.matchAll(/\{\{[#^/]?(\w+)\}\}/g)].map(([, name = '']) => name))
  const unknown = [...named].filter((name) => !Object.hasOwn(values, name))
  const unused = Object.keys(values).filter((name) => !named.has(name))
  if (unknown.length > 0) throw new Error(`no value for ${unknown.join(', ')}`)
  if (unused.length > 0) throw new Error(`no place for ${unused.join(', ')}`)
  const text = keepSections(template, values)
  const [open] = /\{\{[#^/]\w*\}\}/.exec(text) ?? []
  if (open !== undefined) throw new Error(`${open} has no counterpart`)
  return text.replace(/\{\{(\w+)\}\}/g, (_, name) => String(values[name]))
}

/** Sections stand within one another, but never within one of the same name. */
function keepSections(text: string, values: TemplateValues): string {
  const section = /\{\{([#^])(\w+)\}\}(\n?)([\s\S]*?)\{\{\/\2\}\}\3/g
  return text.replace(section, (...[, mark, name, , inside]: string[]) =>
    Boolean(values[name ?? '']) === (mark === '#') ? keepSections(inside ?? '', values) : '',
  )
}
