import type { Context } from 'koa'
import { z } from 'zod'

import { signInIncomplete } from '../../platform/http/errors.ts'
import { pages } from '../../platform/http/paths.ts'

/** Encrypts for ourselves; the label binds the result to its use. */
export interface Seals {
  seal(plain: string, label: string): string
  /** @throws when it was not sealed by us for this use */
  open(sealed: string, label: string): string
}

/** What the browser brings back, sealed, in a cookie that only the way back reads. */
export type PendingSignIn = z.infer<typeof pendingSignIn>

const pendingSignIn = z.strictObject({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  returnTo: z.string(),
})

export interface PendingSignInPorts {
  readonly baseUrl: string
  readonly seals: Seals
}

const COOKIE = 'gatehouse_sign_in'
const LABEL = 'a sign-in to the pages'
const KEPT_SECONDS = 3600

export function keepPending(
  ctx: Context,
  pending: PendingSignIn,
  { baseUrl, seals }: PendingSignInPorts,
): void {
  ctx.cookies.set(COOKIE, seals.seal(JSON.stringify(pending), LABEL), {
    ...cookieOptions(baseUrl),
    maxAge: KEPT_SECONDS * 1000,
  })
}

/** @throws signInIncomplete when this browser has begun no sign-in */
export function takePending(ctx: Context, { baseUrl, seals }: PendingSignInPorts): PendingSignIn {
  const sealed = ctx.cookies.get(COOKIE)
  if (!sealed) throw signInIncomplete('no cookie')
  const pending = pendingSignIn.parse(JSON.parse(openOrRefuse(sealed, seals)))
  ctx.cookies.set(COOKIE, null, cookieOptions(baseUrl))
  return pending
}

/** It is sealed, so that it needs no signature. */
function cookieOptions(baseUrl: string) {
  const secure = baseUrl.startsWith('https:')
  const path = pages.signedIn
  return { httpOnly: true, sameSite: 'lax', signed: false, secure, path, overwrite: true } as const
}

function openOrRefuse(sealed: string, seals: Seals): string {
  try {
    return seals.open(sealed, LABEL)
  } catch (error) {
    throw Object.assign(signInIncomplete('a cookie that is not ours'), { cause: error })
  }
}
