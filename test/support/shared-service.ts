import { type RunningService, type ServiceSetup, startService } from './gatehouse.ts'
import type { Start } from './storages.ts'

/** One service for all tests of a block, which change nothing that another of them reads. */
export function sharedService(setup?: ServiceSetup, start: Start = startService) {
  let running: RunningService | undefined
  before(async () => {
    running = await start(setup)
  })
  after(async () => await running?.[Symbol.asyncDispose]())
  return () => {
    if (!running) throw new Error('the service runs only while tests of its block do')
    return running
  }
}
