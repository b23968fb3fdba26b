/** The rules for new passwords (NIST SP 800-63B-4 §3.1.1.2): length limits and a blocklist, no composition rules. */

import type { Html } from '../../../views/html.ts'
import { text } from '../../../views/text.ts'

export type PasswordOwner = Readonly<Record<'name' | 'email', string>>

/** The maximum length of a password, in UTF-16 code units. Sign-in has the same limit. */
export const PASSWORD_LENGTH_MAX = 1024

/** A password may consist of one repeated text only if that text has at least this many characters. */
const PIECE_CHARACTERS_MIN = 5

/**
 * Returns why a new password is rejected, as a sentence for its owner; undefined if it is accepted.
 *
 * @param charactersMin the minimum length in code points
 */
export async function problemOfNewPassword(
  password: string,
  { name, email }: PasswordOwner,
  charactersMin: number,
): Promise<Html | undefined> {
  if ([...password].length < charactersMin) {
    return text('password.tooShort', { min: charactersMin })
  }
  if (password.length > PASSWORD_LENGTH_MAX)
    return text('password.tooLong', { max: PASSWORD_LENGTH_MAX })
  if (password.includes('\0')) return text('password.character')
  const plain = password.normalize('NFKC').toLowerCase().trim()
  const own = [name, email, email.split('@', 1)[0] ?? ''].map((text) => text.toLowerCase())
  if (own.includes(plain)) return text('password.own')
  const piece = repeatedPiece(plain)
  const isCommon = await readCommonPasswords()
  if (piece.length < PIECE_CHARACTERS_MIN || isCommon.has(plain) || isCommon.has(piece)) {
    return text('password.common')
  }
  return undefined
}

/** Returns the shortest text that yields this text when repeated, such as `abc` for `abcabc`. */
function repeatedPiece(text: string): string {
  const length = (text + text).indexOf(text, 1)
  return text.slice(0, length)
}

let commonPasswords: Promise<ReadonlySet<string>> | undefined

/** Reads the list of about 49,000 common passwords, at the first use. */
function readCommonPasswords(): Promise<ReadonlySet<string>> {
  commonPasswords ??= import('@zxcvbn-ts/language-common').then(
    ({ dictionary }) => new Set(dictionary['passwords-common'].map(String)),
  )
  return commonPasswords
}
