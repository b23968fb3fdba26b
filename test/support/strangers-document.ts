import { join } from 'node:path'

import { readConfig } from '../../src/config/config.ts'
import { renderDuration } from './durations.ts'
import { code, page, renderTable } from './markdown.ts'
import {
  type InForce,
  type Kept,
  keptForStrangers,
  keptInAnHour,
  keptOfNetwork,
} from './strangers/kept.ts'
import { rememberedInMemory } from './strangers/remembered.ts'

const introduction = `What unauthenticated callers can make the service store, with the limits of the default configuration. They can store
nothing else: \`test/strangers.test.ts\` sends every method to every path and compares all tables. Sizes are maxima; a
typical authorization request has 700 bytes, a typical registration 300.`

export function defaultsInForce(): InForce {
  return readConfig({}, join(import.meta.dirname, '../../config'))
}

/** docs/reference/stored-for-strangers.md, from the tables in test/support/strangers. */
export function renderStrangers(): string {
  const kept = keptForStrangers(defaultsInForce())
  const memory = rememberedInMemory.map(({ what, file, bound }) => [
    ...[what, `[${file}](../../${file})`, bound],
  ])
  const rows = kept.map((each) => {
    const { what, at, where, seconds, bytesMax, bound } = each
    const most = keptOfNetwork(each)
    const time = seconds === undefined ? 'until replaced' : renderDuration(seconds)
    const inAll = most === undefined ? 'as the bound' : size(most)
    return [what, code(...at), where, time, size(bytesMax), bound, inAll]
  })
  return page(
    introduction,
    '## In the stores',
    renderTable(['what', 'at', 'where', 'how long', 'size of one', 'bound', 'one network'], rows),
    total(kept),
    '## In memory',
    'What a process remembers beyond a request because of callers:',
    renderTable(['what', 'file', 'bound'], memory),
  )
}

function total(kept: readonly Kept[]): string {
  const hours = new Map<string, number>()
  for (const each of kept) {
    // Rows under one limit share it: count the largest only.
    const { limit = each.what } = each
    hours.set(limit, Math.max(hours.get(limit) ?? 0, keptInAnHour(each) ?? 0))
  }
  const sum = [...hours.values()].reduce((one, other) => one + other, 0)
  return `One address adds at most ${size(sum)} an hour to the rows with a number in the last column.`
}

function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`
  return bytes < 1_000_000
    ? `${(bytes / 1000).toFixed(1)} kB`
    : `${(bytes / 1_000_000).toFixed(1)} MB`
}
