import { hash, randomUUID } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'

import { importJWK, SignJWT } from 'jose'
import type { JWK } from 'oidc-provider'
import type { Logger } from 'pino'

import type { SendOutgoing } from '../../platform/outgoing/guarded-fetch.ts'
import { readStart } from '../../platform/outgoing/read-start.ts'

export interface PasswordHookSettings {
  readonly url: string
  readonly timeoutMs: number
}

export interface HookParts {
  readonly fetch: SendOutgoing
  readonly logger: Logger
  readonly now: () => number
  readonly issuer: string
  /** Returns the private key that signs requests to the platform. */
  readonly signingKey: () => JWK | undefined
}

type Question = Readonly<Record<'email' | 'password', string>>

/** The platform's answer; `unavailable` if no valid answer arrives in time, or if too many questions are pending. */
type Answer = 'valid' | 'invalid' | 'unavailable'

export type PasswordHook = ReturnType<typeof makePasswordHook>

const ANSWER_BYTES_MAX = 1024
const PARALLEL_QUESTIONS_MAX = 64
/** A margin after a question's time limit, so that refusals after a timeout take as long as all other refusals. */
const MARGIN_MS = 50
const TOKEN_SECONDS = 60

/**
 * Creates the function that asks the platform whether a password is right (docs/how-to/accounts.md). If `question` is
 * undefined, it asks about an invented address, so the response time does not reveal whether a hash exists.
 * `refusalTime` resolves when a refusal may be sent.
 */
export function makePasswordHook(settings: PasswordHookSettings, parts: HookParts) {
  let running = 0
  const send = async (question: Question): Promise<Answer> => {
    if (running >= PARALLEL_QUESTIONS_MAX) return 'unavailable'
    running += 1
    try {
      return readAnswer(await askHook(settings, question, parts))
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      parts.logger.warn({ detail }, 'a password check by the platform failed')
      return 'unavailable'
    } finally {
      running -= 1
    }
  }
  return async (question: Question | undefined) => {
    const refusalTime = pause(settings.timeoutMs + MARGIN_MS, undefined, { ref: false })
    const decoy = { email: `${randomUUID()}@decoy.invalid`, password: randomUUID() }
    const answer = await send(question ?? decoy)
    return { answer, refusalTime }
  }
}

/** Sends the question and returns the body of the response. @throws unless a short 200 response arrives in time */
async function askHook(
  { url, timeoutMs }: PasswordHookSettings,
  question: Question,
  { fetch, ...parts }: HookParts,
): Promise<string> {
  const body = JSON.stringify(question)
  const authorization = `Bearer ${await sign(url, body, parts)}`
  const response = await fetch(url, {
    ...{ method: 'POST', body, privateAddress: true, purpose: 'password' },
    headers: { 'content-type': 'application/json', authorization },
    signal: AbortSignal.timeout(timeoutMs),
  })
  const { status } = response
  if (status !== 200) {
    await response.body?.cancel()
    throw new Error(`the platform responded with status ${status}, but must respond with 200`)
  }
  const { bytes, isLonger } = await readStart(response, ANSWER_BYTES_MAX)
  if (isLonger) throw new Error(`the platform's response is longer than ${ANSWER_BYTES_MAX} bytes`)
  return bytes.toString()
}

/** Parses the answer. @throws if it is invalid; the error does not quote the text, which may contain the password */
function readAnswer(text: string): Answer {
  let answer: unknown
  try {
    answer = JSON.parse(text)
  } catch {}
  const { valid } = Object(answer)
  if (typeof valid !== 'boolean')
    throw new Error('the platform must respond with {"valid":true} or {"valid":false}')
  return valid ? 'valid' : 'invalid'
}

/** Signs a token for one request. It has no `sub`, so no client accepts it as an id_token. */
async function sign(
  url: string,
  body: string,
  { issuer, now, signingKey }: Pick<HookParts, 'issuer' | 'now' | 'signingKey'>,
): Promise<string> {
  const { crv = '', x = '', y = '', d = '', kid = '' } = signingKey() ?? {}
  const iat = Math.floor(now() / 1000)
  return await new SignJWT({
    ...{ iss: issuer, aud: url, iat, exp: iat + TOKEN_SECONDS, jti: randomUUID() },
    body_sha256: hash('sha256', body, 'base64url'),
  })
    .setProtectedHeader({ typ: 'password-check+jwt', alg: 'ES256', kid })
    .sign(await importJWK({ kty: 'EC', crv, x, y, d }, 'ES256'))
}
