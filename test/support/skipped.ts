import { findProgram, isContinuousIntegration, type ProgramName } from './programs.ts'

const missing = new Map<ProgramName, Set<string>>()

/**
 * The path of a program that a suite needs. Where it is missing the suite is skipped, and the end
 * of the run says so; in continuous integration nothing may be skipped, so there it is an error.
 */
export function requireProgram(context: Mocha.Context, name: ProgramName): string {
  const file = findProgram(name)
  if (file !== undefined) return file
  if (isContinuousIntegration) throw new Error(`${name} is not installed, and CI skips nothing.`)

  const suites = missing.get(name) ?? new Set()
  missing.set(name, suites.add(titleOf(context)))
  return context.skip()
}

function titleOf(context: Mocha.Context): string {
  const runnable = context.currentTest ?? context.test
  return runnable?.parent?.fullTitle() ?? runnable?.title ?? 'a test'
}

/** Root hooks, for mocha's `require`: what was skipped is the last thing that a run says. */
export const mochaHooks: Mocha.RootHookObject = {
  afterAll() {
    for (const [name, suites] of missing) {
      process.stdout.write(`\n  Skipped, because ${name} is not installed here:\n`)
      for (const suite of suites) process.stdout.write(`    - ${suite}\n`)
    }
  },
}
