import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

import { isContinuousIntegration } from './programs.ts'

/**
 * In continuous integration a failed test runs once more, and the end of the run names those that passed then: the
 * reason is a busy machine or a race. Suites that look for races and lost writes set `retries(0)`. Set-ups have no
 * second attempt; `.ci/run` repeats the files of the list that is written here.
 */

// biome-ignore lint/style/noProcessEnv: the first process of a run sets variables for the others
const variables = process.env
const NOTED_IN = 'SECOND_ATTEMPTS_FILE'
/** Names a file that gets the paths of files in which something failed. */
const FAILED_IN = 'FAILED_FILES'

export const mochaHooks: Mocha.RootHookObject = isContinuousIntegration
  ? {
      beforeEach(this: Mocha.Context) {
        const test = this.currentTest
        if (test && test.retries() < 0) test.retries(1)
      },
      afterEach(this: Mocha.Context) {
        const test = this.currentTest
        const file = variables[NOTED_IN]
        if (!test || !file || !attemptsOf(test) || test.state !== 'passed') return
        appendFileSync(file, `${test.fullTitle()}\n`)
      },
    }
  : {}

/** The number of earlier attempts, which mocha's types lack. */
function attemptsOf(test: Mocha.Test): number {
  return (test as unknown as { currentRetry(): number }).currentRetry()
}

/** Before the first file of a run, in the main process. */
export function mochaGlobalSetup(this: Mocha.Runner): void {
  noteFailedFiles(this)
  const file = join(mkdtempSync(join(tmpdir(), 'gatehouse-attempts-')), 'tests')
  appendFileSync(file, '')
  variables[NOTED_IN] = file
}

/** After the last file of a run. */
export function mochaGlobalTeardown(): void {
  const file = variables[NOTED_IN] ?? ''
  const titles = readFileSync(file, 'utf8').split('\n').filter(Boolean)
  rmSync(dirname(file), { recursive: true })
  if (titles.length === 0) return
  process.stdout.write('\n  Passed at a later attempt, because of a busy machine or of a race:\n')
  for (const title of titles) process.stdout.write(`    - ${title}\n`)
}

/** Names files with failures; those of tests with one attempt are final. */
function noteFailedFiles(runner: Mocha.Runner): void {
  const file = variables[FAILED_IN]
  if (file === undefined) return
  runner.on('fail', (failed: Mocha.Test) => {
    const hasOneAttempt = failed.type === 'test' && attemptsOf(failed) === 0
    appendFileSync(file, `${hasOneAttempt ? 'final' : (failed.file ?? 'final')}\n`)
  })
}
