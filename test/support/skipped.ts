import { findProgram, isContinuousIntegration } from './programs.ts'
import { notesOfRun } from './run-notes.ts'

const notes = notesOfRun('SKIPPED_SUITES_FILE')

// biome-ignore lint/style/noProcessEnv: the command that starts a run chooses its stores
const { TEST_STORES: chosen = 'sqlite' } = process.env

if (!['sqlite', 'servers', 'all'].includes(chosen)) {
  throw new Error(`TEST_STORES is ${chosen}; set it to sqlite, servers or all.`)
}

/** The stores of the run: SQLite (`npm test`), servers (`npm run test:servers`), or both (`TEST_STORES=all`). */
export const storesOfRun = { sqlite: chosen !== 'servers', servers: chosen !== 'sqlite' } as const

/** `npm run test:servers` selects suites by these words. */
const NAMES_A_SERVER = /PostgreSQL|Redis/

/** Defines a suite that needs PostgreSQL or Redis. Its title names the server. */
export function describeOnServers(title: string, suite: (this: Mocha.Suite) => void): void {
  if (!NAMES_A_SERVER.test(title)) throw new Error(`"${title}" must name PostgreSQL or Redis.`)
  if (storesOfRun.servers) describe(title, suite)
}

/** Returns the path of a program. If it is missing, skips the suite, or throws in continuous integration. */
export function requireProgram(context: Mocha.Context, name: string): string {
  const file = findProgram(name)
  if (file !== undefined) return file
  if (isContinuousIntegration) throw new Error(`${name} is not installed, and CI skips nothing.`)
  return skipAndSay(context, name)
}

/** Calls `requireProgram` for all tests of a block. Returns a function that returns the path. */
export function sharedProgram(name: string): () => string {
  let file = ''
  before(function () {
    file = requireProgram(this, name)
  })
  return () => file
}

/** Returns the path of an optional program. If it is missing, skips the suite, even in CI. */
export function askForProgram(context: Mocha.Context, name: string): string {
  return findProgram(name) ?? skipAndSay(context, name)
}

/** Skips a suite that this machine cannot run, even in CI. The end of the run reports it. */
export function skipAndSay(context: Mocha.Context, name: string): never {
  const runnable = context.currentTest ?? context.test
  notes.add(`${name}\t${runnable?.parent?.fullTitle() ?? runnable?.title ?? 'a test'}`)
  return context.skip()
}

export const mochaGlobalSetup = notes.begin

export function mochaGlobalTeardown(): void {
  for (const [name, skipped] of Map.groupBy(notes.take(), (line) => line.split('\t')[0])) {
    process.stdout.write(`\n  Skipped, because this machine has no ${name}:\n`)
    for (const line of skipped) process.stdout.write(`    - ${line.split('\t')[1]}\n`)
  }
}
