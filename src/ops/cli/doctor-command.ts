import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'

import type { Config } from '../../config/config.ts'
import { isNamedLoopback } from '../../platform/http/loopback.ts'
import { type Finding, found, lineOf, ok } from '../doctor/checks.ts'
import { lookAtFiles } from '../doctor/look-at-files.ts'
import { lookOutside } from '../doctor/look-outside.ts'
import { asOneLine } from './command.ts'
import { CommandRefused } from './command-refused.ts'
import { lookAtMonitoring } from './doctor-monitoring.ts'
import { lookAtRedis } from './doctor-redis.ts'
import { lookAtDatabase } from './doctor-stores.ts'

export interface Diagnosis {
  /** Whether a service that does not answer at its address is wrong. */
  readonly outside: boolean
  readonly asJson: boolean
}

/** What the process ends with when nothing is wrong and something is weak. */
const EXIT_CODE_WEAK = 3

/**
 * `doctor`: looks at everything that a service needs, one thing after the other, so that one that
 * is broken hides none of the others. It makes neither a database nor keys, and changes no schema.
 *
 * @throws {CommandRefused} with the report, when anything is wrong or weak
 */
export async function diagnose(config: Config, { outside, asJson }: Diagnosis): Promise<string> {
  const findings = [
    ok(`The configuration is complete; the issuer is ${config.baseUrl}.`),
    ...(await lookAtDatabase(config)),
    ...(await lookAtRedis(config)),
    ...lookAtSecretFile(config),
    ...lookAtDatabaseFiles(config),
    ...(await lookAtFiles(config)),
    ...lookAtPolicy(config),
    ...(await lookAtMonitoring(config)),
    ...(await lookOutside(config.baseUrl, { demanded: outside })),
  ]
  const report = asJson ? JSON.stringify({ findings }, null, 2) : linesOf(findings)
  const wrong = findings.filter(({ severity }) => severity === 'wrong').length
  const weak = findings.filter(({ severity }) => severity === 'weak').length
  if (wrong > 0) throw new CommandRefused(report, counted(wrong, 'wrong'))
  if (weak > 0) throw new CommandRefused(report, counted(weak, 'weak'), EXIT_CODE_WEAK)
  return report
}

/** Clients have names that somebody else chose. */
function linesOf(findings: readonly Finding[]): string {
  return findings.map((finding) => asOneLine(lineOf(finding))).join('\n')
}

function counted(count: number, what: 'wrong' | 'weak'): string {
  return count === 1 ? `One thing is ${what}.` : `${count} things are ${what}.`
}

/** What the configuration allows to all clients, and what it says of platforms. */
function lookAtPolicy({ service }: Config): Finding[] {
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

function lookAtSecretFile({ secrets, dataDir }: Config): Finding[] {
  const file = join(dataDir, 'secret')
  if (secrets || !existsSync(file)) return []
  return isReadableByOthers(file)
    ? [found('secret.readable', `Other users of this machine can read ${file}`)]
    : [ok(`${file} is readable by its owner only.`)]
}

/** A file that was copied here has the rights of the copy; its people and their password hashes are in it. */
function lookAtDatabaseFiles({ databaseUrl, dataDir }: Config): Finding[] {
  if (databaseUrl !== undefined || !existsSync(dataDir) || !isReadableByOthers(dataDir)) return []
  return ['gatehouse.db', 'gatehouse.db-wal']
    .map((name) => join(dataDir, name))
    .filter((file) => existsSync(file) && isReadableByOthers(file))
    .map((file) => found('database.readable', `Other users of this machine can read ${file}`))
}

function isReadableByOthers(path: string): boolean {
  return (statSync(path).mode & 0o077) !== 0
}
