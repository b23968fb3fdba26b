import { randomBytes } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'

import { startPostgres } from '../support/postgres.ts'
import { startProcess, type Variables } from '../support/process.ts'
import { eventually, findProgram } from '../support/programs.ts'

export type Memory = Readonly<Record<'heapBytes' | 'rssBytes', number>>

export type Target = Awaited<ReturnType<typeof startTarget>>

/** Starts the service under fuzz in its own process. `hearLine` gets each line of its log. */
export async function startTarget(
  storage: 'sqlite' | 'postgres',
  hearLine: (line: string) => void,
) {
  await using opening = new AsyncDisposableStack()
  const variables = storage === 'postgres' ? await openPostgres(opening) : {}
  const command = [process.execPath, '--expose-gc', 'test/fuzz/fuzzed-process.ts']
  const service = opening.use(await startProcess({ LOG_LEVEL: 'info', ...variables }, command))
  const said: string[] = []
  service.hear((line) => {
    if (line.startsWith('memory ')) said.push(line)
    else hearLine(line)
  })
  const open = opening.move()
  return {
    url: service.url,
    isAlive: service.isAlive,
    async memory(): Promise<Memory> {
      await delay(1000)
      said.length = 0
      service.signal('SIGUSR2')
      return await eventually(10_000, async () => {
        const [line] = said
        if (line === undefined) throw new Error('it did not say its memory')
        const [, heapBytes = 0, rssBytes = 0] = line.split(' ').map(Number)
        return { heapBytes, rssBytes }
      })
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

async function openPostgres(opening: AsyncDisposableStack): Promise<Variables> {
  const program = findProgram('postgres')
  if (program === undefined) throw new Error('there is no PostgreSQL on this machine')
  const DATABASE_URL = await opening.use(await startPostgres(program)).createDatabase('demo')
  return { DATABASE_URL, DEMO_DATA: 'on', SECRET: randomBytes(32).toString('hex') }
}
