import type { SuiteConfiguration } from './configuration.ts'
import type { Plan, Result } from './plans.ts'
import type { Module, Suite } from './suite.ts'

export interface Run {
  readonly plan: Plan
  readonly configuration: SuiteConfiguration
  readonly expected: ReadonlyMap<string, Result>
  /** Makes the next signing key the current one, and returns when a new next key is published. */
  readonly rotateKeys: () => Promise<void>
  /** Prints the result of a module. */
  readonly say: (line: string) => void
  /** Time limit for one module. */
  readonly moduleTimeoutMs: number
}

/** How a module ended. INTERRUPTED and TIMEOUT are not results of the suite. */
type Ending = Result | 'INTERRUPTED' | 'TIMEOUT'

/** The outcome of a run. */
export interface RunReport {
  readonly planId: string
  readonly counted: ReadonlyMap<Ending, number>
  /** A sentence for each module that did not end as expected. */
  readonly differences: readonly string[]
}

const WAIT_STEP_MS = 10_000

/**
 * Runs all modules of a plan in a suite, and compares their results with the expected ones. Runs one module at a time,
 * because they share an alias.
 */
export async function drive(suite: Suite, run: Run): Promise<RunReport> {
  const { id: planId, modules } = await suite.createPlan(run.plan, run.configuration)
  run.say(`${run.plan.name}: ${modules.length} modules, plan ${planId}`)
  const endings = new Map<string, Ending>()
  const differences: string[] = []
  for (const [index, module] of modules.entries()) {
    const { testModule } = module
    const startedMs = performance.now()
    const id = await suite.create(planId, module)
    const ending = await endingOf(suite, run, { id, module })
    endings.set(testModule, ending)
    const expected = run.expected.get(testModule)
    const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
    const mark = ending === expected ? '' : `  expected: ${expected ?? 'no such module'}`
    run.say(
      `${index + 1}/${modules.length}  ${ending.padEnd(11)} ${testModule}  ${seconds} s${mark}`,
    )
    if (ending === expected) continue
    const faults = await suite.faults(id)
    for (const fault of faults) run.say(`    ${fault}`)
    differences.push(`${testModule} ended ${ending}, and ${expected ?? 'nothing'} was expected.`)
  }
  for (const [module, expected] of run.expected) {
    if (!endings.has(module))
      differences.push(`${module} was not run, and ${expected} was expected.`)
  }
  return { planId, counted: count(endings.values()), differences }
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
    if (state === 'INTERRUPTED') return state
    // Without a matching browser task, the module would wait for a person until the timeout.
    const [visit] = await suite.waitingVisits(id)
    if (visit === undefined) continue
    run.say(`    No browser task fits the address that the suite wants to visit: ${visit}`)
    break
  }
  await suite.cancel(id)
  return 'TIMEOUT'
}

function count(endings: Iterable<Ending>): ReadonlyMap<Ending, number> {
  return new Map([...Map.groupBy(endings, (ending) => ending)].map(([of, all]) => [of, all.length]))
}
