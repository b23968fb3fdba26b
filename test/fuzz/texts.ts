import type { Chance } from './random.ts'
import { bytesOf, type FuzzRequest, headerBytes, percentOf } from './request.ts'

/** Markup that must never appear unescaped in a page. */
export const MARKUP = `mk7"'><u mk7>`

/** A secret that requests contain and that must never appear in the log. */
export const SECRET = 'mk7-a-secret-of-the-fuzzer'

const tripping: readonly string[] = [
  ...['', ' ', '\0', 'a\0b', '\ud800', 'a\udfffb', '\u202e\u200b\ufeff', 'é＠ſК', '😀'.repeat(20)],
  ...['__proto__', 'constructor', 'toString', 'hasOwnProperty', 'null', 'undefined', 'true', 'NaN'],
  ...['-1', '0', '1e309', '99999999999999999999', '2147483648', '0x10'],
  ...['../../../etc/passwd', '..%2f..%2f', '..;/', '%', '%zz', '%00', '%ff%fe', '%c0%ae'],
  ...["' or '1'='1", '"; drop table person; --', '{{7*7}}<%= 7*7 %>'],
  ...['\r\nX-Mk7: 1', '%0d%0aX-Mk7:%201', '[]', '{}', '[[[[[[[[', '{"a":'],
  ...['a'.repeat(300), 'ä'.repeat(3000), MARKUP, MARKUP.repeat(20)],
  ...['javascript:alert(1)', 'data:text/html,x', 'https://evil.example/', '//evil.example'],
  ...['http://169.254.169.254/', 'http://127.0.0.1:1/', 'urn:x', '\\\\evil.example'],
]

/** Returns odd text: one from the list above, two of them joined, or random characters. */
export function oddText(chance: Chance): string {
  if (chance.is(0.6)) return chance.pick(tripping)
  if (chance.is(0.3)) return chance.pick(tripping) + chance.pick(tripping)
  const length = chance.pick([1, 5, 43, 44, 200])
  const below = chance.pick([128, 0x2000, 0xffff])
  return String.fromCharCode(...Array.from({ length }, () => chance.number(below)))
}

/** Returns a valid value, or odd text with the probability `odd`. */
export function mostly(chance: Chance, right: readonly string[], odd = 0.25): string {
  return chance.is(odd) ? oddText(chance) : chance.pick(right)
}

