import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

import { z } from 'zod'

import { rotateSigningKeys } from '../src/ops/cli/keys-command.ts'
import { paths } from '../src/platform/http/paths.ts'
import { readCertificate, readServedConfig, type ServeOptions } from './serve.ts'

interface Rotation extends Pick<ServeOptions, 'baseUrl' | 'suiteBaseUrl'> {
  /** The folder of a service that `serve` started. Without a folder, a person must rotate the keys. */
  readonly folder: string | undefined
  readonly say: (line: string) => void
}

const ASK_EVERY_MS = 1000
/** Time for a person to enter the command, and for the service to load the keys. */
const FOLLOWED_WITHIN_MS = 3 * 60_000

const keySet = z.object({ keys: z.array(z.object({ kid: z.string() })) })

/**
 * Makes the service's next key the current one, although it was published only recently. Returns when the service
 * publishes a new key.
 *
 * @throws Error if that takes longer than three minutes
 */
export async function rotateServedKeys({ folder, say, ...addresses }: Rotation): Promise<void> {
  const { baseUrl } = addresses
  const trusted = folder === undefined ? undefined : readCertificate(folder)
  const before = await publishedKeys(baseUrl, trusted)
  if (folder === undefined) {
    say('    The suite waits for a new signing key. Run: npm run gatehouse -- keys rotate --force')
  } else {
    const rotation = { use: 'tokens', force: true } as const
    await rotateSigningKeys(readServedConfig(folder, addresses), rotation)
    say('    The suite waits for a new signing key, so the keys were rotated.')
  }
  const untilMs = performance.now() + FOLLOWED_WITHIN_MS
  while (performance.now() < untilMs) {
    const now = await publishedKeys(baseUrl, trusted)
    if (!now.isSubsetOf(before)) return
    await delay(ASK_EVERY_MS)
  }
  throw new Error(`${baseUrl}${paths.jwks} shows no new key.`)
}

async function publishedKeys(baseUrl: string, trusted: string | undefined): Promise<Set<string>> {
  const { promise, resolve, reject } = Promise.withResolvers<string>()
  const options = trusted === undefined ? {} : { ca: trusted }
  const asked = request(`${baseUrl}${paths.jwks}`, options, (answer) => {
    text(answer).then(resolve, reject)
  })
  asked.once('error', (error) => reject(new Error(`${baseUrl} does not answer.`, { cause: error })))
  asked.end()
  return new Set(keySet.parse(JSON.parse(await promise)).keys.map(({ kid }) => kid))
}
