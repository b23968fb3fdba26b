import { appendFileSync } from 'node:fs'

import { isContinuousIntegration } from './programs.ts'
import { notesOfRun } from './run-notes.ts'

/** In continuous integration, a failed test runs a second time, unless it sets its own number of retries. */

const notes = notesOfRun('SECOND_ATTEMPTS_FILE')
/** The file to which the paths of failed test files are written. */
// biome-ignore lint/style/noProcessEnv: the command that starts a run sets it
const { FAILED_FILES: failedFiles } = process.env

export const mochaHooks: Mocha.RootHookObject = isContinuousIntegration
  ? {
      beforeEach(this: Mocha.Context) {
        const test = this.currentTest
        if (test && test.retries() < 0) test.retries(1)
      },
      afterEach(this: Mocha.Context) {
        const test = this.currentTest
        if (test && attemptsOf(test) && test.state === 'passed') notes.add(test.fullTitle())
      },
    }
  : {}

function attemptsOf(test: Mocha.Test): number {
  return (test as unknown as { currentRetry(): number }).currentRetry()
}

/** Records the file of each failed test, or `final` for a test that may not run again. */
export function mochaGlobalSetup(this: Mocha.Runner): void {
  notes.begin()
  if (failedFiles === undefined) return
  this.on('fail', (failed: Mocha.Test) => {
    const hasOneAttempt = failed.type === 'test' && attemptsOf(failed) === 0
    appendFileSync(failedFiles, `${hasOneAttempt ? 'final' : (failed.file ?? 'final')}\n`)
  })
}

export function mochaGlobalTeardown(): void {
  const titles = notes.take()
  if (titles.size === 0) return
  process.stdout.write('\n  Passed at a later attempt, because of a busy machine or of a race:\n')
  for (const title of titles) process.stdout.write(`    - ${title}\n`)
}
