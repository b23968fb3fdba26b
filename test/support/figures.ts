import { join } from 'node:path'

import { readConfig } from '../../src/config/config.ts'
import { fetchBounds } from '../../src/oauth/clients/fetch-governor.ts'
import { REFUSALS_PER_CLIENT } from '../../src/pages/applications/refused-requests.ts'

export function defaultsInForce() {
  return readConfig({}, join(import.meta.dirname, '../../config'))
}

/** Replaces each `{setting}` in a text with its value in the default configuration or the code. */
export function fillFigures(text: string): string {
  const known = { ...defaultsInForce().service, fetchBounds }
  const figures = { ...known, refusals: { perClient: REFUSALS_PER_CLIENT } }
  return text.replaceAll(/\{(\w+)\.(\w+)\}/g, (_all, section: string, name: string) => {
    const value = Object(Object(figures)[section])[name]
    if (typeof value !== 'number') throw new Error(`there is no number ${section}.${name}`)
    if (name.endsWith('Seconds')) return renderDuration(value)
    return name.endsWith('Days') ? `${value} days` : renderNumber(value)
  })
}

/** Formats a number. Adds commas from 10,000 on. */
export function renderNumber(value: number): string {
  return value < 10_000 ? String(value) : value.toLocaleString('en')
}

const units = Object.entries({ day: 86_400, hour: 3600, minute: 60 })

/** Formats a duration in the largest unit that fits, such as "90 days". */
export function renderDuration(seconds: number): string {
  const [name, length] = units.find(([, unit]) => seconds >= unit) ?? (['second', 1] as const)
  const count = Math.round(seconds / length)
  return `${count} ${name}${count === 1 ? '' : 's'}`
}
