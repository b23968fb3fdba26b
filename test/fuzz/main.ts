import { Agent } from 'node:http'
import { setTimeout } from 'node:timers/promises'
import { parseArgs } from 'node:util'

import { type Chance, makeChance } from './chance.ts'
import { graphqlRequest } from './graphql-requests.ts'
import { HANG_MS, judge } from './judge.ts'
import { oauthRequest } from './oauth-requests.ts'
import { addressRequest, pageRequest } from './page-requests.ts'
import { type FuzzRequest, filled } from './request.ts'
import { runSchemathesis } from './schemathesis.ts'
import { keepSeed, readSeeds } from './seeds.ts'
import { type Memory, startTarget, type Target } from './target.ts'
import { toolRequest } from './tool-requests.ts'
import { mayBeCutOff, type Seen, sendOne, sendPipelined } from './wire.ts'
import { openWorld, type World } from './world.ts'

/**
 * `npm run test:fuzz`: requests made by grammars, with tokens and sessions that are good, to a service
 * in a process of its own. What fails it: a 5xx, an answer after two seconds, markup of the caller in a
 * page, a secret in the log, memory that stays. A request that failed is kept in `seeds/`.
 */
const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: 'string', default: '100000' },
    /** The run ends by itself; what was not sent then is named. */
    minutes: { type: 'string', default: '4' },
    /** The same seed makes the same requests, but for what the service itself gives out. */
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    storage: { type: 'string', default: 'sqlite' },
    /** Only one of the grammars. */
    only: { type: 'string' },
    /** How many examples schemathesis makes for each operation. */
    examples: { type: 'string', default: '20' },
  },
})

const AT_ONCE = 16
const PIPELINED_MAX = 6
const WARM_UP_SHARE = 0.25
/** What may stay beside what caches hold: they are full after the first quarter, or nearly. */
const HEAP_GROWTH_MAX_BYTES = 32 * 1024 * 1024
const RSS_GROWTH_MAX_BYTES = 256 * 1024 * 1024
const FINDINGS_MAX = 20
/** What was slow once is asked so many times more. */
const SLOW_ATTEMPTS = 2
/** How often it is seen whether tokens and sessions still work. */
const REOPEN_TRIES_MAX = 5
const REOPEN_EVERY = 1000

const grammars: Readonly<Record<string, (chance: Chance, world: World) => FuzzRequest>> = {
  oauth: (chance) => oauthRequest(chance),
  graphql: (chance, { schemas }) => graphqlRequest(chance, schemas),
  tools: (chance, { tools }) => toolRequest(chance, tools),
  pages: (chance) => pageRequest(chance),
  addresses: (chance) => addressRequest(chance),
}

interface Run {
  readonly target: Target
  /** Opened anew when something that was sent has closed it. */
  world: World
  readonly agent: Agent
  readonly findings: string[]
  readonly statuses: Map<string, number>
  reopened: number
}

async function main(): Promise<void> {
  const wanted = Number(options.requests)
  const endsAt = Date.now() + Number(options.minutes) * 60_000
  const seed = Number(options.seed)
  const findings: string[] = []
  let run: Run | undefined
  const hearLine = (line: string) => {
    const secret = run?.world.secretIn(line)
    if (secret !== undefined) findings.push(`the log says a secret: ${line.slice(0, 500)}`)
  }
  const storage = options.storage === 'postgres' ? 'postgres' : 'sqlite'
  await using target = await startTarget(storage, hearLine)
  const world = await openWorld(target.url)
  const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE * 2 })
  run = { target, world, agent, findings, statuses: new Map(), reopened: 0 }

  for (const { requests } of readSeeds()) await sendAll(run, requests, makeChance(seed))
  const warmUp = Math.floor(wanted * WARM_UP_SHARE)
  let sent = await fuzz(run, {
    from: 0,
    to: warmUp,
    seed,
    endsAt: Date.now() + (endsAt - Date.now()) / 2,
  })
  const before = await target.memory()
  sent += await fuzz(run, { from: warmUp, to: wanted, seed, endsAt })
  if (target.isAlive()) judgeMemory(before, await target.memory(), findings)
  else findings.push('the process has ended')
  agent.destroy()
  report(run, { sent, wanted, seed, storage })
}

/** @returns how many times the world was opened anew: once or not */
async function reopen(run: Run): Promise<number> {
  if (await run.world.isOpen()) return 0
  // The sign-ins that others of this run try meanwhile keep the checks of passwords busy.
  for (let tries = 1; ; tries += 1) {
    try {
      run.world = await openWorld(run.target.url)
      return 1
    } catch (error) {
      if (tries === REOPEN_TRIES_MAX) throw error
      await setTimeout(1000 * tries)
    }
  }
}

interface Part {
  readonly from: number
  readonly to: number
  readonly seed: number
  readonly endsAt: number
}

