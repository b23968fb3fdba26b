import { setTimeout as delay } from 'node:timers/promises'

import type { Browser } from 'playwright-core'

import { paths } from '../../src/platform/http/paths.ts'
import { type Installed, install, type Package } from '../support/install.ts'
import { isContinuousIntegration } from '../support/programs.ts'
import type { Agent, Known } from './client-table.ts'
import { type Desk, openDesk } from './desk.ts'
import { startModelServer } from './model-server.ts'
import { makeApplication } from './operator.ts'
import { authorize } from './person.ts'
import { type Way, type WayName, wayNames, ways } from './ways.ts'

const CLIENT_TIMEOUT_MS = 120_000
const READ_EVERY_MS = 100

const RUN_OVER = 'the time of the run was over'

/** What a run is done with. */
export interface Run {
  readonly serviceUrl: string
  readonly browser: Browser
  /** When the time of the whole run is over. */
  readonly over: AbortSignal
}

export interface Outcome {
  readonly client: Package
  readonly way: WayName | 'queries'
  /** A known one failed as the table says. */
  readonly kind: 'passed' | 'known' | 'failed' | 'not run'
  readonly detail: string
  /** What the client printed. */
  readonly transcript: string
}

/**
 * Installs a client, and lets it go each way. In continuous integration a way that fails has a second
 * attempt, which is named: the machine may have been the reason.
 */
export async function* runAgent(agent: Agent, run: Run): AsyncGenerator<Outcome> {
  const client = agent.package
  const installed: Installed = run.over.aborted
    ? { kind: 'missing', why: RUN_OVER }
    : await install(agent.package, run.over)
  for (const way of wayNames) {
    if (installed.kind === 'missing' || run.over.aborted) {
      const detail = installed.kind === 'missing' ? installed.why : RUN_OVER
      yield { client, way, kind: 'not run', detail, transcript: '' }
    } else {
      const going = { agent, way: ways[way], folder: installed.folder }
      yield { client, way, ...(await attempt(going, run)) }
    }
  }
}

type Attempt = Pick<Outcome, 'kind' | 'detail' | 'transcript'>

/** One attempt, or two. */
async function attempt(going: Going, run: Run): Promise<Attempt> {
  const first = await timed(going, run)
  if (first.kind !== 'failed' || !isContinuousIntegration) return first
  const second = await timed(going, run)
  return { ...second, detail: `${second.detail}, at a second attempt; the first: ${first.detail}` }
}

/** Goes one way, and says what came of it. */
async function timed(going: Going, run: Run): Promise<Attempt> {
  const startedMs = performance.now()
  const tried = await goOneWay(going, run)
  const seconds = `${((performance.now() - startedMs) / 1000).toFixed(1)} s`
  const { kind, detail } = run.over.aborted
    ? ({ kind: 'not run', detail: RUN_OVER } as const)
    : judge(tried, going.agent.known?.[going.way.name])
  return { kind, detail: `${detail} (${seconds})`, transcript: tried.transcript }
}

interface Tried {
  /** Why it did not reach the tool; nothing when it did. */
  readonly problem: string | undefined
  /** The scopes that each authorization request asked for. */
  readonly asked: readonly string[]
  readonly transcript: string
}

interface Going {
  readonly agent: Agent
  readonly way: Way
  readonly folder: string
}

async function goOneWay({ agent, way, folder }: Going, run: Run): Promise<Tried> {
  const { serviceUrl, browser } = run
  const signal = AbortSignal.any([run.over, AbortSignal.timeout(CLIENT_TIMEOUT_MS)])
  await using model = await startModelServer(way.tool)
  await using desk = openDesk(
    async (address) => await authorize({ browser, serviceUrl, address, person: way.person }),
    signal,
  )
  const asked = () =>
    desk.opened.map((address) => new URL(address).searchParams.get('scope') ?? 'no scope')
  try {
    const clientId = way.name === 'member' ? await makeApplication(serviceUrl, agent) : undefined
    const address = serviceUrl + way.path
    const scopes = async () => await scopesOf(serviceUrl, way)
    const driving = agent.drive({ way, address, clientId, scopes, folder, desk, model })
    const known = agent.known?.[way.name]
    const said = await Promise.race([
      driving,
      rejected(signal),
      ...(known ? [read(desk, known)] : []),
    ])
    desk.note(`\nThe answer: ${said}`)
    const problem = said.includes(way.answers)
      ? signInProblem(desk.opened)
      : 'no answer of the tool'
    return { problem, asked: asked(), transcript: desk.transcript() }
  } catch (error) {
    const problem = signal.aborted ? 'took too long' : messageOf(error)
    desk.note(`\n${problem}`)
    return { problem, asked: asked(), transcript: desk.transcript() }
  }
}

/** A client that got an answer without its user was not asked for a token. */
function signInProblem(opened: readonly string[]): string | undefined {
  return opened.length > 0 ? undefined : 'reached the tool without a sign-in'
}

/** RFC 9728 §3.1: the document of a resource stands below the well-known address. */
async function scopesOf(serviceUrl: string, { path }: Way): Promise<readonly string[]> {
  const document = await fetch(`${serviceUrl}${paths.protectedResource}${path}`)
  const { scopes_supported: scopes } = (await document.json()) as { scopes_supported: string[] }
  return scopes
}

/** Some clients wait on for what cannot come, after they have said why. */
async function read(desk: Desk, { sentence }: Known): Promise<never> {
  while (!desk.transcript().includes(sentence)) {
    await delay(READ_EVERY_MS, undefined, { signal: desk.signal })
  }
  throw new Error(sentence)
}

async function rejected(signal: AbortSignal): Promise<never> {
  return await new Promise((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason))
  })
}

function judge({ problem, asked, transcript }: Tried, known: Known | undefined) {
  const scopes = `asked for: ${asked.map((scope) => shortened(scope)).join(', then ') || 'nothing'}`
  if (known === undefined) {
    return problem === undefined
      ? ({ kind: 'passed', detail: scopes } as const)
      : ({ kind: 'failed', detail: `${firstLine(problem)}; ${scopes}` } as const)
  }
  if (problem === undefined) {
    return { kind: 'failed', detail: 'is listed as one that fails, but reaches the tool' } as const
  }
  return transcript.includes(known.sentence)
    ? ({ kind: 'known', detail: known.reason } as const)
    : ({ kind: 'failed', detail: `its user does not see “${known.sentence}”` } as const)
}

function shortened(scope: string): string {
  const names = scope.split(' ')
  return names.length > 4 ? `${names.slice(0, 3).join(' ')} and ${names.length - 3} more` : scope
}

function firstLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
