import { setTimeout as delay } from 'node:timers/promises'

import { introspect, redeem, refresh } from '../support/client.ts'
import { inParallel } from '../support/driven.ts'
import type { Family, Ledger } from './ledger.ts'
import type { ObtainedCode } from './load.ts'
import type { Requests } from './requests.ts'

/** `lifetimes.refreshRetrySeconds`, plus a second for rounding. */
const RETRY_WINDOW_MS = 11_000
const AT_ONCE = 8

/** Checks the ledger after the fault, except abandoned families. Replays come last, because they end their grants. */
export async function checkLedger(ledger: Ledger, requests: Requests, faultAtMs: number) {
  await inParallel(ledger.families, AT_ONCE, async (family) => {
    if (!family.abandoned) await checkFamily(family, ledger, requests)
  })
  const grants = Map.groupBy(ledger.families, ({ grant }) => grant)
  await inParallel([...grants], AT_ONCE, async ([grant, families]) => {
    await replayAt(grant, families, { ledger, requests, faultAtMs })
  })
}

async function checkFamily(family: Family, ledger: Ledger, requests: Requests) {
  for (const token of family.accessTokens) {
    const sentAtMs = performance.now()
    const { body } = await requests.askUntilAnswered('introspection', (address) =>
      introspect(address, token),
    )
    ledger.judged(family, body.active === true, sentAtMs)
  }
  const used = family.held
  const sentAtMs = performance.now()
  const { status, body } = await requests.askUntilAnswered('refresh', (address) =>
    refresh(address, used),
  )
  if (status !== 200) return ledger.refused(family, String(body.error))
  const issued = { accessToken: body.access_token, refreshToken: body.refresh_token }
  ledger.refreshed(family, { used, issued, sentAtMs, nowMs: performance.now() })
}

/** Replays a used refresh token of the grant, or a used code if the index of the grant is odd and a code was used. */
async function replayAt(
  grant: number,
  families: readonly Family[],
  { ledger, requests, faultAtMs }: { ledger: Ledger; requests: Requests; faultAtMs: number },
): Promise<void> {
  const good = families.filter(({ abandoned, revoking }) => !abandoned && !revoking)
  const codes = ledger.codes.filter(({ family }) => family !== undefined && good.includes(family))
  const [code] = codes
  if (grant % 2 === 1 && code) {
    const replayed = await requests.askUntilAnswered('exchange', (address) =>
      redeem(address, code as ObtainedCode),
    )
    return ledger.replayed('code', replayed.status)
  }
  const [nearest] = good
    .flatMap(({ used }) => [...used].map(([token, { atMs }]) => ({ token, atMs })))
    .sort((one, other) => Math.abs(one.atMs - faultAtMs) - Math.abs(other.atMs - faultAtMs))
  if (!nearest) return
  await delay(Math.max(0, nearest.atMs + RETRY_WINDOW_MS - performance.now()))
  const { status } = await requests.askUntilAnswered('refresh', (address) =>
    refresh(address, nearest.token),
  )
  ledger.replayed('refresh token', status)
}
