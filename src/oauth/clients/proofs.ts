import { hkdfSync } from 'node:crypto'

import {
  calculateJwkThumbprint,
  createLocalJWKSet,
  decodeJwt,
  EmbeddedJWK,
  type JSONWebKeySet,
  type JWTPayload,
  type JWTVerifyOptions,
  jwtVerify,
} from 'jose'

import { paths } from '../../platform/http/paths.ts'
import type { Platform } from '../../platform/platform.ts'
import { sha256 } from '../../platform/store/digest.ts'

type ProofPorts = Pick<Platform, 'state' | 'stateMemory' | 'now'>

export type Proofs = ReturnType<typeof makeProofs>

/**
 * Creates the verifiers of client assertions and DPoP proofs. Our own endpoints and the refresh grant use them. The
 * engine verifies all other proofs. The verifier of a disabled protocol is undefined.
 */
export function makeProofs(
  issuer: string,
  { dpop, privateKeyJwt }: Readonly<Record<'dpop' | 'privateKeyJwt', boolean>>,
  { nonceKey }: { readonly nonceKey: Buffer },
  ports: ProofPorts,
) {
  const { now } = ports
  const useOnce = makeUseOnce(ports)
  // The audiences that our own endpoints accept in assertions, with the issuer first (RFC 7523 §3).
  const audiences = [issuer, issuer + paths.token, issuer + paths.introspection]
  return {
    nonceKey,
    useOnce,
    checkDpop: dpop ? makeCheckDpop(nonceKey, useOnce, now) : undefined,
    /** Creates the verifier of assertions. @param findKeys returns a client's public keys, fetched if it has a jwks_uri */
    verifyAssertionWith: (findKeys: (clientId: string) => Promise<JSONWebKeySet>) =>
      privateKeyJwt ? makeVerifyAssertion(findKeys, audiences, useOnce, now) : undefined,
  }
}

/** Accepted signature algorithms of proofs (FAPI 2.0 Security Profile §5.4.1). */
export const proofAlgorithms = ['ES256', 'PS256', 'EdDSA', 'Ed25519'] as const

/** Accepted signature algorithms of assertions. RS256 is only for clients whose document names it, such as ChatGPT. */
export const assertionAlgorithms = [...proofAlgorithms, 'RS256'] as const

/** Allowed difference between the client's clock and ours when an assertion is verified. */
const CLOCK_TOLERANCE_SECONDS = 15

/**
 * Stores a proof until it expires, to detect a second use.
 *
 * @returns `first` for at most one caller; `again` for all later callers, and for a proof that expires too late;
 * `forgotten` if the store may have lost data since the proof was issued, so the proof may have been used before
 */
export type UseOnce = (proof: {
  /** The key thumbprint for a DPoP proof; the client_id for an assertion. */
  readonly whose: string
  readonly jti: string
  /** The expiry and the `iat` of the proof, in epoch seconds. */
  readonly endsAtSeconds: number
  readonly madeAtSeconds: number | undefined
}) => Promise<'first' | 'again' | 'forgotten'>

/** The maximum time until a proof expires. A later expiry is rejected, because the proof would be stored too long. */
const REMEMBERED_SECONDS_MAX = 86_400

/** Assumed lifetime of an assertion without `iat`, which RFC 7523 §3 allows. */
const ASSUMED_LIFE_SECONDS = 3_600

/**
 * Creates the function that accepts each proof once, across all processes. A second use is a replay (RFC 9449 §11.1,
 * RFC 7523 §3). A single write decides, so only one of several simultaneous uses can be the first.
 */
export function makeUseOnce({ state, stateMemory, now }: ProofPorts): UseOnce {
  const records = state.adapterFor('ReplayDetection')
  return async ({ whose, jti, endsAtSeconds, madeAtSeconds }) => {
    const ttlSeconds = endsAtSeconds - Math.floor(now() / 1000)
    if (ttlSeconds > REMEMBERED_SECONDS_MAX) return 'again'
    const isFirst = await records.addOnce(sha256(`${whose} ${jti}`), Math.max(1, ttlSeconds))
    if (!isFirst) return 'again'
    // Call since() after the write, so it refers to the Redis instance that stored the proof.
    const madeAt = madeAtSeconds ?? endsAtSeconds - ASSUMED_LIFE_SECONDS
    return madeAt * 1000 > stateMemory.since() ? 'first' : 'forgotten'
  }
}

/** Verifies a client assertion (RFC 7523 §3). @returns the problem, for the log; undefined if the assertion is valid */
export type VerifyAssertion = (presented: {
  readonly clientId: string
  readonly assertion: string
  readonly choseFapi: boolean
}) => Promise<string | undefined>

