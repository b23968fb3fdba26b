import { setTimeout as delay } from 'node:timers/promises'

import { checkLedger } from './afterwards.ts'
import type { Deployment } from './deployment.ts'
import { Ledger } from './ledger.ts'
import { Load } from './load.ts'
import { type Control, type HeldUp, type Pace, paceOf } from './machine.ts'
import { Requests } from './requests.ts'
import type { Scenario, Sizes } from './scenario-table.ts'

export interface Running extends Sizes {
  readonly clients: number
  /** How long the load goes on before a fault, while it lasts, and after it. */
  readonly seconds: number
  readonly heldUp: HeldUp
  readonly control: Control
}

/** What came of a scenario. */
export interface Result {
  readonly requests: Requests
  readonly ledger: Ledger
  readonly pace: Pace
  readonly controlMs: number
  readonly heldUpMs: number
  readonly recoveredMs: number
  readonly codesBegunAnew: number
  /** What stays and what is said of it. */
  readonly remark: string | undefined
  /** Sentences; none when all is well. */
  readonly wrong: readonly string[]
}

/** Answers that a request of the load may have. 400 and 401 are for codes used twice and revoked tokens. */
const expected = /^(200|400|401|503|refused .*|reset .*)$/
const notFailed = /^(200|400|401)$/

/**
 * Where nothing may fail: a store that this machine kept from answering for a moment is late for the service's
 * limit of 250 ms. And where the machine keeps a process waiting between its last look for who waits to be
 * accepted and the end of its listener, the system resets who came between.
 */
function shareMax(outcome: string): number {
  if (outcome === '503') return 0.01
  return outcome.startsWith('reset') ? 0.001 : 0
}

/** Each has some for every phase. */
const CODES_PER_CLIENT = 8

/** Runs one scenario: load, the fault, its end, more load, and then a look at all that was told. */
export async function runScenario(
  scenario: Scenario,
  deployment: Deployment,
  running: Running,
): Promise<Result> {
  const { clients, seconds, heldUp, control } = running
  await deployment.recover()
  const codes = await deployment.obtainCodes(clients * CODES_PER_CLIENT)
  const exchangeEveryMs = (3 * seconds * 1000) / CODES_PER_CLIENT
  const ledger = new Ledger()
  const requests = new Requests(deployment.addresses, heldUp)
  const heldUpBeforeMs = heldUp.sumMs
  control.takeSlowestMs()
  const losesCodes = scenario.losesCodes === true
  const load = new Load({ requests, ledger, codes, losesCodes, exchangeEveryMs }, clients)
  await delay(seconds * 1000)
  const faultAtMs = performance.now()
  const remark = await scenario.begin(deployment, running)
  await delay(seconds * 1000)
  await scenario.end(deployment)
  const recoveredMs = await deployment.recover()
  await delay(seconds * 1000)
  await load.end()
  const controlMs = control.takeSlowestMs()
  const heldUpMs = heldUp.sumMs - heldUpBeforeMs
  await checkLedger(ledger, new Requests(deployment.addresses, heldUp), faultAtMs)
  const pace = paceOf(requests.slowestMs, controlMs)
  const { codesBegunAnew } = load
  const seen = { requests, ledger, pace, controlMs, heldUpMs, recoveredMs, codesBegunAnew, remark }
  return { ...seen, wrong: wrongIn(scenario, seen) }
}

function wrongIn(
  { failsRequests }: Scenario,
  { requests, ledger, pace }: Omit<Result, 'wrong'>,
): string[] {
  const wrong = ledger.found.map(({ fault, sentence }) => `${fault}: ${sentence}`)
  for (const [outcome, count] of requests.outcomes) {
    if (!expected.test(outcome)) wrong.push(`${count} requests ended with ${outcome}`)
    const mayFail = failsRequests || count <= requests.count * shareMax(outcome)
    if (!mayFail && !notFailed.test(outcome)) wrong.push(`${count} requests failed: ${outcome}`)
  }
  if (pace === 'too slow') {
    const slowest = Math.round(requests.slowestMs)
    wrong.push(`the slowest answer took ${slowest} ms (${requests.slowestWas})`)
  }
  if (requests.of('200') < 50) wrong.push(`only ${requests.of('200')} requests succeeded`)
  return [...new Set(wrong)]
}
