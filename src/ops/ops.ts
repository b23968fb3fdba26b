/** Loads the demo campus if allowed, and creates the records route and the clean-up tasks. Commands are in ops/cli. */

import type { Config } from '../config/config.ts'
import type { Directory } from '../directory/directory.ts'
import type { Platform } from '../platform/platform.ts'
import { deletionTask } from '../school/privacy/delete-account.ts'
import { makeCleanUp } from './clean-up/clean-up.ts'
import { settleDemo } from './import/demo-campus.ts'
import { recordsRoute } from './import/records-route.ts'

export async function makeOps(config: Config, platform: Platform, { passwords }: Directory) {
  const { database, logger, now } = platform
  const { lifetimes, storage, audit } = config.service
  const demoPeople = await settleDemo(config, platform, passwords.hash)
  // The maximum lifetime of a token family and its tokens, unless an operator application waives it (design 40).
  const tokensLiveSeconds = lifetimes.refreshTokenAbsoluteSeconds + lifetimes.accessTokenSeconds
  const retention = { tokensLiveSeconds, auditDays: audit.keepDays }
  const everySeconds = storage.sweepSeconds
  const run = makeCleanUp({ database, logger, runSeconds: everySeconds, retention, now })
  const cleanUp = { name: 'clean-up', everySeconds, run, onlyWhen: platform.sweeps }
  const records = recordsRoute(config, platform)
  return { demoPeople, records, tasks: [cleanUp, deletionTask(platform, everySeconds)] }
}