/** Sends the requests of a part, several at once. @returns how many were sent */
async function fuzz(run: Run, { from, to, seed, endsAt }: Part): Promise<number> {
  let next = from
  const names = options.only === undefined ? Object.keys(grammars) : [options.only]
  const work = async () => {
    while (
      next < to &&
      Date.now() < endsAt &&
      run.findings.length < FINDINGS_MAX &&
      run.target.isAlive()
    ) {
      const chance = makeChance(seed * 1_000_003 + next)
      const count = chance.is(0.1) ? 2 + chance.number(PIPELINED_MAX - 1) : 1
      const isDue = Math.floor(next / REOPEN_EVERY) < Math.floor((next + count) / REOPEN_EVERY)
      next += count
      if (isDue) run.reopened += await reopen(run)
      const requests = Array.from({ length: count }, () =>
        grammars[chance.pick(names)]?.(chance, run.world),
      ).filter((made) => made !== undefined)
      await sendAll(run, requests, chance)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return next - from
}

/** Sends one request, or several on one connection, and keeps what fails. */
async function sendAll(run: Run, requests: readonly FuzzRequest[], chance: Chance): Promise<void> {
  const { target, world, agent, findings, statuses } = run
  const ready = requests.map((request) => filled(request, world.valuesFor(chance)))
  const [single] = ready
  try {
    const answers =
      ready.length === 1 && single
        ? [await sendOne(agent, target.url, single)]
        : await sendPipelined(target.url, ready)
    for (const [at, seen] of answers.entries()) {
      statuses.set(String(seen.status), (statuses.get(String(seen.status)) ?? 0) + 1)
      world.learn(ready[at]?.path ?? '', seen)
      const wrong = judge(seen)
      if (wrong !== undefined && (await stillWrong(run, { ready, seen })))
        keep(findings, wrong, requests)
    }
  } catch (error) {
    if (!ready.some((request) => mayBeCutOff(request, error))) {
      keep(findings, `no answer: ${String(error)}`, requests)
    }
  }
}

/** A machine that is busy makes an answer slow once; what hangs does so each time. */
async function stillWrong(
  { target, agent }: Run,
  { ready, seen }: { ready: readonly FuzzRequest[]; seen: Seen },
): Promise<boolean> {
  if (seen.status >= 500 || seen.tookMs <= HANG_MS) return true
  for (let attempt = 0; attempt < SLOW_ATTEMPTS; attempt += 1) {
    const again = await Promise.all(
      ready.map(async (request) => await sendOne(agent, target.url, request)),
    )
    if (again.every(({ tookMs }) => tookMs <= HANG_MS)) return false
  }
  return true
}

function keep(findings: string[], found: string, requests: readonly FuzzRequest[]): void {
  const file = keepSeed({ found: found.slice(0, 100), requests })
  const asked = requests.map(({ method, path }) => `${method} ${path.slice(0, 120)}`).join('; ')
  const [what = ''] = found.split('\n')
  findings.push(`${what}\n    ${asked}\n    ${file}`)
}

function judgeMemory(before: Memory, after: Memory, findings: string[]): void {
  const heap = after.heapBytes - before.heapBytes
  const rss = after.rssBytes - before.rssBytes
  say(
    `heap ${mebibytes(before.heapBytes)} to ${mebibytes(after.heapBytes)}, resident ${mebibytes(before.rssBytes)} to ${mebibytes(after.rssBytes)}`,
  )
  if (heap > HEAP_GROWTH_MAX_BYTES) findings.push(`${mebibytes(heap)} of heap stayed`)
  if (rss > RSS_GROWTH_MAX_BYTES) findings.push(`${mebibytes(rss)} of resident memory stayed`)
}

function mebibytes(bytes: number): string {
  return `${(bytes / 1_048_576).toFixed(1)} MiB`
}

interface Ran {
  readonly sent: number
  readonly wanted: number
  readonly seed: number
  readonly storage: string
}

function report({ findings, statuses, reopened }: Run, { sent, wanted, seed, storage }: Ran): void {
  const counted = [...statuses].sort().map(([status, count]) => `${status}: ${count}`)
  say(
    `${sent} requests on ${storage}, seed ${seed}; ${counted.join(', ')}; signed in anew ${reopened} times`,
  )
  if (sent < wanted) say(`${wanted - sent} were not sent: the time was over, or too much was found`)
  for (const finding of findings) say(`- ${finding}`)
  say(findings.length === 0 ? 'nothing found' : `${findings.length} found`)
  if (findings.length > 0) process.exitCode = 1
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

if (positionals.includes('schemathesis')) {
  const { minutes, seed, examples } = options
  const limits = { minutes: Number(minutes), seed: Number(seed), examples: Number(examples) }
  if (!(await runSchemathesis(limits))) process.exitCode = 1
} else await main()
