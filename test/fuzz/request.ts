/** A request whose texts have one character per byte. `@{name}` is a placeholder for a value of the running service. */
export interface FuzzRequest {
  readonly method: string
  readonly path: string
  readonly headers: readonly string[]
  readonly body?: string
}

const given = [
  ...['code', 'memberToken', 'operatorToken', 'refreshToken', 'idToken', 'memberSession'],
  ...['operatorSession', 'memberForm', 'operatorForm', 'interaction', 'interactionCookie'],
  ...['interactionForm', 'client', 'cursor', 'requestUri', 'url'],
] as const

export type Given = (typeof given)[number]

export const place = (name: Given): string => `@{${name}}`

/** Encodes a text in UTF-8, one character per byte. Also encodes lone surrogates, whose bytes are invalid. */
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

/** The bytes of a header, shortened, and with `?` for control characters, which an HTTP client does not send. */
export function headerBytes(text: string): string {
  return [...bytesOf(text).slice(0, 3000)]
    .map((byte) => (byte < ' ' || byte === '\x7f' ? '?' : byte))
    .join('')
}
