/** The command `doctor`: runs every check, one after the other, and reports what is wrong or weak. */

import type { Config } from '../../config/config.ts'
import { isNamedLoopback } from '../../platform/http/loopback.ts'
import { asOneLine, CommandRefused } from '../cli/command-output.ts'
import { type Finding, found, lineOf, ok } from './checks.ts'
import {
  checkBucket,
  checkCollector,
  checkDisk,
  checkMetrics,
  checkPermissions,
} from './machine-checks.ts'
import { checkOutside } from './outside-checks.ts'
import { checkDatabase, checkRedis } from './store-checks.ts'

/** The exit code of the process when nothing is wrong and something is weak. */
const EXIT_CODE_WEAK = 3

/** In the order of the report. A check that fails hides none of the others. */
const looks: readonly ((config: Config) => readonly Finding[] | Promise<readonly Finding[]>)[] = [
  ({ baseUrl }) => [ok(`The configuration is complete; the issuer is ${baseUrl}.`)],
  checkDatabase,
  checkRedis,
  checkPermissions,
  checkDisk,
  checkBucket,
  checkPolicy,
  checkMetrics,
  checkCollector,
]

/**
 * Checks everything that a service needs. It makes neither a database nor keys, and changes no schema.
 *
 * @param demanded whether a service that does not answer at its address is wrong
 * @throws {CommandRefused} with the report, when anything is wrong or weak
 */
export async function diagnose(
  config: Config,
  { demanded, asJson }: { readonly demanded: boolean; readonly asJson: boolean },
): Promise<string> {
  const findings: Finding[] = []
  for (const look of looks) findings.push(...(await look(config)))
  findings.push(...(await checkOutside(config.baseUrl, demanded)))
  const report = asJson
    ? JSON.stringify({ findings }, null, 2)
    : // Clients have names that others chose.
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

/** What the configuration allows to all clients. */
function checkPolicy({ service }: Config): Finding[] {
  const findings: Finding[] = []
  if (service.metadataDocuments.openRegistration) {
    findings.push(found('policy.any-document', 'Metadata documents of any host are admitted'))
  }
  const named = service.loopbackHosts.filter(isNamedLoopback)
  if (named.length > 0) {
    const sentence = `Programs may register callbacks at ${named.join(', ')}`
    findings.push(found('policy.named-loopback', sentence))
  }
  return findings
}
