/**
 * The room of who runs the service: import and export, the demo campus, backup and restore, doctor, clean-up, and the
 * commands.
 */

import type { Config } from '../config/config.ts'
import type { Directory } from '../directory/directory.ts'
import type { Platform } from '../platform/platform.ts'
import type { BackgroundTask } from '../platform/process/background-tasks.ts'
import { makeCleanUp } from './clean-up/clean-up.ts'
import { type DemoPeople, settleDemo } from './import/demo-campus.ts'

export interface Ops {
  /** Sample accounts to show at start-up; none where the demo campus is not served. */
  readonly demoPeople: DemoPeople
  readonly cleanUp: BackgroundTask
}

export async function makeOps(
  { demoFolder, mayServeDemo, baseUrl, host, databaseUrl, service }: Config,
  platform: Platform,
  { people }: Directory,
): Promise<Ops> {
  const { database, logger, now } = platform
  const { lifetimes, storage, audit } = service
  const { hashPassword } = people
  const demo = { demoFolder, mayServeDemo, baseUrl, host, databaseUrl, hashPassword, now }
  const demoPeople = await settleDemo(database, demo)
  // From the first to the last token of a family.
  const tokensLiveSeconds = lifetimes.refreshTokenAbsoluteSeconds + lifetimes.accessTokenSeconds
  const keeping = { tokensLiveSeconds, auditDays: audit.keepDays }
  const everySeconds = storage.sweepSeconds
  const run = makeCleanUp({ database, logger, runSeconds: everySeconds, keeping, now })
  const onlyWhen = platform.sweeps
  return { demoPeople, cleanUp: { name: 'clean-up', everySeconds, run, onlyWhen } }
}
