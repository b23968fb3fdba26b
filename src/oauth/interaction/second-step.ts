import type { Authentication, FirstMethod } from '../../directory/people/authentication.ts'
import { openOrNothing, type Seals } from '../../directory/people/second-factors.ts'

/** A sign-in whose first method succeeded. Until the second step succeeds, it has no effect. */
export interface FirstStep extends Omit<Authentication, 'methods'> {
  readonly method: FirstMethod
  /** Whether the person has an authenticator app. */
  readonly needsSecondFactor: boolean
  readonly isNewBrowser: boolean
  /** The new value of the known-browser cookie. */
  readonly browser: string
}

/** How long a person has for the second step, in milliseconds. */
const STEP_MS = 600_000

const labelOf = (uid: string) => `the first step of the sign-in ${uid}`

/** Creates the functions that seal a first step for one interaction, which belongs to one browser, and open it. */
export function makeFirstSteps({ seal, open }: Seals, now: () => number) {
  return {
    seal: (uid: string, first: FirstStep): string =>
      seal(JSON.stringify({ ...first, sealedAt: now() }), labelOf(uid)),
    /** Opens a first step; undefined if it is too old, or was not sealed for this interaction. */
    open(uid: string, sealed: string): FirstStep | undefined {
      const opened = openOrNothing({ open }, sealed, labelOf(uid))
      if (opened === undefined) return undefined
      const { sealedAt, ...first } = JSON.parse(opened) as FirstStep & { readonly sealedAt: number }
      return now() <= sealedAt + STEP_MS ? first : undefined
    },
  }
}
