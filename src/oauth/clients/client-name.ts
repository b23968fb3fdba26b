/** What a client that describes itself may call itself. */
export type ReadName = { readonly name: string | undefined } | { readonly problem: string }

const NAME_LENGTH_MAX = 100

/**
 * Characters that no name needs, and that could change how a page reads or what a name is equal to:
 * control, formatting (also the invisible and the bidirectional ones), surrogates, private use,
 * unassigned, line and paragraph separators, what a decoder puts for a byte that it cannot read, letters
 * that show as nothing (Hangul fillers, the empty Braille pattern; but no choice of an emoji's form), and
 * marks piled up so high that they cover the lines above.
 */
const forbidden =
  /[\p{C}\p{Zl}\p{Zp}\uFFFD\u2800]|[\p{Default_Ignorable_Code_Point}--[\uFE00-\uFE0F]]|\p{M}{5}/v

/** Whether a name that somebody else reads has such characters. */
export function hidesSomething(name: string): boolean {
  return forbidden.test(name)
}

/** Trims a name and refuses what a person could not tell from another; an empty one is none. */
export function readClientName(value: string): ReadName {
  if (hidesSomething(value)) {
    return { problem: 'client_name contains control, formatting or invisible characters' }
  }
  const name = value.trim()
  if ([...name].length > NAME_LENGTH_MAX) {
    return { problem: `client_name is longer than ${NAME_LENGTH_MAX} characters` }
  }
  return { name: name || undefined }
}
