/**
 * The room of who runs the service: import and export, the demo campus, backup and restore, doctor, clean-up, and the
 * commands.
 */

import type { Directory } from '../directory/directory.ts'
import type { Platform } from '../platform/platform.ts'
import type { BackgroundTask } from '../platform/process/background-tasks.ts'
import { makeCleanUp } from './clean-up/clean-up.ts'
import { type DemoPeople, type DemoSettings, settleDemo } from './import/demo.ts'

export interface OpsSettings extends Omit<DemoSettings, 'hashPassword' | 'now'> {
  readonly sweepSeconds: number
  /** How long a token of a family may live, from its first to its last. */
  readonly tokensLiveSeconds: number
  readonly auditKeepDays: number
  /** Whether this process does what one of the processes of a host does for all. */
  readonly sweeps: (() => boolean) | undefined
}

export interface Ops {
  /** Sample accounts to show at start-up; none where the demo campus is not served. */
  readonly demoPeople: DemoPeople
  readonly cleanUp: BackgroundTask
}

export async function makeOps(
  platform: Platform,
  { people }: Directory,
  settings: OpsSettings,
): Promise<Ops> {
  const { database, logger, now } = platform
  const { sweepSeconds, tokensLiveSeconds, auditKeepDays, sweeps } = settings
  const demoPeople = await settleDemo(database, {
    demoFolder: settings.demoFolder,
    mayServeDemo: settings.mayServeDemo,
    baseUrl: settings.baseUrl,
    host: settings.host,
    databaseUrl: settings.databaseUrl,
    hashPassword: people.hashPassword,
    now,
  })
  const cleanUp = makeCleanUp({
    database,
    logger,
    runSeconds: sweepSeconds,
    keeping: { tokensLiveSeconds, auditDays: auditKeepDays },
    now,
  })
  const run = cleanUp.run
  return {
    demoPeople,
    cleanUp: { name: 'clean-up', everySeconds: sweepSeconds, run, onlyWhen: sweeps },
  }
}
