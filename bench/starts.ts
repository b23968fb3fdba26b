import { setTimeout as delay } from 'node:timers/promises'

import type { ServiceProcess } from '../test/support/process.ts'
import { residentMiB } from './cores.ts'
import { median } from './rounds.ts'

/** From the start of the process to its first answer, and its memory without requests. */
export interface StartFigure {
  readonly ms: number
  readonly idleMiB: number
}

const IDLE_AFTER_MS = 1_000

/** @param start starts one with the stores as they are, and waits for its first answer */
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
  }
  return {
    ms: median(found.map(({ ms }) => ms)),
    idleMiB: median(found.map(({ idleMiB }) => idleMiB)),
  }
}
