/** The `doctor` command: runs all checks and reports the findings. */

import type { Config } from '../../config/config.ts'
import { isNamedLoopback } from '../../platform/http/loopback.ts'
import { asOneLine, CommandRefused, type Given } from '../cli/command-line.ts'
import { type Finding, formatFinding, found, ok } from './checks.ts'
import * as machine from './machine-checks.ts'
import { checkOutside } from './outside-checks.ts'
import { checkDatabase, checkRedis } from './store-checks.ts'

const EXIT_CODE_WEAK = 3

/** The checks in the order of the report, except those in `checkOutside`, which come last. */
const checks: readonly ((config: Config) => AsyncIterable<Finding> | Iterable<Finding>)[] = [
  ({ baseUrl }) => [ok(`The configuration is valid; the issuer is ${baseUrl}.`)],
  checkDatabase,
  checkRedis,
  machine.checkPermissions,
  machine.checkBucket,
  machine.checkMail,
  checkPolicy,
  machine.checkMetrics,
]

/**
 * Runs all checks and returns the report. Creates no database or keys, and applies no migrations.
 *
 * @throws {CommandRefused} with the report, if anything is wrong or weak
 */
export async function diagnose(
  config: Config,
  { outside = false, json = false }: Given,
): Promise<string> {
  const findings: Finding[] = []
  for (const check of checks) findings.push(...(await Array.fromAsync(check(config))))
  findings.push(...(await checkOutside(config.baseUrl, outside)))
  const report = json
    ? JSON.stringify({ findings }, null, 2)
    : // The report contains names chosen by operators and clients, so make each line safe for a terminal.
      findings.map((finding) => asOneLine(formatFinding(finding))).join('\n')
  for (const [severity, exitCode] of [
    ['wrong', 1],
    ['weak', EXIT_CODE_WEAK],
  ] as const) {
    const { length } = findings.filter((finding) => finding.severity === severity)
    if (length === 0) continue
    throw new CommandRefused(report, `Findings (${severity}): ${length}.`, exitCode)
  }
  return report
}

/** Reports settings that allow metadata documents from any host, or callbacks on hosts such as `localhost`. */
function* checkPolicy({ service }: Config): Generator<Finding> {
  if (service.metadataDocuments.openRegistration) {
    yield found('policy.any-document', 'Metadata documents are accepted from any host')
  }
  const named = service.loopbackHosts.filter(isNamedLoopback).join(', ')
  if (named !== '') {
    yield found('policy.named-loopback', `Programs may register callbacks at ${named}`)
  }
}
