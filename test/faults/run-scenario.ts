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
  readonly seconds: number
  readonly heldUp: HeldUp
  readonly control: Control
}

export type Result = Awaited<ReturnType<typeof runScenario>>

/** Expected outcomes of a request. Codes used twice and revoked tokens get 400 and 401. */
const expected = /^(200|400|401|503|refused .*|reset .*)$/
const notFailed = /^(200|400|401)$/

/** Returns the tolerated share of failures where none is expected. On a slow machine, a store may exceed its 250 ms. */
function shareMax(outcome: string): number {
  if (outcome === '503') return 0.01
  return outcome.startsWith('reset') ? 0.001 : 0
}

const SUCCEEDED_MIN = 50
const CODES_PER_CLIENT = 8

export async function runScenario(scenario: Scenario, deployment: Deployment, running: Running) {
  const { clients, seconds, heldUp, control } = running
  await deployment.recover()
  const codes = await deployment.obtainCodes(clients * CODES_PER_CLIENT)
  const exchangeEveryMs = (3 * seconds * 1000) / CODES_PER_CLIENT
  const ledger = new Ledger()
  const requests = new Requests(deployment.addresses, heldUp)
  const heldUpBeforeMs = heldUp.sumMs
  control.takeSlowestMs()
  const load = new Load({ requests, ledger, codes, exchangeEveryMs }, clients)
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
  // On a slow machine, the findings in `late` need not be faults of the service.
  return { ...seen, wrong: wrongIn(seen), late: lateIn(scenario, seen) }
}

interface Seen {
  readonly requests: Requests
  readonly ledger: Ledger
  readonly pace: Pace
}

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
