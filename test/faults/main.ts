/**
 * `npm run test:faults`: breaks processes and stores under load. Fails when tokens are lost, used twice or revived, or
 * when requests hang. Outside continuous integration, also fails for slow responses and too many failures.
 */

import { execFileSync } from 'node:child_process'
import { loadavg } from 'node:os'
import { parseArgs } from 'node:util'

import { makeReport, notRun, type Outcome } from '../support/driven.ts'
import { findProgram, isContinuousIntegration } from '../support/programs.ts'
import { startDeployment } from './deployment.ts'
import { type Result, runScenario } from './run-scenario.ts'
import { scenarios } from './scenario-table.ts'
import { DiskRefused } from './small-disk.ts'

const RUN_TIMEOUT_MS = 6 * 60_000
const IDLE_CONNECTIONS = 10_000
/** The number of open files that a process needs besides idle connections. */
const FILES_KEPT = 1_500

const { values: options } = parseArgs({
  options: { only: { type: 'string', multiple: true, default: [''] } },
})

const chosen = scenarios.filter(({ name }) => options.only.some((word) => name.includes(word)))
const { print, finish } = makeReport(true)

async function main(): Promise<void> {
  const [redis, postgres] = [findProgram('redis-server'), findProgram('postgres')]
  if (redis !== undefined && postgres !== undefined) return await runOn({ redis, postgres })
  const missing = redis === undefined ? 'redis-server' : 'postgres'
  if (isContinuousIntegration) throw new Error(`${missing} is not installed, and CI skips nothing.`)
  for (const { name } of chosen) print(`${name}:`, notRun(`${missing} is not installed`))
}

async function runOn(files: Parameters<typeof startDeployment>[1]): Promise<void> {
  const connections = idleConnections()
  for (const [kind, ofKind] of Map.groupBy(chosen, ({ at }) => at)) {
    try {
      await using deployment = await startDeployment(kind, files)
      for (const scenario of ofKind) {
        const isLate = performance.now() > RUN_TIMEOUT_MS
        const outcome = isLate
          ? notRun('there was no time left')
          : outcomeOf(await runScenario(scenario, deployment, connections))
        print(`${scenario.name}:`, outcome)
      }
    } catch (error) {
      if (!(error instanceof DiskRefused)) throw error
      for (const { name } of ofKind) print(`${name}:`, notRun(error.message))
    }
  }
}

/** Returns 10,000, or fewer if this machine does not allow a process enough open files. */
function idleConnections(): number {
  const limit = execFileSync('sh', ['-c', 'ulimit -Hn'], { encoding: 'utf8' }).trim()
  const allowed = limit === 'unlimited' ? Number.POSITIVE_INFINITY : Number(limit)
  return Math.max(0, Math.min(IDLE_CONNECTIONS, allowed - FILES_KEPT))
}

function outcomeOf(result: Result): Outcome {
  const { requests, ledger, late, remark } = result
  const wrong = isContinuousIntegration ? result.wrong : [...result.wrong, ...late]
  const ms = (value: number) => `${Math.round(value)} ms`
  const byStatus = [...requests.outcomes].sort().map(([outcome, count]) => `${outcome} ${count}`)
  const facts = [
    `${requests.count} requests`,
    byStatus.join(', '),
    `${requests.refusedOnce} repeated elsewhere`,
    `slowest ${ms(requests.slowestMs)} (${requests.slowestWas}; own delay ${ms(result.ownDelayMs)})`,
    `lost ${ledger.count('lost')}`,
    `doubled ${ledger.count('doubled')}`,
    `undone ${ledger.count('undone')}`,
    `well after ${ms(result.recoveredMs)}`,
    `${result.codesBegunAnew} codes anew`,
    ...(typeof remark === 'string' ? [remark] : []),
  ]
  return {
    kind: wrong.length === 0 ? 'passed' : 'failed',
    ...{ detail: facts.join('; '), transcript: [...result.wrong, ...late].join('\n') },
  }
}

await main()
const load = loadavg().map((average) => average.toFixed(1))
process.stdout.write(`load average ${load.join(', ')}\n`)
finish()
