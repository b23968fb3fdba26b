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
  /** What a slow machine can be the reason of. */
  readonly late: readonly string[]
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

/** So many there are even where everything waits for a frozen store. */
const SUCCEEDED_MIN = 50

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
  return { ...seen, wrong: wrongIn(seen), late: lateIn(scenario, seen) }
}

type Seen = Omit<Result, 'wrong' | 'late'>

function wrongIn({ requests, ledger }: Seen): string[] {
  const wrong = ledger.found.map(({ fault, sentence }) => `${fault}: ${sentence}`)
  for (const [outcome, count] of requests.outcomes) {
    if (!expected.test(outcome)) wrong.push(`${count} requests ended with ${outcome}`)
  }
  if (requests.of('200') === 0) wrong.push('no request succeeded')
  return [...new Set(wrong)]
}

function lateIn({ failsRequests }: Scenario, { requests, pace }: Seen): string[] {
  const late: string[] = []
  for (const [outcome, count] of requests.outcomes) {
    const mayFail = failsRequests || count <= requests.count * shareMax(outcome)
    const isKnown = expected.test(outcome) && !notFailed.test(outcome)
    if (isKnown && !mayFail) late.push(`${count} requests failed: ${outcome}`)
  }
  if (pace === 'too slow') {
    const slowest = Math.round(requests.slowestMs)
    late.push(`the slowest answer took ${slowest} ms (${requests.slowestWas})`)
  }
  const succeeded = requests.of('200')
  if (succeeded < SUCCEEDED_MIN) late.push(`only ${succeeded} requests succeeded`)
  return late
}
