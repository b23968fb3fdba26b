import { appendFileSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

// biome-ignore lint/style/noProcessEnv: the first process of a run sets variables for the others
const variables = process.env

/** Lines that the processes of a run write for its end, in a file that this variable names. */
export const notesOfRun = (variable: string) => ({
  /** Before the first file of a run, in the process that starts the others. */
  begin() {
    const file = join(mkdtempSync(join(tmpdir(), 'gatehouse-run-')), 'notes')
    appendFileSync(file, '')
    variables[variable] = file
  },
  add(line: string) {
    const file = variables[variable]
    if (file) appendFileSync(file, `${line}\n`)
  },
  /** After the last file of a run: each different line. */
  take(): Set<string> {
    const file = variables[variable] ?? ''
    const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean)
    rmSync(dirname(file), { recursive: true })
    return new Set(lines)
  },
})
