import { setTimeout as delay } from 'node:timers/promises'

import { introspect, redeem, refresh, revoke, userinfo } from '../support/client.ts'
import type { Fields } from '../support/wire.ts'
import type { Code, Family, Issued, Ledger } from './ledger.ts'
import type { Broken, Requests, Seen, Send } from './requests.ts'

/** Pause of a client between two requests, so that the load does not overload the machine. */
const PAUSE_MS = 25
const RETRY_PAUSE_MS = 100
/**
 * Time limits for a repetition. Later, a repeated code or refresh token may count as stolen, because its first use may
 * have been stored despite a 503 (docs/how-to/operate.md).
 */
const REPEAT_CODE_WITHIN_MS = 4_000
const REPEAT_REFRESH_WITHIN_MS = 9_000
/** Less than the lifetime of a code, which is 60 s. */
const CODE_USABLE_MS = 50_000
const FAMILIES_PER_CLIENT = 4

export type ObtainedCode = Code & { readonly form: Fields }

type Parts = { requests: Requests; ledger: Ledger; codes: ObtainedCode[]; exchangeEveryMs: number }

export class Load {
  /** The number of codes that were given up, because the outcome of their exchange is unknown. */
  codesBegunAnew = 0
  readonly #parts: Readonly<Parts>
  readonly #running: Promise<void>[]
  #going = true

  constructor(parts: Readonly<Parts>, clients: number) {
    this.#parts = parts
    this.#running = Array.from({ length: clients }, (_, index) => this.#client(index))
  }

  async end(): Promise<void> {
    this.#going = false
    await Promise.all(this.#running)
  }

  async #client(index: number): Promise<void> {
    const own: Family[] = []
    let nextExchangeMs = performance.now()
    for (let turn = index; this.#going; turn += 1) {
      const family = own[turn % Math.max(1, own.length)]
      if (!family || performance.now() >= nextExchangeMs) {
        nextExchangeMs += this.#parts.exchangeEveryMs
        await this.#exchange(own)
      } else if (own.length > FAMILIES_PER_CLIENT) await this.#revoke(own.shift() ?? family)
      else if (turn % 3 === 0) await this.#refresh(family, turn % 2 === 0)
      else await this.#use(family, index)
      const usable = own.filter(({ abandoned }) => !abandoned)
      own.splice(0, own.length, ...usable)
      await delay(PAUSE_MS)
    }
  }

  /** Sends a code to both processes at once, for up to 4 s until the outcome is clear. At most one may accept it. */
  async #exchange(own: Family[]): Promise<void> {
    const { codes, requests } = this.#parts
    const code = codes.shift()
    if (!code || performance.now() - code.issuedAtMs > CODE_USABLE_MS) return
    const send: Send = (address) => redeem(address, code)
    const startedMs = performance.now()
    // A request without a response may have used the code.
    let isOpen = false
    while (this.#going && performance.now() - startedMs < REPEAT_CODE_WITHIN_MS) {
      const answers = await Promise.all([0, 1].map(() => requests.ask('exchange', send)))
      const families = answers.flatMap((answer) => {
        const issued = issuedBy(answer)
        return (issued && this.#parts.ledger.exchanged(code, issued)) ?? []
      })
      own.push(...families)
      if (families.length > 0) return
      isOpen ||= !answers.every(isAnswer400)
      if (answers.some(isAnswer400)) {
        if (isOpen) break
        return this.#parts.ledger.codeLost('invalid_grant')
      }
      await delay(RETRY_PAUSE_MS)
    }
    this.codesBegunAnew += 1
  }

  /** Repeats a refresh for some seconds until it succeeds or is refused. `twice` sends it to both processes at once. */
  async #refresh(family: Family, twice: boolean): Promise<void> {
    const used = family.held
    const startedMs = performance.now()
    while (performance.now() - startedMs < REPEAT_REFRESH_WITHIN_MS) {
      const once = () => this.#refreshOnce(family, used)
      await Promise.all(twice ? [once(), once()] : [once()])
      if (family.held !== used || family.abandoned) return
      await delay(RETRY_PAUSE_MS)
    }
    family.abandoned = true
  }

  async #refreshOnce(family: Family, used: string): Promise<void> {
    const { requests, ledger } = this.#parts
    const sentAtMs = performance.now()
    const answer = await requests.ask('refresh', (address) => refresh(address, used))
    const issued = issuedBy(answer)
    if (issued) ledger.refreshed(family, { used, issued, sentAtMs, nowMs: performance.now() })
    if (isAnswer400(answer)) ledger.refused(family, String((answer as Seen).body.error))
  }

  async #use(family: Family, index: number): Promise<void> {
    const { requests, ledger } = this.#parts
    const introspects = index % 2 === 0
    const token = family.accessTokens[Math.floor(Math.random() * family.accessTokens.length)] ?? ''
    const sentAtMs = performance.now()
    const answer = introspects
      ? await requests.ask('introspection', (address) => introspect(address, token))
      : await requests.ask('userinfo', (address) => userinfo(address, token))
    if (typeof answer === 'string' || ![200, 401].includes(answer.status)) return
    const isGood = introspects ? answer.body.active === true : answer.status === 200
    ledger.judged(family, isGood, sentAtMs)
  }

  async #revoke(family: Family): Promise<void> {
    const { requests, ledger } = this.#parts
    const token = family.accessTokens.at(-1) ?? ''
    family.revoking = true
    while (family.revokedAtMs === undefined) {
      const answer = await requests.ask('revocation', (address) => revoke(address, token))
      if (typeof answer !== 'string' && answer.status === 200) {
        ledger.revoked(family, performance.now())
      } else {
        if (!this.#going) return
        await delay(RETRY_PAUSE_MS)
      }
    }
  }
}

function issuedBy(answer: Seen | Broken): Issued | undefined {
  if (typeof answer === 'string' || answer.status !== 200) return undefined
  const { access_token: accessToken, refresh_token: refreshToken } = answer.body
  return { accessToken, refreshToken }
}

function isAnswer400(answer: Seen | Broken): boolean {
  return typeof answer !== 'string' && answer.status === 400
}
