import { authorizeUrl } from '../test/support/client.ts'
import { notes, sam } from '../test/support/gatehouse.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { operations } from './operations.ts'
import type { Options } from './options.ts'
import { type Measured, median, percentile } from './rounds.ts'
import { runLoad } from './wire-client.ts'

/** What people who sign in cost those who use tokens. */
export interface SignInFigure {
  readonly p99AloneMs: number
  readonly p99Ms: number
  readonly requestsPerSecond: number
  readonly signInsPerSecond: number
}

const PARALLEL_SIGN_INS = 8
export const SIGN_IN_CONNECTIONS = 16

/** UserInfo on sixteen connections, by itself and while eight people sign in without a pause. */
export async function measureSignIns(
  server: Measured,
  { rounds, seconds }: Pick<Options, 'rounds' | 'seconds'>,
): Promise<SignInFigure> {
  const samples: SignInFigure[] = []
  for (let round = 0; round < rounds; round += 1) {
    const sources = () =>
      operations.userinfo.prepare(server.supply, { connections: SIGN_IN_CONNECTIONS, requests: 0 })
    const alone = await runLoad(server.url, await sources(), { seconds })
    const people = signInWithoutPause(server.url)
    const load = await runLoad(server.url, await sources(), { seconds: seconds * 2 })
    const signIns = await people.stop()
    samples.push({
      p99AloneMs: percentile(alone.tookMs, 0.99),
      p99Ms: percentile(load.tookMs, 0.99),
      requestsPerSecond: load.tookMs.length / load.elapsedSeconds,
      signInsPerSecond: signIns / load.elapsedSeconds,
    })
  }
  const of = (name: keyof SignInFigure) => median(samples.map((sample) => sample[name]))
  return {
    p99AloneMs: of('p99AloneMs'),
    p99Ms: of('p99Ms'),
    requestsPerSecond: of('requestsPerSecond'),
    signInsPerSecond: of('signInsPerSecond'),
  }
}

function signInWithoutPause(url: string): { stop(): Promise<number> } {
  let stopped = false
  let signIns = 0
  const loops = Array.from({ length: PARALLEL_SIGN_INS }, async () => {
    while (!stopped) {
      // One that storage refused is no sign-in, and is followed by the next.
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
