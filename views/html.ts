/** Escaped markup. The `html` tag escapes every text value of a template, so pages cannot forget to escape it. */

/** The language (BCP 47) and time zone (IANA) for which a page is rendered. */
export interface Reader {
  readonly language: string
  readonly timeZone: string
  /** For the forms of a page for signed-in people: the path of the page, and the CSRF token of the session. */
  readonly form?: FormContext
}

interface FormContext {
  readonly path: string
  readonly csrf: string
}

type Encode = (text: string) => string

class Markup {
  readonly #render: (reader: Reader, encode: Encode) => string

  constructor(render: (reader: Reader, encode: Encode) => string) {
    this.#render = render
  }

  /** Throws, so that a template literal without the `html` tag is noticed. */
  toString(): never {
    throw new TypeError('markup is not a string; put it into a template with the html tag')
  }

  /** Renders the markup, with texts, dates and numbers in the reader's language. */
  for(reader: Reader, encode = escapeText): string {
    return this.#render(reader, encode)
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
  return new Markup((reader, encode) =>
    String.raw({ raw: template }, ...values.map((value) => renderValue(value, reader, encode))),
  )
}

/** Wraps a value that depends on the reader. The value is escaped like any other. */
export function localized(valueFor: (reader: Reader) => HtmlValue): Html {
  return new Markup((reader, encode) => renderValue(valueFor(reader), reader, encode))
}

/** Renders markup whose forms use the path of a page and the CSRF token of a session. */
export function withForms(markup: Html, form: FormContext): Html {
  return new Markup((reader, encode) => markup.for({ ...reader, form }, encode))
}

/** Removes the tags from markup, for a title or an attribute. Leaves escaped text unchanged. */
export function withoutTags(markup: HtmlValue): Html {
  return new Markup((reader, encode) => renderValue(markup, reader, encode).replace(/<[^>]*>/g, ''))
}

/** Unless an element has `autofocus`, focuses the first invalid field, so the browser scrolls to it. */
export function focusWrongField(markup: Html): Html {
  const [wrong, focus] = [' aria-invalid="true"', ' autofocus']
  return new Markup((reader, encode) => {
    const text = markup.for(reader, encode)
    return text.includes(focus) ? text : text.replace(wrong, wrong + focus)
  })
}

/**
 * Wraps text that is already markup. Escapes nothing, so text from outside could inject a script. Use it only for our
 * own scripts and icons, and for the sign-out form, which the engine passes as text that is already escaped.
 */
export function trusted(markup: string): Html {
  return new Markup(() => markup)
}

/** Renders text without escaping it, for example for plain-text mail and mail headers. */
export function plain(text: HtmlValue, reader: Reader): string {
  return renderValue(text, reader, (each) => each)
}

function renderValue(value: HtmlValue, reader: Reader, encode: Encode): string {
  if (value instanceof Markup) return value.for(reader, encode)
  if (value === undefined || value === null || value === false) return ''
  if (typeof value === 'object')
    return value.map((each) => renderValue(each, reader, encode)).join('')
  return encode(String(value))
}

function escapeText(text: string): string {
  return text.replace(/[&<>"'`]/g, (character) => `&#${character.charCodeAt(0)};`)
}
