/**
 * Parses the times in import records. A time is absolute ("2026-03-01T09:00:00Z"), or relative to the time of the
 * import ("30 days ago", "in 14 days at 18:00" in UTC, "now"). The demo uses relative times to be current when loaded.
 */

const unitMs = { minute: 60_000, hour: 3_600_000, day: 86_400_000 } as const

const RELATIVE =
  /^(?:(?<past>\d{1,5}) (?<pastUnit>minute|hour|day)s? ago|in (?<future>\d{1,5}) (?<futureUnit>minute|hour|day)s?)(?: at (?<hour>[01]\d|2[0-3]):(?<minute>[0-5]\d))?$/
const INSTANT = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d{1,3})?)?(?:Z|[+-]\d\d:\d\d)$/

export function isTime(text: string): boolean {
  if (text === 'now' || RELATIVE.test(text)) return true
  return INSTANT.test(text) && !Number.isNaN(Date.parse(text))
}

/** Converts a time to epoch milliseconds. `nowMs` is the base of relative times. */
export function resolveTime(text: string, nowMs: number): number {
  if (text === 'now') return nowMs
  const groups = RELATIVE.exec(text)?.groups
  if (groups === undefined) return Date.parse(text)

  const unit = unitMs[(groups['pastUnit'] ?? groups['futureUnit']) as keyof typeof unitMs]
  const distance = Number(groups['future'] ?? `-${groups['past']}`) * unit
  return groups['hour'] === undefined
    ? nowMs + distance
    : Math.floor((nowMs + distance) / unitMs.day) * unitMs.day +
        Number(groups['hour']) * unitMs.hour +
        Number(groups['minute']) * unitMs.minute
}