function makeVerifyAssertion(
  findKeys: (clientId: string) => Promise<JSONWebKeySet>,
  audiences: readonly string[],
  useOnce: UseOnce,
  now: () => number,
): VerifyAssertion {
  return async ({ clientId, assertion, choseFapi }) => {
    const keys = await findKeys(clientId).catch(() => undefined)
    if (!keys) return 'the keys of the client could not be fetched; check its jwks_uri'
    const claims = { issuer: clientId, subject: clientId, audience: [...audiences] }
    const check = (payload: JWTPayload) =>
      problemOfAssertion(payload, audiences, { choseFapi, nowMs: now() })
    return await verifyOnce(assertion, { keys, claims, whose: clientId, check, useOnce, now })
  }
}

interface OneTimeJwt {
  readonly keys: JSONWebKeySet
  /** The claims and the type that jose verifies. */
  readonly claims: JWTVerifyOptions
  /** The signer. A `jti` is unique only for its signer. */
  readonly whose: string
  /** Returns the problem with a JWT whose signature is valid; undefined if there is none. */
  readonly check: (payload: JWTPayload) => string | undefined | Promise<string | undefined>
  readonly useOnce: UseOnce
  readonly now: () => number
}

/**
 * Verifies a JWT that may be used once, and records its use unless `check` finds a problem.
 *
 * @returns the problem; undefined if the JWT is valid
 */
export async function verifyOnce(
  jwt: string,
  { keys, claims, whose, check, useOnce, now }: OneTimeJwt,
): Promise<string | undefined> {
  try {
    const { payload } = await jwtVerify(jwt, createLocalJWKSet(keys), {
      ...claims,
      algorithms: [...proofAlgorithms],
      clockTolerance: CLOCK_TOLERANCE_SECONDS,
      currentDate: new Date(now()),
      requiredClaims: ['exp', 'jti'],
    })
    const { jti, exp = 0, iat } = payload
    if (typeof jti !== 'string' || jti === '') return 'the assertion has no jti'
    const problem = await check(payload)
    if (problem !== undefined) return problem
    const times = { endsAtSeconds: exp + CLOCK_TOLERANCE_SECONDS, madeAtSeconds: iat }
    return replayProblems[await useOnce({ whose, jti, ...times })]
  } catch (error) {
    // Errors that jose does not throw are faults in this service or its store.
    const isOfJose = error instanceof Error && 'code' in error && /^ERR_J/.test(`${error.code}`)
    if (!isOfJose) throw error
    return `the assertion is invalid: ${error.message}`
  }
}

const replayProblems = {
  first: undefined,
  again: 'the assertion was used before, or expires more than a day from now: send a new one',
  forgotten:
    'the assertion may have been used before the service lost its record of used assertions: send a new one',
} as const

/** The maximum number of seconds that the `iat` of an assertion may be in the future. */
const AHEAD_SECONDS_MAX = { others: 300, fapi: 60 }

/**
 * Checks the audience and issue time of an assertion more strictly than RFC 7523 requires. If an assertion names
 * another server too, that server could replay it here (audience injection, CVE-2025-27370 and CVE-2025-27371). If an
 * assertion is dated in the future and the replay store loses its data, the assertion could be replayed.
 *
 * @param audiences the issuer, then the URLs of the service's endpoints, which may be named instead (RFC 7523 §3)
 * @param choseFapi whether the client opted into part of the FAPI 2.0 Security Profile, which accepts only the issuer
 * as `aud`, and only an `iat` at most a minute ahead (§5.3.2.1)
 * @returns the problem, or undefined
 */
export function problemOfAssertion(
  { aud, iat }: { readonly aud?: unknown; readonly iat?: number },
  audiences: readonly unknown[],
  { choseFapi, nowMs }: { readonly choseFapi: boolean; readonly nowMs: number },
): string | undefined {
  if (aud !== audiences[0]) {
    if (choseFapi) return 'the audience (aud) of the assertion must equal the issuer URL'
    if (![aud].flat().every((one) => audiences.includes(one)))
      return 'the audience (aud) of the assertion must name only this server'
  }
  const aheadMax = AHEAD_SECONDS_MAX[choseFapi ? 'fapi' : 'others']
  return iat !== undefined && iat > nowMs / 1000 + aheadMax
    ? `the issue time (iat) of the assertion must be at most ${aheadMax} seconds in the future`
    : undefined
}

/** Returns the claims of a JWT without verifying it; undefined if the value is not a JWT. */
export function unverifiedClaims(jwt: unknown): JWTPayload | undefined {
  try {
    return typeof jwt === 'string' ? decodeJwt(jwt) : undefined
  } catch {
    return undefined
  }
}

/** A request with its DPoP proofs (RFC 9449 §4). */
export interface ProvenRequest {
  /** The values of all DPoP headers. More than one header is an error. */
  readonly proofs: readonly string[]
  readonly method: string
  /** The requested URL. Its query is ignored (§4.3). */
  readonly address: string
  readonly accessToken?: string | undefined
}

/** The verdict on the proof of a request. `reason` is only for the log. */
export type DpopProof =
  | { readonly kind: 'none' }
  | { readonly kind: 'good'; readonly thumbprint: string; readonly nextNonce?: string | undefined }
  | { readonly kind: 'bad'; readonly reason: string }
  /** The client must repeat the request with this nonce. */
  | { readonly kind: 'stale'; readonly nextNonce: string }

