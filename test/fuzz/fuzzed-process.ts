/**
 * Runs the service for the fuzzer, with all optional protocols and without limits or outgoing requests. On SIGUSR2,
 * collects garbage and reports the memory.
 */

import { once } from 'node:events'
import { writeSync } from 'node:fs'

import { pino } from 'pino'

import { openGatehouse } from '../../src/compose.ts'
import { readConfig } from '../../src/config/config.ts'
import { openServer } from '../../src/platform/process/server.ts'
import { configFolder, patient } from '../support/gatehouse.ts'
import { withoutAnyLimit } from '../support/limits.ts'
import { everyPlan } from '../support/proofs.ts'

// biome-ignore lint/style/noProcessEnv: like main.ts, it is a process of its own
const config = readConfig(process.env, configFolder)
const policy = { ...patient(withoutAnyLimit(config.service)), furtherPlans: everyPlan }
const logger = pino(
  { level: config.logLevel, base: null },
  pino.destination({ dest: 1, sync: false }),
)
await using service = await openGatehouse({ ...config, service: policy }, logger, {
  fetch: async (input) => {
    throw new Error(`the fuzzed service must send no requests, but requested ${String(input)}`)
  },
})
const server = await openServer(service.handler, config)

process.on('SIGUSR2', () => {
  // target.ts starts this process with `--expose-gc`.
  for (let run = 0; run < 3; run += 1) globalThis.gc?.()
  const { heapUsed, rss } = process.memoryUsage()
  writeSync(2, `memory ${heapUsed} ${rss}\n`)
})

await once(process, 'SIGTERM')
await server.drain()
