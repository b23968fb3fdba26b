import { domainToASCII, domainToUnicode } from 'node:url'

const ADDRESS_CHARACTERS_MAX = 254
const LOCAL_PART_CHARACTERS_MAX = 64

/** Whether the text is one plain e-mail address: no list, no display name, no comment, no quotes. */
export function isMailAddress(text: string): boolean {
  const [, local = '', domain = ''] =
    /^([^\p{C}\p{Z}\s@,;:<>()[\]\\"]+)@([^\p{C}\p{Z}\s@,;:<>()[\]\\"/?#%]+)$/u.exec(text) ?? []
  const host = domainToASCII(domain)
  // Other spellings of a domain, such as full-width letters, would count as other addresses.
  const plain = domain.toLowerCase().normalize('NFC')
  const isPlain = plain === host || plain === domainToUnicode(host)
  return (
    local !== '' &&
    isPlain &&
    local.length <= LOCAL_PART_CHARACTERS_MAX &&
    text.length <= ADDRESS_CHARACTERS_MAX &&
    !/^\.|\.$|\.\./.test(local) &&
    /^([a-z0-9]([a-z0-9-]*[a-z0-9])?\.)*[a-z0-9]([a-z0-9-]*[a-z0-9])?$/.test(host)
  )
}

/** Whether the text is a valid e-mail domain in ASCII form. */
export const isMailDomain = (text: string): boolean =>
  text.includes('.') && text === domainToASCII(text) && isMailAddress(`a@${text}`)
