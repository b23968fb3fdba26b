import { setTimeout as delay } from 'node:timers/promises'

import { z } from 'zod'

import { rotateSigningKeys } from '../src/ops/cli/keys-command.ts'
import { paths } from '../src/platform/http/paths.ts'
import { askService, type ServiceAddress } from './ask.ts'
import { readServedConfig } from './serve.ts'

/** The service whose keys to rotate. Without a folder, a person must rotate them. */
interface Rotation extends ServiceAddress {
  readonly suiteBaseUrl: string
  readonly say: (line: string) => void
}

const ASK_EVERY_MS = 1000
/** Time for a person to enter the command, and for the service to load the keys. */
const FOLLOWED_WITHIN_MS = 3 * 60_000

const keySet = z.object({ keys: z.array(z.object({ kid: z.string() })) })

/**
 * Makes the service's next key the current one, even if it was only just published. Without a folder, asks a person to
 * do so. Resolves when the service publishes a new key.
 *
 * @throws Error if no new key appears within three minutes
 */
export async function rotateServedKeys(rotation: Rotation): Promise<void> {
  const { baseUrl, folder, say } = rotation
  const before = await publishedKeys(rotation)
  if (folder === undefined) {
    say('    The suite waits for a new signing key. Run: npm run gatehouse -- keys rotate --force')
  } else {
    const now = { argument: '', force: true }
    await rotateSigningKeys(readServedConfig(folder, rotation), now)
    say('    The suite waits for a new signing key, so the keys were rotated.')
  }
  const untilMs = performance.now() + FOLLOWED_WITHIN_MS
  while (performance.now() < untilMs) {
    if (!(await publishedKeys(rotation)).isSubsetOf(before)) return
    await delay(ASK_EVERY_MS)
  }
  throw new Error(
    `${baseUrl}${paths.jwks} has published no new key within three minutes. Run the module again.`,
  )
}

async function publishedKeys(address: ServiceAddress): Promise<Set<string>> {
  const { keys } = keySet.parse(await askService(address, paths.jwks))
  return new Set(keys.map(({ kid }) => kid))
}
