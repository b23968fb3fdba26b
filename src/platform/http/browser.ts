import type { Context } from 'koa'

import { callerOf } from './request-log.ts'

/**
 * Describes the browser that sent a request, so that people recognize it in a list. `device` is what the browser claims
 * to be, such as `Firefox on Windows`. `network` is the client IP address, shortened as configured for the audit trail.
 */
export function browserOf(ctx: Context) {
  return { device: describeDevice(ctx.get('user-agent')), network: callerOf(ctx).address }
}

// The first match wins, because most headers also contain names from further down the list. Edge also sends “Chrome”.
const browsers = [
  ['Edg', 'Edge'],
  ['OPR/', 'Opera'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Firefox/', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['Chrome/', 'Chrome'],
  ['CriOS', 'Chrome'],
  ['Safari/', 'Safari'],
] as const
const systems = [
  ['Android', 'Android'],
  ['iPhone', 'iPhone'],
  ['iPad', 'iPad'],
  ['Windows', 'Windows'],
  ['CrOS', 'ChromeOS'],
  ['Mac OS X', 'Mac'],
  ['Linux', 'Linux'],
] as const

/** Returns the browser and system that a User-Agent header names. Never returns text from the header. */
export function describeDevice(userAgent: string): string {
  const find = (names: readonly (readonly [part: string, name: string])[]) =>
    names.find(([part]) => userAgent.includes(part))?.[1]
  const [browser = 'Unknown browser', system] = [find(browsers), find(systems)]
  return system === undefined ? browser : `${browser} on ${system}`
}
