import { appendFileSync } from 'node:fs'

/** The file to which the paths of failed test files are written. */
// biome-ignore lint/style/noProcessEnv: the command that starts a run sets it
const { FAILED_FILES: failedFiles } = process.env
const passedLater: string[] = []

const retriesOf = (test: Mocha.Test) =>
  (test as unknown as { currentRetry(): number }).currentRetry()

/** Records which tests pass on a retry. For each failed test, records its file, or `final` if the test has no retries. */
export function mochaGlobalSetup(this: Mocha.Runner): void {
  this.on('pass', (test: Mocha.Test) => {
    if (retriesOf(test) > 0) passedLater.push(test.fullTitle())
  })
  this.on('fail', (failed: Mocha.Test) => {
    if (failedFiles === undefined) return
    const isFinal = failed.type === 'test' && retriesOf(failed) === 0
    appendFileSync(failedFiles, `${isFinal ? 'final' : (failed.file ?? 'final')}\n`)
  })
}

export function mochaGlobalTeardown(): void {
  if (passedLater.length === 0) return
  process.stdout.write('\n  Passed at a later attempt, because of a busy machine or a race:\n')
  for (const title of passedLater) process.stdout.write(`    - ${title}\n`)
}
