import { AsyncLocalStorage } from 'node:async_hooks'

import { type Html, html } from './html.ts'

const zones = new Set(['UTC', ...Intl.supportedValuesOf('timeZone')])
/** The time zones that a person can choose for the times on pages. */
export const timeZones: readonly string[] = [...zones]

const readerZone = new AsyncLocalStorage<string>()

/** Renders pages whose times are in a time zone. An unknown zone counts as UTC. */
export async function inZone(zone: string, render: () => Promise<unknown>): Promise<unknown> {
  return await readerZone.run(zones.has(zone) ? zone : 'UTC', render)
}

/** Returns the time zone of the page that is being rendered. */
export function zoneOfReader(): string {
  return readerZone.getStore() ?? 'UTC'
}

const formats = new Map<string, Intl.DateTimeFormat>()

/** Renders a time in the time zone of the reader, which it names. */
export function timeOf(ms: number): Html {
  const zone = zoneOfReader()
  const format = formats.get(zone) ?? formatIn(zone)
  formats.set(zone, format)
  return html`<time datetime="${new Date(ms).toISOString()}">${format.format(ms)}</time>`
}

function formatIn(timeZone: string): Intl.DateTimeFormat {
  const date = { year: 'numeric', month: 'short', day: 'numeric' } as const
  const time = { hour: '2-digit', minute: '2-digit', timeZoneName: 'short' } as const
  return new Intl.DateTimeFormat('en-GB', { ...date, ...time, timeZone })
}
