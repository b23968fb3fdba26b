/** `npm run test:fuzz`: fails for a 5xx, a slow or missing response, an injection, a logged secret or a memory leak. */

import { Agent } from 'node:http'
import { parseArgs } from 'node:util'

import { eventually } from '../support/programs.ts'
import { graphqlRequest } from './graphql-requests.ts'
import { oauthRequest } from './oauth-requests.ts'
import { addressRequest, pageRequest } from './page-requests.ts'
import { type Chance, makeChance } from './random.ts'
import { type FuzzRequest, filled } from './request.ts'
import { runSchemathesis } from './schemathesis.ts'
import { keepSeed, readSeeds } from './seeds.ts'
import { type Memory, startTarget, type Target } from './target.ts'
import { toolRequest } from './tool-requests.ts'
import { HANG_MS, judge, mayBeCutOff, type Seen, sendOne } from './wire.ts'
import { hasSecret, openWorld, type World } from './world.ts'

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    requests: { type: 'string', default: '100000' },
    minutes: { type: 'string', default: '4' },
    /** The same seed repeats the requests, except for values that the service issues. */
    seed: { type: 'string', default: String(Date.now() % 1_000_000) },
    only: { type: 'string' },
  },
})

const wanted = Number(options.requests)
const minutes = Number(options.minutes)
const seed = Number(options.seed)

const AT_ONCE = 16
const WARM_UP_SHARE = 0.25
/** Allowed growth of memory after the warm-up, which fills the caches. */
const GROWTH_MAX_BYTES = { heap: 32 * 1024 * 1024, 'resident memory': 256 * 1024 * 1024 }
const FINDINGS_MAX = 20
const SLOW_ATTEMPTS = 2
/** Sign in again after this many requests, because a request may revoke the tokens or end the sessions. */
const REOPEN_EVERY = 2000
const REOPEN_TIMEOUT_MS = 10_000

const grammars: Readonly<Record<string, (chance: Chance, world: World) => FuzzRequest>> = {
  oauth: oauthRequest,
  graphql: (chance, { schemas }) => graphqlRequest(chance, schemas),
  tools: (chance, { tools }) => toolRequest(chance, tools),
  pages: pageRequest,
  addresses: addressRequest,
}

const agent = new Agent({ keepAlive: true, maxSockets: AT_ONCE * 2 })
const findings: string[] = []
const statuses = new Map<string, number>()

interface Run {
  readonly target: Target
  world: World
}

async function main(): Promise<void> {
  const endsAt = Date.now() + minutes * 60_000
  await using target = await startTarget((line) => {
    if (hasSecret(line)) findings.push(`the log has a secret: ${line.slice(0, 500)}`)
  })
  const run: Run = { target, world: await openWorld(target.url) }

  for (const { requests } of readSeeds())
    for (const request of requests) await sendAndJudge(run, request, makeChance(seed))
  const warmUp = Math.floor(wanted * WARM_UP_SHARE)
  const halfTime = Date.now() + (endsAt - Date.now()) / 2
  let sent = await fuzz(run, { from: 0, to: warmUp, endsAt: halfTime })
  const before = await target.memory()
  sent += await fuzz(run, { from: warmUp, to: wanted, endsAt })
  if (target.isAlive()) judgeMemory(before, await target.memory())
  else findings.push('the process has ended')
  agent.destroy()
  report(sent)
}

/** Sends the requests with the numbers from `from` to `to - 1`, several at once. @returns how many were sent */
async function fuzz(run: Run, { from, to, endsAt }: Record<'from' | 'to' | 'endsAt', number>) {
  let next = from
  const names = options.only === undefined ? Object.keys(grammars) : [options.only]
  const goesOn = () => Date.now() < endsAt && findings.length < FINDINGS_MAX && run.target.isAlive()
  const work = async () => {
    while (next < to && goesOn()) {
      const chance = makeChance(seed * 1_000_003 + next)
      next += 1
      // Fuzzed sign-ins may use all hash threads, so retry.
      if (next % REOPEN_EVERY === 0)
        run.world = await eventually(REOPEN_TIMEOUT_MS, () => openWorld(run.target.url))
      const request = grammars[chance.pick(names)]?.(chance, run.world)
      if (request) await sendAndJudge(run, request, chance)
    }
  }
  await Promise.all(Array.from({ length: AT_ONCE }, work))
  return next - from
}

/** Sends a request, and stores it as a seed if its response is a finding or missing. */
async function sendAndJudge({ target, world }: Run, request: FuzzRequest, chance: Chance) {
  const ready = filled(request, world.valuesFor(chance))
  try {
    const seen = await sendOne(agent, target.url, ready)
    statuses.set(String(seen.status), (statuses.get(String(seen.status)) ?? 0) + 1)
    world.learn(ready.path, seen)
    const wrong = judge(seen)
    if (wrong !== undefined && (await stillWrong(target, ready, seen))) keep(wrong, request)
  } catch (error) {
    if (!mayBeCutOff(ready, error)) keep(`no answer: ${String(error)}`, request)
  }
}

/** Whether a finding is certain. Repeats a slow request, because a busy machine may be slow once, but a hang repeats. */
async function stillWrong({ url }: Target, ready: FuzzRequest, seen: Seen): Promise<boolean> {
  if (seen.status >= 500 || seen.tookMs <= HANG_MS) return true
  for (let attempt = 0; attempt < SLOW_ATTEMPTS; attempt += 1)
    if ((await sendOne(agent, url, ready)).tookMs <= HANG_MS) return false
  return true
}

function keep(found: string, request: FuzzRequest): void {
  const file = keepSeed({ found: found.slice(0, 100), requests: [request] })
  const [what = ''] = found.split('\n')
  findings.push(`${what}\n    ${request.method} ${request.path.slice(0, 120)}\n    ${file}`)
}

function judgeMemory(before: Memory, after: Memory): void {
  for (const [what, growthMax] of Object.entries(GROWTH_MAX_BYTES)) {
    const [from = 0, to = 0] = [before, after].map((memory) => memory[what as keyof Memory])
    say(`${what} ${mebibytes(from)} to ${mebibytes(to)}`)
    if (to - from > growthMax) findings.push(`${mebibytes(to - from)} of ${what} stayed`)
  }
}

const mebibytes = (bytes: number): string => `${(bytes / 1_048_576).toFixed(1)} MiB`

function report(sent: number): void {
  const counted = [...statuses].sort().map(([status, count]) => `${status}: ${count}`)
  say(`${sent} requests, seed ${seed}; ${counted.join(', ')}`)
  if (sent < wanted)
    say(`${wanted - sent} were not sent: the time limit passed, or the run had too many findings`)
  for (const finding of findings) say(`- ${finding}`)
  say(findings.length === 0 ? 'nothing found' : `${findings.length} found`)
  if (findings.length > 0) process.exitCode = 1
}

function say(line: string): void {
  process.stdout.write(`${line}\n`)
}

if (!positionals.includes('schemathesis')) await main()
else if (!(await runSchemathesis({ minutes, seed }))) process.exitCode = 1
