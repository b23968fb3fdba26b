import type { Context } from 'koa'

import type { Reader } from '../../../views/html.ts'
import { availableLanguage, siteLanguages, timeZones } from '../../../views/text.ts'

type Tag = string | null | undefined

/** Language tags (BCP 47) and the time zone for the page rendered for a request. */
interface Preferences {
  /** The languages that the request names, in order. They take precedence. */
  readonly request?: readonly Tag[]
  readonly person?: Tag
  readonly site?: Tag
  /** The languages that the site of the page offers; undefined for all languages. */
  readonly languages?: readonly string[] | undefined
  readonly timeZone?: Tag
}

/** The maximum number of languages in `ui_locales`. Further languages are ignored. */
const UI_LOCALES_MAX = 10

/** Reads the space-separated languages of the parameter `ui_locales` (OpenID Connect Core §3.1.2.1). */
export function readUiLocales(value: unknown): readonly string[] {
  return typeof value === 'string' ? value.split(' ', UI_LOCALES_MAX) : []
}

/** Adds preferences for the page rendered for this request. Callers add those of the request, person or site. */
export function prefer(ctx: Context, preferences: Preferences): void {
  ctx.state['preferences'] = { ...ctx.state['preferences'], ...preferences }
}

/** The cookie with the time zone that a person chose. A page without scripts cannot detect the time zone. */
const ZONE_COOKIE = 'gatehouse_zone'
const ZONE_KEPT_MS = 365 * 86_400_000

/** Stores the time zone for the times on pages. Ignores an unknown time zone. */
export function keepZone(ctx: Context, zone: string): void {
  if (!timeZones().includes(zone)) return
  const options = { httpOnly: true, sameSite: 'lax', secure: ctx.secure, signed: false } as const
  ctx.cookies.set(ZONE_COOKIE, zone, { ...options, maxAge: ZONE_KEPT_MS })
}

/** Returns the language and the time zone for a page. If no preferred language is available, uses Accept-Language. */
export function readerOf(ctx: Context): Reader {
  const preferences = (ctx.state['preferences'] ?? {}) as Preferences
  const { request = readUiLocales(ctx.query['ui_locales']), person, site, timeZone } = preferences
  const languages = siteLanguages(preferences.languages)
  const zones = [ctx.cookies.get(ZONE_COOKIE, { signed: false }), timeZone]
  ctx.vary('Accept-Language')
  const accepted = () => ctx.acceptsLanguages([...languages]) || String(languages[0])
  return {
    language: availableLanguage([...request, person, site], languages) ?? accepted(),
    timeZone: zones.find((zone) => zone && timeZones().includes(zone)) ?? 'UTC',
  }
}
