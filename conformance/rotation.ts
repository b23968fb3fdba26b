import { request } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

import { z } from 'zod'

import { rotateSigningKeys } from '../src/ops/cli/keys-command.ts'
import { paths } from '../src/platform/http/paths.ts'
import { readCertificate, readServedConfig, type ServeOptions } from './serve.ts'

interface Rotation extends Pick<ServeOptions, 'baseUrl' | 'suiteBaseUrl'> {
  /** The folder of a service that `serve` has started; another one's keys are rotated by hand. */
  readonly folder: string | undefined
  readonly say: (line: string) => void
}

const ASK_EVERY_MS = 1000
/** Time for a person to type a command, and for the service to follow it. */
const FOLLOWED_WITHIN_MS = 3 * 60_000

const keySet = z.object({ keys: z.array(z.object({ kid: z.string() })) })

/**
 * Lets the service's next key sign although it was published only just now, and returns when the
 * service publishes a key that it has not published before.
 *
 * @throws when it does not within three minutes
 */
export async function rotateServedKeys({ folder, say, ...addresses }: Rotation): Promise<void> {
  const { baseUrl } = addresses
  const trusted = folder === undefined ? undefined : readCertificate(folder)
  const before = await publishedKeys(baseUrl, trusted)
  if (folder === undefined) {
    say('    The suite waits for another signing key: npm run gatehouse -- keys rotate --force')
  } else {
    const rotation = { use: 'tokens', force: true } as const
    await rotateSigningKeys(readServedConfig(folder, addresses), rotation)
    say('    The suite waits for another signing key, and the keys were rotated.')
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