export type CheckDpop = (request: ProvenRequest) => Promise<DpopProof>

/** The maximum number of seconds between `iat` and now for a proof without a nonce. The engine has the same limit. */
const AGE_SECONDS_MAX = 300
const PROOF_LENGTH_MAX = 4096

/** Creates the verifier of DPoP proofs (RFC 9449 §4.3). Its last step records the proof, so each proof works only once. */
function makeCheckDpop(nonceKey: Buffer, useOnce: UseOnce, now: () => number): CheckDpop {
  const nonces = makeDpopNonces(nonceKey, now)

  const judgeFreshness = async (
    { nonce, iat = 0, jti = '' }: JWTPayload & { readonly nonce?: unknown },
    thumbprint: string,
  ): Promise<DpopProof> => {
    const nowSeconds = Math.floor(now() / 1000)
    const current = nonces.current()
    const isFresh =
      nonce === undefined
        ? Math.abs(nowSeconds - iat) <= AGE_SECONDS_MAX
        : typeof nonce === 'string' && nonces.isGood(nonce)
    if (!isFresh) return { kind: 'stale', nextNonce: current }
    const endsAtSeconds = Math.max(nowSeconds, iat) + AGE_SECONDS_MAX
    const used = await useOnce({ whose: thumbprint, jti, endsAtSeconds, madeAtSeconds: iat })
    if (used === 'again')
      return badProof('the DPoP proof was used before; create a new proof for each request')
    // Ask for a new proof instead of failing (RFC 9449 §8).
    if (used === 'forgotten') return { kind: 'stale', nextNonce: current }
    return { kind: 'good', thumbprint, nextNonce: nonce === current ? undefined : current }
  }

  return async (request) => {
    const [proof, ...others] = request.proofs
    if (proof === undefined) return { kind: 'none' }
    if (others.length > 0) return badProof('the request has several DPoP headers; send one')
    const read = await readProof(proof, now())
    if ('problem' in read) return badProof(read.problem)
    const problem = problemOfClaims(read.payload, request)
    if (problem !== undefined) return badProof(problem)
    return await judgeFreshness(read.payload, read.thumbprint)
  }
}

async function readProof(proof: string, nowMs: number) {
  if (proof.length > PROOF_LENGTH_MAX) return { problem: 'the DPoP proof is too long' }
  try {
    const { payload, protectedHeader } = await jwtVerify(proof, EmbeddedJWK, {
      algorithms: [...proofAlgorithms],
      typ: 'dpop+jwt',
      currentDate: new Date(nowMs),
    })
    return { payload, thumbprint: await calculateJwkThumbprint(protectedHeader.jwk ?? {}) }
  } catch (error) {
    return { problem: `the DPoP proof is invalid: ${error instanceof Error ? error.message : ''}` }
  }
}

function problemOfClaims(
  { jti, iat, htm, htu, ath }: JWTPayload,
  { method, address, accessToken }: ProvenRequest,
): string | undefined {
  if (typeof jti !== 'string' || jti === '') return 'the DPoP proof has no jti'
  if (typeof iat !== 'number') return 'the DPoP proof has no iat'
  if (htm !== method) return 'the htm of the DPoP proof is not the method of the request'
  if (!isSameAddress(htu, address)) return 'the htu of the DPoP proof is not the URL of the request'
  if (accessToken !== undefined && ath !== sha256(accessToken)) {
    return 'the ath of the DPoP proof does not match the access token'
  }
  return undefined
}

/** Whether two URLs are equal after normalization, without query and fragment (RFC 9449 §4.3). */
function isSameAddress(htu: unknown, address: string): boolean {
  const said = typeof htu === 'string' ? URL.parse(htu) : null
  const asked = URL.parse(address)
  if (!said || !asked) return false
  return said.origin + said.pathname === asked.origin + asked.pathname
}

function badProof(reason: string): DpopProof {
  return { kind: 'bad', reason }
}

const NONCE_STEP_SECONDS = 60

/**
 * Creates and checks nonces, which prevent DPoP proofs from being made long in advance (RFC 9449 §8). A nonce is
 * derived from the time and a key, so all processes agree on it and nothing is stored. The engine must use the same
 * nonces, because a client keeps one nonce per origin.
 */
export function makeDpopNonces(key: Buffer, now: () => number) {
  const nonceAt = (step: number) => {
    const counter = Buffer.alloc(8)
    counter.writeBigUInt64BE(BigInt(step))
    return Buffer.from(hkdfSync('sha256', key, counter, 'DPoP', 32)).toString('base64url')
  }
  const stepNow = () => Math.floor(now() / 1000 / NONCE_STEP_SECONDS)
  return {
    /** The nonce for the next proof. */
    current: () => nonceAt(stepNow() + 1),
    isGood: (nonce: string) =>
      [-2, -1, 0, 1, 2].some((away) => nonceAt(stepNow() + away) === nonce),
  }
}
