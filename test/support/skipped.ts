import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { findProgram, isContinuousIntegration } from './programs.ts'

// biome-ignore lint/style/noProcessEnv: the first process of a run sets variables for the others
const variables = process.env
/** The variable with the path of the file to which all processes of a run append skipped suites. */
const FILE = 'SKIPPED_SUITES_FILE'
const { TEST_STORES: chosen = 'sqlite' } = variables

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

/** Skips a suite that this machine cannot run, even in CI. The report at the end of the run names it. */
export function skipAndSay(context: Mocha.Context, name: string): never {
  const runnable = context.currentTest ?? context.test
  const line = `${name}\t${runnable?.parent?.fullTitle() ?? runnable?.title ?? 'a test'}\n`
  appendFileSync(variables[FILE] ?? '/dev/null', line)
  return context.skip()
}

export function mochaGlobalSetup(): void {
  variables[FILE] = join(mkdtempSync(join(tmpdir(), 'gatehouse-run-')), 'skipped')
  appendFileSync(variables[FILE], '')
}

export function mochaGlobalTeardown(): void {
  const file = variables[FILE] ?? ''
  const lines = new Set(readFileSync(file, 'utf8').split('\n').filter(Boolean))
  rmSync(dirname(file), { recursive: true })
  for (const [name, skipped] of Map.groupBy(lines, (line) => line.split('\t')[0])) {
    process.stdout.write(`\n  Skipped, because this machine has no ${name}:\n`)
    for (const line of skipped) process.stdout.write(`    - ${line.split('\t')[1]}\n`)
  }
}
