import { authorizeUrl } from '../test/support/client.ts'
import { notes, sam } from '../test/support/gatehouse.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import type { Options } from './options.ts'
import { loadUserInfo, type Measured, medians, percentile } from './rounds.ts'

/** The response times of UserInfo alone (`p99AloneMs`) and while people sign in. */
export interface SignInFigure {
  readonly p99AloneMs: number
  readonly p99Ms: number
  readonly requestsPerSecond: number
  readonly signInsPerSecond: number
}

const PARALLEL_SIGN_INS = 8
export const SIGN_IN_CONNECTIONS = 16

/** Measures UserInfo alone, and while one person keeps signing in from eight browsers. */
export async function measureSignIns(
  server: Measured,
  { rounds, seconds }: Pick<Options, 'rounds' | 'seconds'>,
): Promise<SignInFigure> {
  const samples: SignInFigure[] = []
  for (let round = 0; round < rounds; round += 1) {
    const alone = await loadUserInfo(server, SIGN_IN_CONNECTIONS, seconds)
    const people = signInWithoutPause(server.url)
    const load = await loadUserInfo(server, SIGN_IN_CONNECTIONS, seconds * 2)
    const signIns = await people.stop()
    samples.push({
      p99AloneMs: percentile(alone.tookMs, 0.99),
      p99Ms: percentile(load.tookMs, 0.99),
      requestsPerSecond: load.tookMs.length / load.elapsedSeconds,
      signInsPerSecond: signIns / load.elapsedSeconds,
    })
  }
  return medians(samples)
}

function signInWithoutPause(url: string): { stop(): Promise<number> } {
  let stopped = false
  let signIns = 0
  const loops = Array.from({ length: PARALLEL_SIGN_INS }, async () => {
    while (!stopped) {
      // Ignore failed sign-ins: under this load, some exceed the storage timeout.
      await makeHeadlessPerson(sam)
        .authorize(authorizeUrl(url), notes.redirectUri)
        .then(() => {
          if (!stopped) signIns += 1
        })
        .catch(() => {})
    }
  })
  return {
    async stop() {
      stopped = true
      const counted = signIns
      await Promise.all(loops)
      return counted
    },
  }
}
