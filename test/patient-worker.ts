import { once } from 'node:events'

import { pino } from 'pino'

import { openGatehouse } from '../src/compose.ts'
import { readConfig } from '../src/config/config.ts'
import { openServer } from '../src/platform/process/server.ts'
import { configFolder, patient } from './support/gatehouse.ts'
import { withoutLimits } from './support/limits.ts'

/** Serves with long storage timeouts and high limits, so that no 503 or 429 hides a race on a busy machine. */
// biome-ignore lint/style/noProcessEnv: like main.ts, it is a process of its own
const config = readConfig(process.env, configFolder)
await using service = await openGatehouse(
  { ...config, service: withoutLimits(patient(config.service)) },
  pino({ level: 'silent' }),
)
const server = await openServer(service.handler, config)
await once(process, 'SIGTERM')
await server.drain()
