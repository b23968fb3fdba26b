/**
 * A request as it is kept and sent: text of one character a byte, so that a seed is a JSON file and
 * may still hold broken UTF-8. `@{name}` stands for something that only the running service has given
 * out, such as a token or the token of a form.
 */
export interface FuzzRequest {
  readonly method: string
  /** The request target. */
  readonly path: string
  /** Names and values in turn. */
  readonly headers: readonly string[]
  readonly body?: string
}

/** What the service has given out, by the names that requests use. */
export type Given =
  | 'code'
  | 'memberToken'
  | 'operatorToken'
  | 'refreshToken'
  | 'idToken'
  | 'memberSession'
  | 'operatorSession'
  | 'memberForm'
  | 'operatorForm'
  | 'interaction'
  | 'interactionCookie'
  | 'interactionForm'
  | 'client'
  | 'cursor'
  | 'requestUri'
  | 'url'

export const place = (name: Given): string => `@{${name}}`

/** Text as its bytes in UTF-8. A lone surrogate becomes the bytes that it would have, which are none. */
export function bytesOf(text: string): string {
  const bytes = Buffer.alloc(text.length * 3)
  let length = 0
  for (const character of text) {
    const code = character.codePointAt(0) ?? 0
    if (code >= 0xd800 && code <= 0xdfff) {
      const lone = [0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f)]
      bytes.set(lone, length)
      length += lone.length
    } else length += bytes.write(character, length, 'utf8')
  }
  return bytes.toString('latin1', 0, length)
}

/** A request with what the service has given out in its places. */
export function filled(request: FuzzRequest, givenAs: (name: Given) => string): FuzzRequest {
  const fill = (text: string) =>
    text.replaceAll(/@\{(\w+)\}/g, (_whole, name: Given) => givenAs(name))
  return {
    method: request.method,
    path: fill(request.path),
    headers: request.headers.map(fill),
    ...(request.body !== undefined && { body: fill(request.body) }),
  }
}

/** Bytes as a header may have them: an HTTP client sends no control characters. */
export function headerBytes(text: string): string {
  return [...bytesOf(text).slice(0, 3000)]
    .map((byte) => (byte < ' ' || byte === '\x7f' ? '?' : byte))
    .join('')
}
