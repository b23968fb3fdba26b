import { CLOCK_DIFFERENCE_MAX_MS } from '../../platform/store/clock.ts'
import { type CheckName, type Finding, found, ok } from '../doctor/checks.ts'

/** What a look finds; one that fails is a finding too. */
export async function orFound(
  check: CheckName,
  complaint: string,
  look: () => Promise<Finding[]>,
): Promise<Finding[]> {
  try {
    return await look()
  } catch (error) {
    const said = error instanceof Error ? error.message : String(error)
    return [found(check, `${complaint}: ${said.replace(/\.$/, '')}`)]
  }
}

/** Processes whose clocks differ disagree about what has expired. */
export function compareClocks(other: string, theirsMs: number, beforeMs: number): Finding {
  const difference = Math.round(theirsMs - (beforeMs + Date.now()) / 2)
  if (Math.abs(difference) <= CLOCK_DIFFERENCE_MAX_MS) {
    return ok(`The clocks of this machine and of ${other} agree.`)
  }
  return found(
    'clock.differs',
    `The clocks of this machine and of ${other} differ by ${Math.abs(difference)} ms`,
  )
}
