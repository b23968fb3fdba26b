import type { SuiteConfiguration } from './configuration.ts'
import type { Plan, Result } from './plans.ts'
import type { Module, Suite } from './suite.ts'

export interface Run {
  readonly plan: Plan
  readonly configuration: SuiteConfiguration
  readonly expected: ReadonlyMap<string, Result>
  /** The modules to run; all by default. */
  readonly only?: readonly string[]
  /** Makes the next signing key the current one, and resolves when a new next key is published. */
  readonly rotateKeys: () => Promise<void>
  /** Prints a line about the run. */
  readonly say: (line: string) => void
  /** Time limit for one module. */
  readonly moduleTimeoutMs: number
  /** Stops the run before the next module. */
  readonly signal?: AbortSignal
}

/** How a module ended: a result of the suite, or why there is none. */
export type Ending = Result | 'INTERRUPTED' | 'TIMEOUT' | 'ERROR'

export interface ModuleRun {
  readonly name: string
  /** The suite's id of the module run; undefined if the suite did not create it. */
  readonly id: string | undefined
  readonly ending: Ending
}

/** The results of a run of one plan. */
export interface PlanRun {
  /** The suite's id of the plan; undefined if the suite did not create it. */
  readonly planId: string | undefined
  readonly modules: readonly ModuleRun[]
  readonly seconds: number
  /** Why the run did not start, or ended before its last module. */
  readonly problem?: string
}

const WAIT_STEP_MS = 10_000
/** After this number of consecutive errors, the run ends, because the suite is probably down. */
const ERRORS_MAX = 3

/**
 * Runs the modules of a plan in a suite, one at a time, because they share an alias. Never rejects: if a call to the
 * suite fails, the module ends with ERROR, or `problem` says why there is no plan.
 */
export async function drive(suite: Suite, run: Run): Promise<PlanRun> {
  const startedMs = performance.now()
  const modules: ModuleRun[] = []
  const ended = (planId?: string, problem?: string): PlanRun => {
    const seconds = (performance.now() - startedMs) / 1000
    return { planId, modules, seconds, ...(problem !== undefined && { problem }) }
  }
  const created = await suite.createPlan(run.plan, run.configuration).catch(messageOf)
  if (typeof created === 'string') return ended(undefined, created)
  const { only = [] } = run
  const chosen = created.modules.filter(
    ({ testModule }) => only.length === 0 || only.includes(testModule),
  )
  run.say(`${run.plan.name}: ${chosen.length} modules, ${suite.planPage(created.id)}`)
  for (const [index, module] of chosen.entries()) {
    if (run.signal?.aborted) return ended(created.id, 'The run was stopped.')
    const place = `${index + 1}/${chosen.length}`
    modules.push(await runModule(suite, run, { planId: created.id, module, place }))
    const last = modules.slice(-ERRORS_MAX)
    if (last.length === ERRORS_MAX && last.every(({ ending }) => ending === 'ERROR')) {
      return ended(created.id, `${ERRORS_MAX} consecutive modules ended with ERROR.`)
    }
  }
  return ended(created.id)
}

async function runModule(
  suite: Suite,
  run: Run,
  { planId, module, place }: { planId: string; module: Module; place: string },
): Promise<ModuleRun> {
  const { testModule: name } = module
  const startedMs = performance.now()
  let id: string | undefined
  let ending: Ending
  try {
    id = await suite.create(planId, module)
    ending = await endingOf(suite, run, { id, module })
  } catch (error) {
    run.say(`    ${messageOf(error)}`)
    ending = 'ERROR'
  }
  const expected = run.expected.get(name)
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  const mark = ending === expected ? '' : `  expected: ${expected ?? 'no such module'}`
  run.say(`${place}  ${ending.padEnd(11)} ${name}  ${seconds} s${mark}`)
  if (ending !== expected && id !== undefined) await sayFaults(suite, id, run.say)
  return { name, id, ending }
}

async function sayFaults(suite: Suite, id: string, say: Run['say']): Promise<void> {
  for (const fault of await suite.faults(id).catch((error) => [messageOf(error)]))
    say(`    ${fault}`)
}

async function endingOf(
  suite: Suite,
  run: Run,
  { id, module }: { readonly id: string; readonly module: Module },
): Promise<Ending> {
  if (module.testModule === 'oidcc-server-rotate-keys') {
    // This module compares two key sets, so rotate the keys before it starts.
    const waitMs = WAIT_STEP_MS * 3
    if ((await suite.waitFor(id, ['CONFIGURED', 'INTERRUPTED'], waitMs)) === 'CONFIGURED') {
      await run.rotateKeys()
      await suite.start(id)
    }
  }
  const untilMs = performance.now() + run.moduleTimeoutMs
  while (performance.now() < untilMs) {
    const stepMs = Math.max(1, Math.min(WAIT_STEP_MS, untilMs - performance.now()))
    const state = await suite.waitFor(id, ['FINISHED', 'INTERRUPTED'], Math.round(stepMs))
    if (state === 'FINISHED') return (await suite.info(id)).result ?? 'UNKNOWN'
    // The suite interrupts a module after a failure, or if another run uses the same alias.
    if (state === 'INTERRUPTED') {
      return (await suite.info(id)).result === 'FAILED' ? 'FAILED' : state
    }
    // Without a matching browser task, the module would wait for a person until the timeout.
    const [visit] = await suite.waitingVisits(id)
    if (visit === undefined) continue
    run.say(
      `    The configuration has no browser task for the URL that the suite wants to visit: ${visit}`,
    )
    break
  }
  await suite.cancel(id)
  return 'TIMEOUT'
}

/**
 * Reads the results of a plan again, because the suite may have changed them. For example, a late sign-out notice makes
 * a passed module fail.
 */
export async function readAgain(suite: Suite, run: PlanRun, say: Run['say']): Promise<PlanRun> {
  const modules: ModuleRun[] = []
  for (const module of run.modules) {
    const { id, name, ending } = module
    const isResult = !['INTERRUPTED', 'TIMEOUT', 'ERROR'].includes(ending)
    const now = id !== undefined && isResult ? await endingNow(suite, id) : ending
    if (now !== ending && id !== undefined) {
      say(`    ${name} has changed from ${ending} to ${now}:`)
      await sayFaults(suite, id, say)
    }
    modules.push({ ...module, ending: now })
  }
  return { ...run, modules }
}

async function endingNow(suite: Suite, id: string): Promise<Ending> {
  try {
    return (await suite.info(id)).result ?? 'UNKNOWN'
  } catch {
    return 'ERROR'
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
