import type { Context } from 'koa'

import type { Reader } from '../../../views/html.ts'
import { availableLanguage, languages, timeZones } from '../../../views/text.ts'

/** Preferred languages (BCP 47), the best first: of the request, then of the person, then of the site. */
interface Preferences {
  readonly languages: readonly (string | null | undefined)[]
  readonly timeZone?: string | null | undefined
}

/** Each value of `ui_locales` beyond this number is ignored. */
const UI_LOCALES_MAX = 10

/** Returns the languages of the parameter `ui_locales`, separated by spaces (OpenID Connect Core §3.1.2.1). */
export function readUiLocales(value: unknown): readonly string[] {
  return typeof value === 'string' ? value.split(' ', UI_LOCALES_MAX) : []
}

/** Sets for whom the next page is rendered. Without an available language, Accept-Language decides. */
export function setPreferences(ctx: Context, preferences: Preferences): void {
  ctx.state['preferences'] = preferences
}

/** A time zone that a person chose for a browser, which a page without scripts cannot know. */
const ZONE_COOKIE = 'gatehouse_zone'
const ZONE_KEPT_MS = 365 * 86_400_000

/** Stores the time zone for the times on pages. Ignores an unknown one. */
export function keepZone(ctx: Context, zone: string): void {
  if (!timeZones.includes(zone)) return
  const options = { httpOnly: true, sameSite: 'lax', secure: ctx.secure, signed: false } as const
  ctx.cookies.set(ZONE_COOKIE, zone, { ...options, maxAge: ZONE_KEPT_MS })
}

/** Returns the language and the time zone for a page. */
export function readerOf(ctx: Context): Reader {
  const preferences = ctx.state['preferences'] as Preferences | undefined
  const preferred = preferences && availableLanguage(preferences.languages)
  const zones = [ctx.cookies.get(ZONE_COOKIE, { signed: false }), preferences?.timeZone]
  ctx.vary('Accept-Language')
  return {
    language: preferred ?? (ctx.acceptsLanguages([...languages]) || languages[0]),
    timeZone: zones.find((zone) => zone && timeZones.includes(zone)) ?? 'UTC',
  }
}
