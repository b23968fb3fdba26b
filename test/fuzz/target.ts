import { type ChildProcess, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'

import { startPostgres } from '../support/postgres.ts'
import { eventually, findProgram, freePort } from '../support/programs.ts'

const root = join(import.meta.dirname, '../..')
const START_TIMEOUT_MS = 60_000

export interface Memory {
  readonly heapBytes: number
  readonly rssBytes: number
}

/** The service under fuzz, in a process of its own. */
export interface Target extends AsyncDisposable {
  readonly url: string
  /** What is left when nothing is asked and everything was collected. */
  memory(): Promise<Memory>
  /** Whether the process still runs. */
  isAlive(): boolean
}

/**
 * @param hearLine hears each line of its log
 * @throws when PostgreSQL is wanted and not here
 */
export async function startTarget(
  storage: 'sqlite' | 'postgres',
  hearLine: (line: string) => void,
): Promise<Target> {
  await using opening = new AsyncDisposableStack()
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-fuzz-'))
  opening.defer(() => rmSync(folder, { recursive: true, force: true }))
  const port = await freePort()
  const child = spawn(process.execPath, ['--expose-gc', 'test/fuzz/fuzzed-process.ts'], {
    cwd: root,
    env: {
      ...{ PORT: String(port), DATA_DIR: folder, LOG_LEVEL: 'info' },
      ...(storage === 'postgres' && {
        ...{ DATABASE_URL: await openPostgres(opening), DEMO_DATA: 'on' },
        SECRET: randomBytes(32).toString('hex'),
      }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  opening.defer(async () => await end(child))
  createInterface({ input: child.stdout }).on('line', hearLine)
  const measured = createInterface({ input: child.stderr })
  measured.on('line', (line) => {
    if (!line.startsWith('memory ')) hearLine(line)
  })
  const url = `http://127.0.0.1:${port}`
  const said: string[] = []
  const hearWhy = (line: string) => void said.push(line)
  measured.on('line', hearWhy)
  await eventually(START_TIMEOUT_MS, async () => {
    const { status } = await fetch(`${url}/healthz`)
    if (status !== 200) throw new Error(`it answers ${status}`)
  }).catch((cause: unknown) => {
    throw new Error(`the service did not start: ${said.join('\n')}`, { cause })
  })
  measured.off('line', hearWhy)
  const open = opening.move()
  return {
    url,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    async memory() {
      await delay(1000)
      const said = new Promise<string>((resolve) => {
        const hear = (line: string) => {
          if (!line.startsWith('memory ')) return
          measured.off('line', hear)
          resolve(line)
        }
        measured.on('line', hear)
      })
      child.kill('SIGUSR2')
      const [, heapBytes, rssBytes] = (await said).split(' ').map(Number)
      return { heapBytes: heapBytes ?? 0, rssBytes: rssBytes ?? 0 }
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

async function openPostgres(opening: AsyncDisposableStack): Promise<string> {
  const program = findProgram('postgres')
  if (program === undefined) throw new Error('there is no PostgreSQL on this machine')
  const server = opening.use(await startPostgres(program))
  return await server.createDatabase('demo')
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.kill('SIGKILL')
  await once(child, 'exit')
}
