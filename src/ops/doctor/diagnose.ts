/** The command `doctor`: runs all checks and reports the findings. */

import type { Config } from '../../config/config.ts'
import { isNamedLoopback } from '../../platform/http/loopback.ts'
import { asOneLine, CommandRefused } from '../cli/command-output.ts'
import { type Finding, found, lineOf, ok } from './checks.ts'
import * as machine from './machine-checks.ts'
import { checkOutside } from './outside-checks.ts'
import { checkDatabase, checkRedis } from './store-checks.ts'

/** The exit code if nothing is wrong and something is weak. */
const EXIT_CODE_WEAK = 3

/** The checks in the order of the report. One that fails hides none of the others. */
const looks: readonly ((config: Config) => AsyncIterable<Finding> | Iterable<Finding>)[] = [
  ({ baseUrl }) => [ok(`The configuration is valid; the issuer is ${baseUrl}.`)],
  checkDatabase,
  checkRedis,
  machine.checkPermissions,
  machine.checkDisk,
  machine.checkBucket,
  checkPolicy,
  machine.checkMetrics,
  machine.checkCollector,
]

/**
 * Runs every check. Creates no database and no keys, and applies no migration.
 *
 * @param demanded whether an unreachable service is wrong
 * @throws {CommandRefused} with the report, if anything is wrong or weak
 */
export async function diagnose(
  config: Config,
  { demanded, asJson }: { readonly demanded: boolean; readonly asJson: boolean },
): Promise<string> {
  const findings: Finding[] = []
  for (const look of looks) findings.push(...(await Array.fromAsync(look(config))))
  findings.push(...(await checkOutside(config.baseUrl, demanded)))
  const report = asJson
    ? JSON.stringify({ findings }, null, 2)
    : // Operators and clients choose the names in it.
      findings.map((finding) => asOneLine(lineOf(finding))).join('\n')
  for (const [severity, exitCode] of [
    ['wrong', 1],
    ['weak', EXIT_CODE_WEAK],
  ] as const) {
    const { length } = findings.filter((finding) => finding.severity === severity)
    const counted = length === 1 ? `One thing is ${severity}.` : `${length} things are ${severity}.`
    if (length > 0) throw new CommandRefused(report, counted, exitCode)
  }
  return report
}

/** Checks the settings that apply to all clients. */
function* checkPolicy({ service }: Config): Generator<Finding> {
  if (service.metadataDocuments.openRegistration) {
    yield found('policy.any-document', 'Metadata documents of any host are accepted')
  }
  const named = service.loopbackHosts.filter(isNamedLoopback).join(', ')
  if (named !== '') {
    yield found('policy.named-loopback', `Programs may register callbacks at ${named}`)
  }
}
