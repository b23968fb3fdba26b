import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { findProgram, isContinuousIntegration } from './programs.ts'

// biome-ignore lint/style/noProcessEnv: the first process of a run sets variables for the others
const variables = process.env
const NOTED_IN = 'SKIPPED_SUITES_FILE'

/**
 * The path of a program that a suite needs. Where it is missing the suite is skipped, and the end
 * of the run says so; in continuous integration nothing may be skipped, so there it is an error.
 */
export function requireProgram(context: Mocha.Context, name: string): string {
  const file = findProgram(name)
  if (file !== undefined) return file
  if (isContinuousIntegration) throw new Error(`${name} is not installed, and CI skips nothing.`)
  return skipAndSay(context, name)
}

/** `requireProgram` for all tests of a block. Returns a function that gives the path. */
export function sharedProgram(name: string): () => string {
  let file = ''
  before(function () {
    file = requireProgram(this, name)
  })
  return () => file
}

/**
 * The path of a program of a registry that may not answer: where it is missing, the suite is skipped
 * in continuous integration too, and named at the end.
 */
export function askForProgram(context: Mocha.Context, name: string): string {
  return findProgram(name) ?? skipAndSay(context, name)
}

function skipAndSay(context: Mocha.Context, name: string): never {
  const noted = variables[NOTED_IN]
  if (noted !== undefined) appendFileSync(noted, `${name}\t${titleOf(context)}\n`)
  return context.skip()
}

function titleOf(context: Mocha.Context): string {
  const runnable = context.currentTest ?? context.test
  return runnable?.parent?.fullTitle() ?? runnable?.title ?? 'a test'
}

/** Before the first file of a run, in the process that hands the files out. */
export function mochaGlobalSetup(): void {
  const file = join(mkdtempSync(join(tmpdir(), 'gatehouse-skipped-')), 'suites')
  appendFileSync(file, '')
  variables[NOTED_IN] = file
}

/** After the last file of a run: what was skipped is the last thing that it says. */
export function mochaGlobalTeardown(): void {
  const file = variables[NOTED_IN] ?? ''
  const lines = new Set(readFileSync(file, 'utf8').split('\n').filter(Boolean))
  rmSync(dirname(file), { recursive: true })
  const byProgram = Map.groupBy(lines, (line) => line.split('\t')[0])
  for (const [name, skipped] of byProgram) {
    process.stdout.write(`\n  Skipped, because ${name} is not installed here:\n`)
    for (const line of skipped) process.stdout.write(`    - ${line.split('\t')[1]}\n`)
  }
}
