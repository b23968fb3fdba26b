/** What a client that describes itself may call itself. */
export type ReadName = { readonly name: string | undefined } | { readonly problem: string }

const NAME_LENGTH_MAX = 100

/**
 * Characters that no name needs, and that could change how a page reads or what a name is equal to:
 * control, formatting (also the invisible and the bidirectional ones), surrogates, private use,
 * unassigned, line and paragraph separators, and what a decoder puts for a byte that it cannot read.
 */
const forbidden = /[\p{C}\p{Zl}\p{Zp}\uFFFD]/u

/** Trims a name and refuses what a person could not tell from another; an empty one is none. */
export function readClientName(value: string): ReadName {
  if (forbidden.test(value)) {
    return { problem: 'client_name contains control, formatting or invisible characters' }
  }
  const name = value.trim()
  if ([...name].length > NAME_LENGTH_MAX) {
    return { problem: `client_name is longer than ${NAME_LENGTH_MAX} characters` }
  }
  return { name: name || undefined }
}
