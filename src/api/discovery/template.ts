export type TemplateValues = Readonly<Record<string, string | boolean>>

/**
 * Replaces each `{{name}}` of a template with its value. Removes `{{#name}}…{{/name}}` if the value is empty or
 * false, and `{{^name}}…{{/name}}` otherwise. A line that contains only a section tag leaves no empty line.
 *
 * @throws for an unknown name, an unused value or an unclosed section
 */
export function fillTemplate(template: string, values: TemplateValues): string {
  const named = new Set([...template.matchAll(/\{\{[#^/]?(\w+)\}\}/g)].map(([, name = '']) => name))
  const unknown = [...named].filter((name) => !Object.hasOwn(values, name))
  const unused = Object.keys(values).filter((name) => !named.has(name))
  if (unknown.length > 0) throw new Error(`there is no value for ${unknown.join(', ')}`)
  if (unused.length > 0) throw new Error(`the template does not use ${unused.join(', ')}`)
  const text = keepSections(template, values)
  const [open] = /\{\{[#^/]\w*\}\}/.exec(text) ?? []
  if (open !== undefined) throw new Error(`${open} is not closed`)
  return text.replace(/\{\{(\w+)\}\}/g, (_, name) => String(values[name]))
}

/** Keeps or removes each section. A section must not contain another of the same name. */
function keepSections(text: string, values: TemplateValues): string {
  const section = /\{\{([#^])(\w+)\}\}(\n?)([\s\S]*?)\{\{\/\2\}\}\3/g
  return text.replace(section, (...[, mark, name, , inside]: string[]) =>
    Boolean(values[name ?? '']) === (mark === '#') ? keepSections(inside ?? '', values) : '',
  )
}
