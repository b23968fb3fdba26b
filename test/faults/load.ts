import { setTimeout as delay } from 'node:timers/promises'

import { introspect, redeem, refresh, revoke, userinfo } from '../support/client.ts'
import type { Fields } from '../support/wire.ts'
import type { Code, Family, Issued, Ledger } from './ledger.ts'
import type { Requests, Seen } from './requests.ts'

/** Pause of a client between two requests, so that the load does not overload the machine. */
const PAUSE_MS = 25
const RETRY_PAUSE_MS = 100
/**
 * Time limits for repeating a request. After them, a repeated code or refresh token may count as stolen, because its
 * first use may have been stored despite a 503 (docs/how-to/operate.md).
 */
const REPEAT_CODE_WITHIN_MS = 4_000
const REPEAT_REFRESH_WITHIN_MS = 9_000
/** Less than the lifetime of a code, which is 60 s. */
const CODE_USABLE_MS = 50_000
const FAMILIES_PER_CLIENT = 4

export type ObtainedCode = Code & { readonly form: Fields }

interface Load {
  readonly requests: Requests
  readonly ledger: Ledger
  readonly codes: ObtainedCode[]
  readonly exchangeEveryMs: number
  /** The number of codes that were given up, because the outcome of their exchange is unknown. */
  codesBegunAnew: number
  isGoing: boolean
}

/** Sends the requests of a client until `load.isGoing` is false. */
export async function runClient(load: Load, index: number): Promise<void> {
  const own: Family[] = []
  let nextExchangeMs = performance.now()
  for (let turn = index; load.isGoing; turn += 1) {
    const family = own[turn % Math.max(1, own.length)]
    if (!family || performance.now() >= nextExchangeMs) {
      nextExchangeMs += load.exchangeEveryMs
      own.push(...(await exchange(load)))
    } else if (own.length > FAMILIES_PER_CLIENT) await revokeFamily(load, own.shift() ?? family)
    else if (turn % 3 === 0) await refreshFamily(load, family, turn % 2 === 0)
    else await useFamily(load, family, index)
    const usable = own.filter(({ abandoned }) => !abandoned)
    own.splice(0, own.length, ...usable)
    await delay(PAUSE_MS)
  }
}

/** Keeps sending a code to both processes at once until the outcome is clear, for up to 4 s. At most one may accept it. */
async function exchange(load: Load): Promise<Family[]> {
  const { requests, ledger } = load
  const code = load.codes.shift()
  if (!code || performance.now() - code.issuedAtMs > CODE_USABLE_MS) return []
  const startedMs = performance.now()
  // A request without a response may have used the code.
  let isOpen = false
  while (load.isGoing && performance.now() - startedMs < REPEAT_CODE_WITHIN_MS) {
    const send = () => requests.ask('exchange', (address) => redeem(address, code))
    const answers = await Promise.all([send(), send()])
    const families = answers.flatMap((answer) => {
      const issued = issuedBy(answer)
      return (issued && ledger.exchanged(code, issued)) ?? []
    })
    if (families.length > 0) return families
    isOpen ||= answers.some(({ status }) => status !== 400)
    if (answers.some(({ status }) => status === 400)) {
      if (isOpen) break
      ledger.codeLost('invalid_grant')
      return []
    }
    await delay(RETRY_PAUSE_MS)
  }
  load.codesBegunAnew += 1
  return []
}

/** Repeats a refresh for some seconds until it succeeds or is refused. `twice` sends it to both processes at once. */
async function refreshFamily(load: Load, family: Family, twice: boolean): Promise<void> {
  const used = family.held
  const startedMs = performance.now()
  while (performance.now() - startedMs < REPEAT_REFRESH_WITHIN_MS) {
    const once = () => refreshOnce(load, family, used)
    await Promise.all(twice ? [once(), once()] : [once()])
    if (family.held !== used || family.abandoned) return
    await delay(RETRY_PAUSE_MS)
  }
  family.abandoned = true
}

async function refreshOnce({ requests, ledger }: Load, family: Family, used: string) {
  const sentAtMs = performance.now()
  const answer = await requests.ask('refresh', (address) => refresh(address, used))
  const issued = issuedBy(answer)
  if (issued) ledger.refreshed(family, { used, issued, sentAtMs, nowMs: performance.now() })
  if (answer.status === 400) ledger.refused(family, String(answer.body.error))
}

async function useFamily({ requests, ledger }: Load, family: Family, index: number) {
  const token = family.accessTokens[Math.floor(Math.random() * family.accessTokens.length)] ?? ''
  const sentAtMs = performance.now()
  const introspects = index % 2 === 0
  const { status, body } = introspects
    ? await requests.ask('introspection', (address) => introspect(address, token))
    : await requests.ask('userinfo', (address) => userinfo(address, token))
  if (status !== 200 && status !== 401) return
  ledger.judged(family, introspects ? body.active === true : status === 200, sentAtMs)
}

async function revokeFamily(load: Load, family: Family): Promise<void> {
  const token = family.accessTokens.at(-1) ?? ''
  family.revoking = true
  for (;;) {
    const { status } = await load.requests.ask('revocation', (address) => revoke(address, token))
    if (status === 200) return load.ledger.revoked(family, performance.now())
    if (!load.isGoing) return
    await delay(RETRY_PAUSE_MS)
  }
}

function issuedBy({ status, body }: Seen): Issued | undefined {
  if (status !== 200) return undefined
  return { accessToken: body.access_token, refreshToken: body.refresh_token }
}