/** Encodes text for a form or query, sometimes twice or incompletely. Does not change placeholders. */
export function encoded(chance: Chance, text: string): string {
  if (text.startsWith('@{')) return text
  const bytes = bytesOf(text)
  if (chance.is(0.03)) return bytes.replaceAll(/[\0-\x20\x7f-\xff#]/g, '+')
  const percent = bytes.replaceAll(/[^\w.~-]/g, percentOf)
  return chance.is(0.02) ? percent.replaceAll('%', '%25') : percent
}

export type Entries = readonly (readonly [name: string, value: string])[]

/** Chooses a value for each field: a valid one, or odd text with the probability `odd`. */
export function chosen(
  chance: Chance,
  fields: Readonly<Record<string, readonly string[]>>,
  odd?: number,
): Entries {
  return Object.entries(fields).map(([name, right]) => [name, mostly(chance, right, odd)])
}

/** Encodes a form or query. May drop, repeat or add fields. */
export function formOf(chance: Chance, fields: Entries): string {
  const kept = fields.filter(() => !chance.is(0.08))
  if (chance.is(0.1) && kept.length > 0) kept.push(chance.pick(kept))
  if (chance.is(0.1)) kept.push([oddText(chance), oddText(chance)])
  if (chance.is(0.05) && fields.length > 0)
    kept.push([`${chance.pick(fields)[0]}[]`, oddText(chance)])
  const separator = chance.is(0.02) ? ';' : '&'
  return kept
    .map(([name, value]) => `${encoded(chance, name)}=${encoded(chance, value)}`)
    .join(separator)
}

export function damaged(chance: Chance, bytes: string): string {
  const letters = [...bytes]
  for (let hit = 0; hit <= chance.number(3) && letters.length > 0; hit += 1) {
    const at = chance.number(letters.length)
    const byte = String.fromCharCode(chance.pick([0, 0x0a, 0x22, 0x7b, 0x7d, 0x80, 0xc0, 0xff]))
    letters.splice(at, chance.number(3), chance.is(0.5) ? byte : '')
  }
  return letters.join('')
}

/** Returns a request, usually a GET. */
export function opened(chance: Chance, path: string, headers: readonly string[]): FuzzRequest {
  const method = chance.is(0.96) ? 'GET' : chance.pick(['HEAD', 'PUT', 'DELETE', 'OPTIONS', 'POST'])
  return { method, path, headers: [...headers, ...furtherHeaders(chance)] }
}

const otherMethods = ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE']

/** Returns a request, usually a POST, with a form or JSON. */
export function posted(
  chance: Chance,
  path: string,
  { headers, ...content }: { headers: readonly string[] } & ({ body: string } | { json: unknown }),
): FuzzRequest {
  const isForm = 'body' in content
  const type = isForm ? 'application/x-www-form-urlencoded' : 'application/json'
  const body = isForm ? content.body : bytesOf(JSON.stringify(content.json))
  return {
    method: chance.is(0.97) ? 'POST' : chance.pick(otherMethods),
    path,
    headers: [...bodyHeaders(chance, type), ...headers, ...furtherHeaders(chance)],
    body: chance.is(0.05) ? damaged(chance, body) : body,
  }
}

function bodyHeaders(chance: Chance, type: string): string[] {
  const said = chance.is(0.93) ? type : chance.pick(bodyTypes)
  const charset = chance.is(0.05) ? `; charset=${chance.pick(charsets)}` : ''
  const coding = chance.is(0.02) ? ['Content-Encoding', chance.pick(codings)] : []
  return ['Content-Type', said + charset, ...coding]
}

const bodyTypes = [
  ...['application/json', 'application/x-www-form-urlencoded', 'text/plain', 'multipart/form-data'],
  ...['multipart/form-data; boundary=x', 'application/graphql', 'application/octet-stream'],
  ...['image/png', 'text/html', 'x', '/', ';;;', 'application/json, text/plain'],
]
const charsets = ['utf-8', 'UTF-16', 'utf-7', 'iso-8859-1', 'x', '"', '']
const codings = ['gzip', 'br', 'deflate', 'identity', 'x', 'gzip, gzip', '']

export function furtherHeaders(chance: Chance): string[] {
  if (chance.is(0.7)) return []
  return chance
    .many(3, () => chance.pick(further))
    .flatMap(([name, ...values]) => {
      // An HTTP client sends no control characters.
      const value = chance.pick([...values, ...(closed.has(name) ? [] : [oddText(chance)])])
      return [name, headerBytes(value)]
    })
}

const further: readonly (readonly [name: string, ...values: string[]])[] = [
  ['Accept', '*/*', 'text/html', 'application/json', 'x', 'text/event-stream', '*/*;q=x', ''],
  ['Origin', 'null', 'https://evil.example', '@{url}', 'http://localhost:3000'],
  ['Referer', 'https://evil.example/'],
  ['X-Forwarded-For', '1.2.3.4', '::1', 'x'],
  ['X-Forwarded-Host'],
  ['X-Request-Id'],
  ['If-None-Match', '*', '"x"', 'W/"x"'],
  ['Range', 'bytes=0-1', 'bytes=9-1', 'bytes=-0', 'x'],
  ['Accept-Language'],
  ['Cookie'],
  ['DPoP'],
  ['X-HTTP-Method-Override', 'DELETE', 'PUT', 'x'],
  ['Sec-Fetch-Site', 'same-origin', 'cross-site', 'none', 'x'],
  ['Access-Control-Request-Method', 'POST', 'PUT', 'x'],
  ['traceparent'],
  ['Expect', '100-continue', 'x'],
]
const closed = new Set([
  ...['Accept', 'X-HTTP-Method-Override', 'Sec-Fetch-Site', 'Access-Control-Request-Method'],
  'Expect',
])
