import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'

import { startPostgres } from '../support/postgres.ts'
import {
  endNow,
  endWithTests,
  eventually,
  findProgram,
  freePort,
  temporaryFolder,
} from '../support/programs.ts'

const START_TIMEOUT_MS = 60_000

export type Memory = Readonly<Record<'heapBytes' | 'rssBytes', number>>

export type Target = Awaited<ReturnType<typeof startTarget>>

/** Starts the service under fuzz in its own process. `hearLine` gets each line of its log. */
export async function startTarget(
  storage: 'sqlite' | 'postgres',
  hearLine: (line: string) => void,
) {
  await using opening = new AsyncDisposableStack()
  const port = await freePort()
  const child = spawn(process.execPath, ['--expose-gc', 'test/fuzz/fuzzed-process.ts'], {
    cwd: join(import.meta.dirname, '../..'),
    env: {
      ...{ PORT: String(port), DATA_DIR: temporaryFolder(), LOG_LEVEL: 'info' },
      ...(storage === 'postgres' && {
        ...{ DATABASE_URL: await openPostgres(opening), DEMO_DATA: 'on' },
        SECRET: randomBytes(32).toString('hex'),
      }),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  endWithTests(child)
  opening.defer(async () => await endNow(child))
  createInterface({ input: child.stdout }).on('line', hearLine)
  const said: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => {
    said.push(line)
    if (!line.startsWith('memory ')) hearLine(line)
  })
  const url = `http://127.0.0.1:${port}`
  await eventually(START_TIMEOUT_MS, async () => {
    const { status } = await fetch(`${url}/healthz`)
    if (status !== 200) throw new Error(`it answers ${status}`)
  }).catch((cause: unknown) => {
    throw new Error(`the service did not start: ${said.join('\n')}`, { cause })
  })
  const open = opening.move()
  return {
    url,
    isAlive: () => child.exitCode === null && child.signalCode === null,
    async memory(): Promise<Memory> {
      await delay(1000)
      said.length = 0
      child.kill('SIGUSR2')
      return await eventually(10_000, async () => {
        const line = said.find((each) => each.startsWith('memory '))
        if (line === undefined) throw new Error('it did not say its memory')
        const [, heapBytes = 0, rssBytes = 0] = line.split(' ').map(Number)
        return { heapBytes, rssBytes }
      })
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

async function openPostgres(opening: AsyncDisposableStack): Promise<string> {
  const program = findProgram('postgres')
  if (program === undefined) throw new Error('there is no PostgreSQL on this machine')
  return await opening.use(await startPostgres(program)).createDatabase('demo')
}
