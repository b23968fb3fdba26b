/** The texts of pages and mail, in the language of the reader: ICU messages in one catalogue per language. */

import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import type { IntlMessageFormat } from 'intl-messageformat'

import { type Html, type HtmlValue, html, localized, type Reader } from './html.ts'
import english from './languages/en.json' with { type: 'json' }

export type TextId = keyof typeof english

/** A value for a message: a number, markup, text, or a function that renders the content of a tag in the message. */
type TextValue = HtmlValue | ((content: HtmlValue) => Html)

/** The languages that have a catalogue, the default first. */
export const languages = ['en', 'de', 'es', 'fr', 'ja', 'pt'] as const
type Language = (typeof languages)[number]

/** Returns the languages of a site's pages and mail: the chosen languages or, by default, all. */
export function siteLanguages(chosen: readonly string[] = []): readonly Language[] {
  return chosen.length === 0 ? languages : languages.filter((each) => chosen.includes(each))
}

/** Returns the name of a language in that language, such as “Deutsch”. */
export function languageName(language: string): string {
  return new Intl.DisplayNames(language, { type: 'language' }).of(language) ?? language
}

/** Names a language in the language of the reader. */
export function languageText(language: string): Html {
  return localized((reader) =>
    new Intl.DisplayNames(reader.language, { type: 'language' }).of(language),
  )
}

let zones: readonly string[] | undefined

/** Returns the time zones that a person can choose for the times on pages. Builds the list on first use. */
export function timeZones(): readonly string[] {
  zones ??= ['UTC', ...Intl.supportedValuesOf('timeZone')]
  return zones
}

export type TextValues = Readonly<Record<string, TextValue>>

/**
 * Returns a text from the catalogue. Its ICU message can use `values` in arguments and plurals, and tags that `values`
 * or `marks` render.
 */
export function text(id: TextId, values: TextValues = {}): Html {
  const all = { ...marks, ...values } as never
  return localized(({ language }) => loadMessage(id, language).format(all) as HtmlValue)
}

/** Returns a text whose id is computed; undefined if the catalogue has none. */
export function textIfAny(id: string, values?: TextValues): Html | undefined {
  return Object.hasOwn(catalogueOf('en'), id) ? text(id as TextId, values) : undefined
}

/** Renders a tag of a message as a link. */
export const inLink = (href: string) => (content: HtmlValue) =>
  html`<a href="${href}">${content}</a>`

const inBold = (content: HtmlValue) => html`<strong>${content}</strong>`

/** Renders a value or a tag of a message as code. */
export const inCode = (content: HtmlValue) => html`<code>${content}</code>`

/** Tags that every message can use: for bold text, code, muted text, and text for screen readers only. */
const marks = {
  b: inBold,
  c: inCode,
  m: (content: HtmlValue) => html`<span class="muted">${content}</span>`,
  h: (content: HtmlValue) => html`<span class="hidden">${content}</span>`,
}

/** Renders English text that is in no catalogue, such as text from a protocol or another program. */
export const inEnglish = (content: HtmlValue) => html`<bdi lang="en">${content}</bdi>`

/** Returns the language of the first tag (BCP 47) whose language is in `among`, such as `pt` for `pt-BR`. */
export function availableLanguage(
  tags: readonly (string | null | undefined)[],
  among: readonly Language[] = languages,
): Language | undefined {
  const wanted = tags.map((tag) => tag?.split('-', 1)[0]?.toLowerCase())
  const found = wanted.find((tag) => among.some((language) => language === tag))
  return found as Language | undefined
}

/** Attributes of an element: the language of its texts, and the direction of its script. */
export const languageAttributes = localized(({ language }) => {
  // TypeScript does not know this property of Intl.Locale yet.
  const { textInfo } = new Intl.Locale(language) as unknown as { textInfo: { direction: string } }
  return html` lang="${language}" dir="${textInfo.direction}"`
})

/** Describes an error code for operators. An unknown code is shown with spaces instead of underscores. */
export function errorWords(error: string): HtmlValue {
  return textIfAny(`refusal.${error}`) ?? error.replaceAll('_', ' ')
}

