/**
 * The form of an e-mail address by which a person is found and kept unique. Case and the order of
 * combining marks do not matter; nothing else is folded, because a wider folding (full-width signs,
 * dots) would let one address stand for another person's.
 */
export function canonicalEmail(typed: string): string {
  // Lower case may take a letter apart from its mark (J̌), so that it is composed afterwards.
  return typed.trim().toLowerCase().normalize('NFC')
}
