import { hkdfSync } from 'node:crypto'

/** Values that a proof may have to carry, so that nobody makes proofs for later (RFC 9449 §8). */
export interface DpopNonces {
  /** What the next proof should carry. */
  current(): string
  isGood(nonce: string): boolean
}

const STEP_SECONDS = 60
/** What the engine calls them when it derives a key. */
const PURPOSE = 'DPoP'

/**
 * Nonces that follow from the time and a key, so that every process knows them and nothing is stored. They
 * are those of the engine: to a client both are one origin, for which it keeps one nonce.
 *
 * @param key 32 bytes
 */
export function makeDpopNonces(key: Buffer, now: () => number): DpopNonces {
  const nonceAt = (step: number) => {
    const counter = Buffer.alloc(8)
    counter.writeBigUInt64BE(BigInt(step))
    return Buffer.from(hkdfSync('sha256', key, counter, PURPOSE, 32)).toString('base64url')
  }
  const stepNow = () => Math.floor(now() / 1000 / STEP_SECONDS)
  return {
    current: () => nonceAt(stepNow() + 1),
    isGood: (nonce) => [-2, -1, 0, 1, 2].some((away) => nonceAt(stepNow() + away) === nonce),
  }
}
