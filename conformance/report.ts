import type { Ending, PlanRun } from './drive.ts'
import { expectedOf, type PlanName, type Result } from './plans.ts'
import type { Suite } from './suite.ts'

/** The run of a plan, and the modules that were chosen; all if empty. */
export interface Finished {
  readonly plan: PlanName
  readonly only: readonly string[]
  readonly run: PlanRun
}

/** Describes the differences from the expected results, as sentences. */
export function differencesOf(
  { run: { modules, problem }, only }: Finished,
  expectedResults: ReadonlyMap<string, Result>,
): readonly string[] {
  const isChosen = (name: string) => only.length === 0 || only.includes(name)
  const endings = new Map(modules.map(({ name, ending }) => [name, ending]))
  const missing = [...expectedResults].filter(([name]) => isChosen(name) && !endings.has(name))
  const notRun =
    problem === undefined
      ? missing.map(([name, result]) => `${name} was not run; expected: ${result}.`)
      : [`${problem} Modules that were not run: ${missing.length}.`]
  return [
    ...modules
      .filter(({ name, ending }) => ending !== expectedResults.get(name))
      .map(({ name, ending }) => {
        const other = expectedResults.get(name) ?? 'nothing'
        return `${name} ended with ${ending}; expected: ${other}.${explained.get(ending) ?? ''}`
      }),
    ...notRun,
    ...only
      .filter((name) => !endings.has(name) && !expectedResults.has(name))
      .map((name) => `There is no module ${name}.`),
  ]
}

const explained: ReadonlyMap<Ending, string> = new Map([
  ['INTERRUPTED', ' If another run uses the same alias, choose another --alias.'],
])

const columns = ['PASSED', 'FAILED', 'WARNING', 'REVIEW', 'SKIPPED'] as const

/**
 * Formats the summary: a table, the pages that a person must review, and the differences.
 *
 * @param seconds the duration of the whole run, which can be less than the sum of plans that run at the same time
 */
export function summaryOf(
  suite: Suite,
  finished: readonly Finished[],
  seconds: number,
): { readonly lines: readonly string[]; readonly isExpected: boolean } {
  const rows = finished.map(({ plan, run }) => {
    const count = (...endings: Ending[]) =>
      run.modules.filter(({ ending }) => endings.includes(ending)).length
    const counts = columns.map((column) => count(column))
    const others = run.modules.length - counts.reduce((sum, each) => sum + each, 0)
    return [plan, run.modules.length, ...counts, others, Math.round(run.seconds)]
  })
  const table = [['plan', 'modules', ...columns, 'other', 's'], ...rows].map(([plan, ...cells]) =>
    [String(plan).padEnd(12), ...cells.map((cell) => String(cell).padStart(7))].join(' '),
  )
  const reviews = finished.flatMap(({ plan, run }) =>
    run.modules.flatMap(({ name, id, ending }) =>
      ending === 'REVIEW' && id !== undefined ? [`  ${plan}/${name}  ${suite.modulePage(id)}`] : [],
    ),
  )
  const pages = finished.flatMap(({ plan, run: { planId } }) =>
    planId === undefined ? [] : [`  ${plan}  ${suite.planPage(planId)}`],
  )
  const differences = finished.flatMap((each) =>
    differencesOf(each, expectedOf(each.plan)).map((text) => `  ${each.plan}: ${text}`),
  )
  const isExpected = differences.length === 0
  const lines = [
    ...['', ...table, `${Math.round(seconds)} s in total.`, '', 'Plans:', ...pages],
    ...(reviews.length > 0 ? ['', 'Pages that a person must review:', ...reviews] : []),
    ...['', ...(isExpected ? ['All results are as expected.'] : ['Differences:', ...differences])],
  ]
  return { lines, isExpected }
}
