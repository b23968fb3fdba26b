/** What an answer of the token endpoint gave. */
export interface Issued {
  readonly accessToken: string
  readonly refreshToken: string
}

/** The tokens that came of one code, as its client knows them. */
export interface Family {
  /** Which of the prepared grants it belongs to: the replay of one of its tokens ends them all. */
  readonly grant: number
  /** The refresh token that the client holds. */
  held: string
  readonly accessTokens: string[]
  /** The refresh tokens that were used, each with what came of it. */
  readonly used: Map<string, { readonly successor: string; readonly atMs: number }>
  /** From the first request to revoke it on, every answer about it is right. */
  revoking: boolean
  /** When its revocation was answered. */
  revokedAtMs?: number
  /** Nobody knows what became of its last request, and the time to repeat that is over. */
  abandoned: boolean
}

/** A code that a browser brought back. */
export interface Code {
  readonly grant: number
  readonly code: string
  readonly issuedAtMs: number
  family?: Family
}

/** The refresh token that was used, and what came of it. */
export interface Refreshed {
  readonly used: string
  readonly issued: Issued
  /** By which it is known whether the revocation came before the request. */
  readonly sentAtMs: number
  readonly nowMs: number
}

export type Fault = 'lost' | 'doubled' | 'undone'

/**
 * What clients were told in a scenario, by which everything that they are told later is judged. It
 * keeps sentences and no tokens in what it found, because that is printed.
 */
export class Ledger {
  readonly families: Family[] = []
  readonly codes: Code[] = []
  readonly found: { readonly fault: Fault; readonly sentence: string }[] = []

  count(fault: Fault): number {
    return this.found.filter((one) => one.fault === fault).length
  }

  /** A code was exchanged; nothing for an exchange that must not have succeeded. */
  exchanged(code: Code, issued: Issued): Family | undefined {
    if (code.family) {
      this.#find('doubled', 'one code was exchanged twice')
      return undefined
    }
    const family: Family = {
      grant: code.grant,
      held: issued.refreshToken,
      accessTokens: [issued.accessToken],
      used: new Map(),
      revoking: false,
      abandoned: false,
    }
    code.family = family
    this.codes.push(code)
    this.families.push(family)
    return family
  }

  /** A refresh was answered. The same answer again is a retry (design 10), another one a second use. */
  refreshed(family: Family, { used, issued, sentAtMs, nowMs }: Refreshed): void {
    if (isRevoked(family, sentAtMs)) this.#find('undone', 'a revoked refresh token was refreshed')
    const before = family.used.get(used)
    if (before) {
      if (before.successor === issued.refreshToken) return
      this.#find('doubled', 'one refresh token gave two successors')
      return
    }
    family.used.set(used, { successor: issued.refreshToken, atMs: nowMs })
    family.accessTokens.push(issued.accessToken)
    if (family.held === used) family.held = issued.refreshToken
  }

  /** The refresh token that a client holds was refused. */
  refused(family: Family, error: string): void {
    if (family.revoking || family.abandoned) return
    this.#find('lost', `a refresh token that was answered and never used is ${error}`)
    family.abandoned = true
  }

  /** A resource server, or UserInfo, said whether an access token is good. */
  judged(family: Family, isGood: boolean, sentAtMs: number): void {
    if (isGood && isRevoked(family, sentAtMs)) {
      this.#find('undone', 'an access token of a revoked family is good')
    }
    if (!isGood && !family.revoking && !family.abandoned) {
      this.#find('lost', 'an access token that was answered is not good')
    }
  }

  revoked(family: Family, nowMs: number): void {
    family.revokedAtMs ??= nowMs
  }

  /** A used code or refresh token came back later than any retry does. */
  replayed(what: 'code' | 'refresh token', status: number): void {
    if (status === 200) this.#find('doubled', `a used ${what} was taken again`)
  }

  /** A code that nobody had exchanged was refused. */
  codeLost(error: string): void {
    this.#find('lost', `a code that was answered and never used is ${error}`)
  }

  #find(fault: Fault, sentence: string): void {
    this.found.push({ fault, sentence })
  }
}

function isRevoked({ revokedAtMs }: Family, sentAtMs: number): boolean {
  return revokedAtMs !== undefined && sentAtMs > revokedAtMs
}
