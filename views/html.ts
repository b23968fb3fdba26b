/** Escaped markup. Every value is text until the `html` tag has escaped it, so pages cannot forget escaping. */

class Markup {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** Escaped markup. The class is not exported, so other files create markup only with the functions below. */
export type Html = Markup

/** A value in a template. `false`, `null` and `undefined` render nothing. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[]

/**
 * Renders a template and escapes its values. Values may appear in text and in quoted attributes, but not in unquoted
 * attributes or scripts.
 */
export function html(template: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Markup(String.raw({ raw: template }, ...values.map(render)))
}

/** Replaces the placeholders `{name}` in a text of views/texts. Escapes the text and the values. */
export function fill(text: string, values: Readonly<Record<string, HtmlValue>>): Html {
  const parts = text.split(/\{(\w+)\}/)
  return new Markup(parts.map((part, at) => render(at % 2 === 0 ? part : values[part])).join(''))
}

/**
 * Wraps text that is already markup. Escapes nothing, so text from outside could inject a script. Only for the sign-out
 * form, which the engine passes as text and has escaped, and for our own script.
 */
export function trusted(markup: string): Html {
  return new Markup(markup)
}

function render(value: HtmlValue): string {
  if (value instanceof Markup) return value.toString()
  if (value === undefined || value === null || value === false) return ''
  if (typeof value === 'object') return value.map(render).join('')
  return String(value).replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
}
