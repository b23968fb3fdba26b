import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as delay } from 'node:timers/promises'

import { checkLedger } from './check-ledger.ts'
import type { Deployment } from './deployment.ts'
import { Ledger } from './ledger.ts'
import { runClient } from './load.ts'
import { Requests } from './requests.ts'
import type { Scenario } from './scenario-table.ts'

export type Result = Awaited<ReturnType<typeof runScenario>>

/** Expected outcomes of a request. A used code gets 400, and a revoked access token gets 401. */
const expected = /^(200|400|401|503|refused .*|reset .*)$/
const notFailed = /^(200|400|401)$/

/** Returns the tolerated share of unexpected failures. On a slow machine, a store may exceed its limit of 250 ms. */
function shareMax(outcome: string): number {
  if (outcome === '503') return 0.01
  return outcome.startsWith('reset') ? 0.001 : 0
}

const SUCCEEDED_MIN = 50
/** Twice the time limit of a response, because both processes, their stores and the clients share the machine. */
const SLOWEST_MAX_MS = 1000
const CLIENTS = 12
const CODES_PER_CLIENT = 8
/** The duration of each phase: before, during and after the fault. */
const PHASE_MS = 2000

export async function runScenario(
  scenario: Scenario,
  deployment: Deployment,
  idleConnections: number,
) {
  await deployment.recover()
  const codes = await deployment.obtainCodes(CLIENTS * CODES_PER_CLIENT)
  const ledger = new Ledger()
  const requests = new Requests(deployment.addresses)
  const loop = monitorEventLoopDelay({ resolution: 5 })
  loop.enable()
  const exchangeEveryMs = (3 * PHASE_MS) / CODES_PER_CLIENT
  const parts = { requests, ledger, codes, exchangeEveryMs }
  const load = { ...parts, codesBegunAnew: 0, isGoing: true }
  const clients = Array.from({ length: CLIENTS }, (_, index) => runClient(load, index))
  await delay(PHASE_MS)
  const faultAtMs = performance.now()
  const remark = await scenario.begin(deployment, idleConnections)
  await delay(PHASE_MS)
  await scenario.end(deployment)
  const recoveredMs = await deployment.recover()
  await delay(PHASE_MS)
  load.isGoing = false
  await Promise.all(clients)
  loop.disable()
  /** The longest delay of this process's event loop, during which the clients could not read a response. */
  const ownDelayMs = loop.max / 1e6
  await checkLedger(ledger, new Requests(deployment.addresses), faultAtMs)
  const { codesBegunAnew } = load
  const seen = { requests, ledger, ownDelayMs, recoveredMs, codesBegunAnew, remark }
  // On a slow machine, the findings in `late` need not be faults of the service.
  const late = lateIn(scenario, requests, ownDelayMs)
  return { ...seen, wrong: wrongIn(requests, ledger), late }
}

function wrongIn(requests: Requests, ledger: Ledger): string[] {
  const wrong = ledger.found.map(({ fault, sentence }) => `${fault}: ${sentence}`)
  for (const [outcome, count] of requests.outcomes) {
    if (!expected.test(outcome)) wrong.push(`${count} requests ended with ${outcome}`)
  }
  if (requests.of('200') === 0) wrong.push('no request succeeded')
  return [...new Set(wrong)]
}

function lateIn({ failsRequests }: Scenario, requests: Requests, ownDelayMs: number): string[] {
  const late: string[] = []
  for (const [outcome, count] of requests.outcomes) {
    const mayFail = failsRequests || count <= requests.count * shareMax(outcome)
    const isKnown = expected.test(outcome) && !notFailed.test(outcome)
    if (isKnown && !mayFail) late.push(`${count} requests failed: ${outcome}`)
  }
  if (requests.slowestMs > SLOWEST_MAX_MS + ownDelayMs) {
    const slowest = Math.round(requests.slowestMs)
    late.push(`the slowest answer took ${slowest} ms (${requests.slowestWas})`)
  }
  const succeeded = requests.of('200')
  if (succeeded < SUCCEEDED_MIN) late.push(`only ${succeeded} requests succeeded`)
  return late
}
