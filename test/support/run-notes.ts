import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

// biome-ignore lint/style/noProcessEnv: the first process of a run sets variables for the others
const variables = process.env

/** Notes of the processes of a test run, read when the run ends. The variable has the path of their file. */
export const notesOfRun = (variable: string) => ({
  /** Creates the file. Called before the first test file, in the process that starts the others. */
  begin() {
    const file = join(mkdtempSync(join(tmpdir(), 'gatehouse-run-')), 'notes')
    appendFileSync(file, '')
    variables[variable] = file
  },
  add(line: string) {
    const file = variables[variable]
    if (file) appendFileSync(file, `${line}\n`)
  },
  /** Removes the file and returns each distinct note. Called after the last test file. */
  take(): Set<string> {
    const file = variables[variable] ?? ''
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
    rmSync(dirname(file), { recursive: true })
    return new Set(lines)
  },
})
