import { defaultsInForce, fillFigures, renderDuration } from '../../test/support/figures.ts'
import { code, page, renderTable, type Tables } from '../../test/support/markdown.ts'
import { remembered } from '../../test/support/reference-data.ts'
import {
  type Kept,
  keptForStrangers,
  keptInAnHour,
  keptOfNetwork,
} from '../../test/support/strangers/stored-rows.ts'

/** Tables of docs/reference, generated from those in test/support/strangers. */
export const strangerTables: Tables = { stored: renderStored, remembered: renderRemembered }

function renderRemembered(): string {
  const rows = remembered.map(([file = '', what = '', bound = '']) => [
    ...[what, `[${file}](../../${file})`, fillFigures(bound)],
  ])
  return renderTable(['what', 'file', 'bound'], rows)
}

function renderStored(): string {
  const kept = keptForStrangers(defaultsInForce())
  const rows = kept.map((each) => {
    const { what, at, where, seconds, bytesMax, bound } = each
    const most = keptOfNetwork(each)
    const time = seconds === undefined ? 'until replaced' : renderDuration(seconds)
    const inAll = most === undefined ? 'as the bound' : size(most)
    return [what, code(...at), where, time, size(bytesMax), bound, inAll]
  })
  return page(
    renderTable(['what', 'at', 'where', 'how long', 'size of one', 'bound', 'one network'], rows),
    total(kept),
  )
}

function total(kept: readonly Kept[]): string {
  const hours = new Map<string, number>()
  for (const each of kept) {
    // Rows with the same limit share it, so count only the largest of these rows.
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
