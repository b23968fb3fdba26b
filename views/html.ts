/**
 * Markup that is safe to send. This file owns the difference between text and markup: everything
 * is text until the `html` tag has escaped it, so a page cannot forget to escape a value.
 */

class Markup {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** Finished markup. The class stays in this file, so that only the tag below can make one. */
export type Html = Markup

/** What may stand in a template; nothing, `null` and `false` render nothing. */
export type HtmlValue = Html | string | number | false | null | undefined | readonly HtmlValue[]

/**
 * Makes markup out of a template and escapes what is put into it. The escape is right for text and
 * for attribute values in quotes; a value must never stand in an unquoted attribute or a script.
 */
export function html(template: TemplateStringsArray, ...values: readonly HtmlValue[]): Html {
  return new Markup(String.raw({ raw: template }, ...values.map(render)))
}

/**
 * Takes ready markup as it is. DANGER: nothing is escaped, so a value from outside in `markup` is a
 * script in the page. It exists for one caller: the protocol engine hands its sign-out form over as
 * text and escapes what it puts there itself.
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
