import { pino } from 'pino'

import { makeCleanUp, type Retention } from '../../src/ops/clean-up/clean-up.ts'
import type { Database } from '../../src/platform/store/database.ts'

export const usualRetention: Retention = { tokensLiveSeconds: 90 * 86_400 + 3600, auditDays: 400 }

/** Deletes all rows that have expired by `nowMs`, as the service does. */
export async function cleanUpAt(database: Database, nowMs: number): Promise<void> {
  const cleanUp = makeCleanUp({
    database,
    retention: usualRetention,
    logger: pino({ level: 'silent' }),
    runSeconds: 60,
    now: () => nowMs,
  })
  await cleanUp(new AbortController().signal)
}
