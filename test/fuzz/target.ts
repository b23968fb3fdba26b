import { setTimeout as delay } from 'node:timers/promises'

import { startProcess } from '../support/process.ts'
import { eventually } from '../support/programs.ts'

/** Sizes in bytes. */
export type Memory = Readonly<Record<'heap' | 'resident memory', number>>

export type Target = Awaited<ReturnType<typeof startTarget>>

/** Starts the service to fuzz in its own process. `hearLine` gets each line of its log. */
export async function startTarget(hearLine: (line: string) => void) {
  const command = [process.execPath, '--expose-gc', 'test/fuzz/fuzzed-process.ts']
  const service = await startProcess({ LOG_LEVEL: 'info' }, command)
  const said: string[] = []
  service.hear((line) => {
    if (line.startsWith('memory ')) said.push(line)
    else hearLine(line)
  })
  return {
    url: service.url,
    isAlive: service.isAlive,
    async memory(): Promise<Memory> {
      await delay(1000)
      said.length = 0
      service.signal('SIGUSR2')
      return await eventually(10_000, async () => {
        const [line] = said
        if (line === undefined) throw new Error('the service did not report its memory')
        const [, heap = 0, resident = 0] = line.split(' ').map(Number)
        return { heap, 'resident memory': resident }
      })
    },
    [Symbol.asyncDispose]: service[Symbol.asyncDispose],
  }
}