/** Describes an action of the audit trail. Falls back to its stored name if this version does not know it. */
export function actionText(action: string): HtmlValue {
  return textIfAny(`audit.action.${action}`) ?? action
}

/** Describes an area of operator scopes, such as `courses`. */
export function areaText(area: string): Html {
  return textIfAny(`scope.${area}`) ?? inEnglish(area)
}

/** Renders a time in the language and the time zone of the reader. */
export function timeOf(ms: number): Html {
  const date = new Date(ms)
  return html`<time datetime="${date.toISOString()}">${dateText(ms)}</time>`
}

/** Returns a time as text without markup, as in mail. */
export function dateText(ms: number): Html {
  return localized((reader) => dateFormat(reader).format(ms))
}

/** Formats a UTC day, such as “2026-01-31”, in the reader's language. */
export function dayText(date: string): Html {
  return localized(({ language }) =>
    dateFormat({ language, timeZone: 'UTC' }, day).format(Date.parse(date)),
  )
}

/** Returns a duration as a rounded number of days, hours or minutes, such as “20 minutes”. */
export function durationText(seconds: number): Html {
  const [unit, length] = units.find(([, each]) => seconds >= each) ?? units[2]
  const duration = { [unit]: Math.round(seconds / length) }
  return localized(({ language }) =>
    new Intl.DurationFormat(language, { style: 'long' }).format(duration),
  )
}

const units = [
  ['days', 86_400],
  ['hours', 3600],
  ['minutes', 60],
] as const

/** Renders a number with the digits and separators of the reader's language. */
export function numberText(value: number): Html {
  return localized(({ language }) => value.toLocaleString(language))
}

/** Translates the stored description of a browser, such as `Firefox on Windows`. */
export function deviceText(device: string): Html {
  const [browser, system] = device.split(' on ')
  const named = browser === 'Unknown browser' ? text('device.unknown') : browser
  return system === undefined ? html`${named}` : text('device.on', { browser: named, system })
}

/** Joins values into a list in the reader's language, such as “A, B and C”. */
export function listText(values: readonly HtmlValue[]): Html {
  return localized(({ language }) =>
    new Intl.ListFormat(language)
      .formatToParts(values.map((_, at) => String(at)))
      .map(({ type, value }) => (type === 'element' ? values[Number(value)] : value)),
  )
}

const require = createRequire(import.meta.url)
/** The messages in English and in each other language used so far, by language and id. */
export const catalogues = new Map<string, Readonly<Record<string, string>>>([['en', english]])
const messages = new Map<string, IntlMessageFormat>()
const dateFormats = new Map<string, Intl.DateTimeFormat>()

/** Returns a parsed message. Parses each message on first use, because most processes show only a few. */
function loadMessage(id: TextId, language: string): IntlMessageFormat {
  return cached(messages, `${language} ${id}`, () => {
    const { IntlMessageFormat: Message } =
      require('intl-messageformat') as typeof import('intl-messageformat')
    return new Message(catalogueOf(language)[id] ?? '', language, undefined, { ignoreTag: false })
  })
}

function catalogueOf(language: string): Readonly<Record<string, string>> {
  return cached(catalogues, language, () =>
    JSON.parse(readFileSync(new URL(`languages/${language}.json`, import.meta.url), 'utf8')),
  )
}

const day = { year: 'numeric', month: 'short', day: 'numeric' } as const
const minute = { ...day, hour: '2-digit', minute: '2-digit', timeZoneName: 'short' } as const

function dateFormat({ language, timeZone }: Reader, shown: object = minute): Intl.DateTimeFormat {
  return cached(dateFormats, `${language} ${timeZone} ${shown === day}`, () => {
    // English without a region would put the month first.
    return new Intl.DateTimeFormat(language === 'en' ? 'en-GB' : language, { ...shown, timeZone })
  })
}

function cached<Value>(cache: Map<string, Value>, key: string, create: () => Value): Value {
  const known = cache.get(key) ?? create()
  cache.set(key, known)
  return known
}
