/** A request whose strings have one character per byte (latin1). `@{name}` is a placeholder for a value of the running service. */
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
  const loneBytes = (code: number) =>
    String.fromCharCode(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 0x3f), 0x80 | (code & 0x3f))
  return text
    .split(/(\p{Surrogate})/u)
    .map((part, at) =>
      at % 2 ? loneBytes(part.charCodeAt(0)) : Buffer.from(part).toString('latin1'),
    )
    .join('')
}

/** Percent-encodes one byte: `%0a` for a line feed. */
export const percentOf = (byte: string) => `%${byte.charCodeAt(0).toString(16).padStart(2, '0')}`

export function filled(request: FuzzRequest, givenAs: (name: Given) => string): FuzzRequest {
  const { method, path, headers, body } = request
  const fill = (text: string) =>
    text.replaceAll(/@\{(\w+)\}/g, (_whole, name: Given) => givenAs(name))
  const sent = { method, path: fill(path), headers: headers.map(fill) }
  return body === undefined ? sent : { ...sent, body: fill(body) }
}

/** Encodes and shortens a header value. Replaces control characters, which an HTTP client does not send, with `?`. */
export function headerBytes(text: string): string {
  return bytesOf(text)
    .slice(0, 3000)
    .replaceAll(/[^\x20-\x7e\x80-\xff]/g, '?')
}
