export type Issued = Readonly<Record<'accessToken' | 'refreshToken', string>>

export interface Family {
  /** The index of its grant. A replay of one of its tokens ends all families of the grant. */
  readonly grant: number
  held: string
  readonly accessTokens: string[]
  readonly used: Map<string, { readonly successor: string; readonly atMs: number }>
  revoking: boolean
  revokedAtMs?: number
  /** Whether a refresh was refused, or its outcome was still unknown when it became too late to repeat it. */
  abandoned: boolean
}

export interface Code {
  readonly grant: number
  readonly code: string
  readonly issuedAtMs: number
  family?: Family
}

type Refreshed = { used: string; issued: Issued; sentAtMs: number; nowMs: number }

type Fault = 'lost' | 'doubled' | 'undone'

/** Records the responses of a scenario, and judges later responses by them. Its findings contain no tokens. */
export class Ledger {
  readonly families: Family[] = []
  readonly codes: Code[] = []
  readonly found: { readonly fault: Fault; readonly sentence: string }[] = []

  count(fault: Fault): number {
    return this.found.filter((one) => one.fault === fault).length
  }

  /** Records the exchange of a code. Returns the new family, or undefined if the code was exchanged before. */
  exchanged(code: Code, issued: Issued): Family | undefined {
    if (code.family) {
      this.#find('doubled', 'a code was exchanged twice')
      return undefined
    }
    const family: Family = {
      ...{ grant: code.grant, held: issued.refreshToken, accessTokens: [issued.accessToken] },
      ...{ used: new Map(), revoking: false, abandoned: false },
    }
    code.family = family
    this.codes.push(code)
    this.families.push(family)
    return family
  }

  /** Records a successful refresh. The same response again is a retry (design 10); a different response is a second use. */
  refreshed(family: Family, { used, issued, sentAtMs, nowMs }: Refreshed): void {
    if (isRevoked(family, sentAtMs)) this.#find('undone', 'a revoked refresh token was accepted')
    const before = family.used.get(used)
    if (before) {
      if (before.successor === issued.refreshToken) return
      this.#find('doubled', 'a refresh token was exchanged for two different successors')
      return
    }
    family.used.set(used, { successor: issued.refreshToken, atMs: nowMs })
    family.accessTokens.push(issued.accessToken)
    if (family.held === used) family.held = issued.refreshToken
  }

  refused(family: Family, error: string): void {
    if (family.revoking || family.abandoned) return
    this.#find('lost', `a live refresh token was refused with ${error}`)
    family.abandoned = true
  }

  judged(family: Family, isGood: boolean, sentAtMs: number): void {
    if (isGood && isRevoked(family, sentAtMs)) {
      this.#find('undone', 'an access token of a revoked family was accepted')
    }
    if (!isGood && !family.revoking && !family.abandoned) {
      this.#find('lost', 'a live access token was not accepted')
    }
  }

  revoked(family: Family, nowMs: number): void {
    family.revokedAtMs ??= nowMs
  }

  /** Records the status for a used code or refresh token that was sent again, too late for a retry. */
  replayed(what: 'code' | 'refresh token', status: number | string): void {
    if (status === 200) this.#find('doubled', `a used ${what} was accepted again`)
  }

  codeLost(error: string): void {
    this.#find('lost', `an unused code was refused with ${error}`)
  }

  #find(fault: Fault, sentence: string): void {
    this.found.push({ fault, sentence })
  }
}

function isRevoked({ revokedAtMs }: Family, sentAtMs: number): boolean {
  return revokedAtMs !== undefined && sentAtMs > revokedAtMs
}
