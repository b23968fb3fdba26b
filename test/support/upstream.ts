import { join } from 'node:path'

import type { ServicePolicy } from '../../src/config/config.ts'
import { type ServiceSetup, startService } from './gatehouse.ts'
import { freePort, startProgram } from './programs.ts'
import type { Start } from './storages.ts'

export const PLATFORM = 'https://platform.internal/api'

/** Maps coupons (read and write), forms (read) and events (write) to an API at `port`. `slow` times out after 0.3 s. */
export function mapping(port: number): ServicePolicy['upstreams'] {
  const common = { audience: PLATFORM, answerWithinSeconds: 10, bodyBytesMax: 1_000_000 }
  const address = `http://127.0.0.1:${port}/api`
  const scopes = { readScope: 'coupons:read', writeScope: 'coupons:write' }
  const coupons = { ...common, ...scopes, address: `${address}/coupons` }
  return [
    { ...coupons, path: 'coupons' },
    { ...coupons, path: 'slow', answerWithinSeconds: 0.3 },
    { ...common, path: 'events', writeScope: 'events:write', address: `${address}/events` },
    { ...common, path: 'shop/forms', readScope: 'forms:read', address: `${address}/forms` },
  ]
}

/** Starts the API of a platform, which validates tokens of this issuer. */
export async function startPlatform(port: number, issuer: string) {
  const program = await startProgram({
    file: process.execPath,
    arguments: [join(import.meta.dirname, '../upstream-worker.ts'), String(port), issuer, PLATFORM],
    cwd: import.meta.dirname,
    readyWhen: /listening/,
  })
  return {
    ...program,
    /** Returns the requests whose token the platform accepted, and the paths of all requests that have ended. */
    async seen() {
      const response = await fetch(`http://127.0.0.1:${port}/seen`)
      return (await response.json()) as { seen: SeenRequest[]; closed: string[] }
    },
  }
}

interface SeenRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly claims: Readonly<Record<string, unknown>>
}

/** Starts a service with the API of a platform, which `mappingAt` maps to paths of the service. */
export async function startWithPlatform(
  setup: ServiceSetup = {},
  start: Start = startService,
  mappingAt = mapping,
) {
  const port = await freePort()
  const service = await start({
    ...setup,
    policy: (policy) => ({ ...(setup.policy?.(policy) ?? policy), upstreams: mappingAt(port) }),
  })
  const platform = await startPlatform(port, service.url)
  return {
    ...service,
    platform,
    async [Symbol.asyncDispose]() {
      await platform.kill()
      await service[Symbol.asyncDispose]()
    },
  }
}
