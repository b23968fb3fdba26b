import type { Context } from 'koa'

import type { PasswordProblems } from '../../../views/account-security.ts'
import { text } from '../../../views/text.ts'
import { explainFailure } from '../../directory/people/authenticate.ts'
import { type Passwords, TooManyHashes } from '../../directory/people/password.ts'
import { type PasswordOwner, problemOfNewPassword } from '../../directory/people/password-rules.ts'
import { formField } from '../../platform/http/page-form.ts'

/** The minimum length and the hash function for new passwords. */
export interface NewPasswords {
  readonly hashPassword: Passwords['hash']
  /** The minimum length of a new password, in code points. */
  readonly passwordCharactersMin: number
}

/** The error text for a rejected code. After five attempts, even the correct code is rejected. */
export const WRONG_CODE = text('form.wrongCode')

type Read =
  | { readonly hash: string }
  | { readonly problems: PasswordProblems; readonly status: 422 | 503 }

/**
 * Reads the two fields of a new password from a form. Returns the hash of the password, or the problems by field.
 *
 * @param admits decides whether to continue, before the password is hashed, because hashing is expensive
 */
export async function readNewPassword(
  ctx: Context,
  owner: PasswordOwner,
  { hashPassword, passwordCharactersMin }: NewPasswords,
  admits: () => Promise<boolean> = async () => true,
): Promise<Read> {
  const password = formField(ctx, 'password')
  const problem = await problemOfNewPassword(password, owner, passwordCharactersMin)
  const repeated = password === formField(ctx, 'repeated') ? undefined : text('password.different')
  if (problem !== undefined || repeated !== undefined) {
    return { problems: { password: problem, repeated }, status: 422 }
  }
  if (!(await admits())) return { problems: { code: WRONG_CODE }, status: 422 }
  try {
    return { hash: await hashPassword(password) }
  } catch (error) {
    if (!(error instanceof TooManyHashes)) throw error
    return { problems: { password: explainFailure({ kind: 'busy' }).problem }, status: 503 }
  }
}
