import { setTimeout as delay } from 'node:timers/promises'

import type { ServiceProcess } from '../test/support/process.ts'
import { residentMiB } from './cores.ts'
import { medians } from './rounds.ts'

/** The time from the start of a process to its first response, and its memory when idle. */
export interface StartFigure {
  readonly ms: number
  readonly idleMiB: number
}

const IDLE_AFTER_MS = 1_000

/** Measures start-up time and idle memory. @param start starts a process, and waits for its first response */
export async function measureStarts(
  start: () => Promise<ServiceProcess>,
  runs: number,
): Promise<StartFigure> {
  const found: StartFigure[] = []
  for (let run = 0; run < runs; run += 1) {
    const startedAtMs = performance.now()
    await using service = await start()
    const ms = performance.now() - startedAtMs
    await delay(IDLE_AFTER_MS)
    found.push({ ms, idleMiB: residentMiB(service.pid) })
    // A killed process would not write the compile cache.
    await service.stop()
  }
  return medians(found)
}
