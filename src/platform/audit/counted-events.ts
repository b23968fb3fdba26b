import { eventActions } from './audit-actions.ts'
import type { AuditNote } from './event-rows.ts'

/** Of each action, so many kinds a minute are told apart; all others of it are one. */
export const KINDS_PER_MINUTE = { byAnybody: 100, withSession: 20_000 } as const
const MINUTE_MS = 60_000

/** Events that are the same but for their moment. */
export interface CountedEvents {
  readonly note: AuditNote
  readonly times: number
  /** When the last of them was. */
  readonly at: number
}

/** Events of one kind within one minute. */
interface Tally {
  readonly note: AuditNote
  readonly minute: number
  isTold: boolean
  at: number
  /** Not told yet. */
  times: number
}

/**
 * Counts events, of which there can be as many as there is time for. Those that are the same within a
 * minute are told twice at most: the first at once, and how many more there were when the minute is over.
 */
export function countEvents() {
  let tallies = new Map<string, Tally>()
  const kinds = new Map<string, number>()

  return {
    count(note: AuditNote, at: number): void {
      const minute = Math.floor(at / MINUTE_MS)
      const { action, clientId, siteId, grantId, personId, aboutPersonId, reason } = note
      const own = JSON.stringify([
        action,
        minute,
        clientId,
        siteId,
        grantId,
        personId,
        aboutPersonId,
        reason,
      ])
      const rest = JSON.stringify([action, minute])
      const known = kinds.get(rest) ?? 0
      const { byAnybody } = eventActions[action]
      const kindsMax = KINDS_PER_MINUTE[byAnybody ? 'byAnybody' : 'withSession']
      const isApart = tallies.has(own) || known < kindsMax
      const key = isApart ? own : rest
      const tally = tallies.get(key)
      if (tally) Object.assign(tally, { at, times: tally.times + 1 })
      else {
        kinds.set(rest, known + 1)
        const told = isApart ? note : { action, reason: 'more of the same, of many kinds' }
        tallies.set(key, { note: told, minute, isTold: false, at, times: 1 })
      }
    },

    /** What is to be written by now: all of it when nothing is to come any more. */
    take(nowMs: number, all: boolean): CountedEvents[] {
      const minute = Math.floor(nowMs / MINUTE_MS)
      const due = [...tallies.values()].filter(
        (tally) => tally.times > 0 && (all || !tally.isTold || tally.minute !== minute),
      )
      const told = due.map(({ note, times, at }) => ({ note, times, at }))
      for (const tally of due) Object.assign(tally, { isTold: true, times: 0 })
      tallies = new Map([...tallies].filter(([, tally]) => tally.minute === minute))
      for (const key of kinds.keys()) {
        if (JSON.parse(key)[1] !== minute) kinds.delete(key)
      }
      return told
    },
  }
}
