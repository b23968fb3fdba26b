import { domainToASCII, domainToUnicode } from 'node:url'

const ADDRESS_CHARACTERS_MAX = 254
const LOCAL_PART_CHARACTERS_MAX = 64
/** A domain in ASCII: labels of at most 63 characters (RFC 1035 §2.3.4). */
const LABELS = /^([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/

/** Whether the text is one plain e-mail address: no list, no display name, no comment, no quotes. */
export function isMailAddress(text: string): boolean {
  const [, local = '', domain = ''] =
    /^([^\p{C}\p{Z}\s@,;:<>()[\]\\"]+)@([^\p{C}\p{Z}\s@,;:<>()[\]\\"/?#%]+)$/u.exec(text) ?? []
  return (
    local !== '' &&
    local.length <= LOCAL_PART_CHARACTERS_MAX &&
    text.length <= ADDRESS_CHARACTERS_MAX &&
    !/^\.|\.$|\.\./.test(local) &&
    LABELS.test(asciiDomain(domain) ?? '')
  )
}

/** Whether the text is a valid e-mail domain in ASCII form, with at least one dot. */
export const isMailDomain = (text: string): boolean =>
  text.includes('.') && text === domainToASCII(text) && isMailAddress(`a@${text}`)

/**
 * Normalizes an e-mail address, for lookups and uniqueness: trims it, ignores case and the encoding of accents (NFC),
 * and converts an international domain to ASCII. Keeps other differences, such as dots, because ignoring them could
 * make the addresses of two people equal.
 */
export function canonicalEmail(typed: string): string {
  // Lower-casing may separate a letter from its mark (J̌), so normalize afterwards.
  const plain = typed.trim().toLowerCase().normalize('NFC')
  return plain.replace(/(?<=@)[^@]+$/, (domain) => asciiDomain(domain) ?? domain)
}

/** Returns the ASCII form of a domain; undefined if it is invalid or not canonical (such as full-width letters). */
function asciiDomain(domain: string): string | undefined {
  // The time of the conversion grows with the square of the length.
  if (domain.length > ADDRESS_CHARACTERS_MAX) return undefined
  const host = domainToASCII(domain)
  const plain = domain.toLowerCase().normalize('NFC')
  return plain === host || plain === domainToUnicode(host) ? host : undefined
}
