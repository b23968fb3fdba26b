import { setTimeout as delay } from 'node:timers/promises'

import { BUSY_LIMITS_MAX, StorageTimeout } from '../src/platform/store/storage-timeout.ts'

const LIMIT_MS = 50

it('the time limit ends calls to a silent store, and later also calls to a store that responds to others', async () => {
  const timeout = new StorageTimeout(LIMIT_MS)
  const startedMs = performance.now()
  const ended: [string, number][] = []
  const end = (name: string) => ended.push([name, (performance.now() - startedMs) / LIMIT_MS])
  timeout.start(() => end('silent'))
  await delay(3 * LIMIT_MS)
  expect(ended.map(([name]) => name)).to.deep.equal(['silent'])

  timeout.start(() => end('busy'))
  const wait = timeout.start(() => end('failing'))
  timeout.stop(wait, false)
  for (let turn = 0; turn < 100 && ended.length < 2; turn += 1) {
    const other = timeout.start(() => end('other'))
    await delay(LIMIT_MS / 5)
    timeout.stop(other, true)
  }
  const [, [name, limits] = ['', 0]] = ended
  expect(name).to.equal('busy')
  expect(limits).to.be.above(BUSY_LIMITS_MAX)
})
