import type { Context } from 'koa'

/**
 * The time zone for times on our own pages, which a person chooses for a browser, because a page without scripts cannot
 * know it. It is a cookie, as it is no secret and concerns only this browser.
 */
const COOKIE = 'gatehouse_zone'
const YEAR_MS = 365 * 86_400_000

const zones = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])
export const timeZones: readonly string[] = [...zones]

/** Returns the chosen time zone; UTC if there is none or it is unknown. */
export function zoneOf(ctx: Context): string {
  const zone = ctx.cookies.get(COOKIE, { signed: false }) ?? ''
  return zones.has(zone) ? zone : 'UTC'
}

/** Stores the chosen time zone. Ignores an unknown one. */
export function keepZone(ctx: Context, zone: string): void {
  if (!zones.has(zone)) return
  ctx.cookies.set(COOKIE, zone, {
    ...{ httpOnly: true, sameSite: 'lax', secure: ctx.secure, signed: false, overwrite: true },
    maxAge: YEAR_MS,
  })
}
