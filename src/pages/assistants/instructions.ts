import type { Way } from '../../config/assistant-table.ts'
import { type Content, fill, fillContent, type Values } from '../../config/placeholders.ts'

/**
 * One way to connect, as a page shows it. Every text is in the words of the place that it is pasted
 * into, and escaped for that place; the page escapes it once more for itself.
 */
export type Instruction = InstructionWords &
  (
    | { readonly kind: 'steps'; readonly steps: readonly Step[] }
    | { readonly kind: 'snippet'; readonly text: string; readonly file?: string | undefined }
    | { readonly kind: 'link'; readonly label: string; readonly href: string }
  )

interface InstructionWords {
  readonly title: string
  /** What happens after it, or what to do then. */
  readonly afterwards?: string | undefined
}

export interface Step {
  readonly text: string
  readonly value?: string | undefined
}

/** What a way of the table is for the values of one site. */
export function instructionOf(way: Way, values: Values): Instruction {
  const words = { title: way.title, afterwards: way.afterwards }
  switch (way.kind) {
    case 'steps': {
      const steps = way.steps.map(({ text, value }) => ({
        text,
        value: value === undefined ? undefined : fill(value, values),
      }))
      return { ...words, kind: 'steps', steps }
    }
    case 'command':
      return { ...words, kind: 'snippet', text: shellLines(way.lines, values) }
    case 'session': {
      const text = way.lines.map((line) => oneLine(fill(line, values))).join('\n')
      return { ...words, kind: 'snippet', text }
    }
    case 'json': {
      const text = JSON.stringify(fillContent(way.content, values), null, 2)
      return { ...words, kind: 'snippet', text, file: way.file }
    }
    case 'toml':
      return { ...words, kind: 'snippet', text: tomlOf(way, values), file: way.file }
    case 'link':
      return { ...words, kind: 'link', label: way.label, href: linkTo(way, values) }
  }
}

function shellLines(lines: readonly (readonly string[])[], values: Values): string {
  return lines
    .map((words) => words.map((word) => shellWord(fill(word, values))).join(' '))
    .join('\n')
}

/**
 * One word as a POSIX shell reads it, within whose single quotes only the quote itself has a meaning.
 * What needs none gets none, so that other shells read the line alike.
 */
function shellWord(word: string): string {
  const line = oneLine(word)
  return /^[\w@%+:,./-]+$/.test(line) ? line : `'${line.replaceAll("'", `'\\''`)}'`
}

/** A line break in a value would end the line that it is pasted into, and begin a command of its own. */
function oneLine(text: string): string {
  return text.replace(/\p{Cc}+/gu, ' ')
}

function tomlOf({ tables }: Extract<Way, { kind: 'toml' }>, values: Values): string {
  return tables
    .map(({ name, values: pairs }) => {
      const header = `[${name.map((part) => tomlKey(fill(part, values))).join('.')}]`
      const lines = Object.entries(pairs).map(
        ([key, value]) => `${key} = ${tomlValue(fillContent(value, values))}`,
      )
      return [header, ...lines].join('\n')
    })
    .join('\n\n')
}

function tomlKey(key: string): string {
  return /^[\w-]+$/.test(key) ? key : tomlValue(key)
}

/** The strings of JSON are basic strings of TOML, but for DEL, which JSON leaves as it is. */
function tomlValue(value: Content): string {
  if (typeof value === 'string') return JSON.stringify(value).replaceAll('\x7f', '\\u007f')
  return `[${Object.values(value).map(tomlValue).join(', ')}]`
}

function linkTo(
  { address, encoding, content }: Extract<Way, { kind: 'link' }>,
  values: Values,
): string {
  const inside = JSON.stringify(fillContent(content, values))
  const encoded = encoding === 'base64' ? Buffer.from(inside).toString('base64') : inside
  return fillAddress(address, values) + encodeURIComponent(encoded)
}

/** The values of an address are parts of its query. */
function fillAddress(address: string, values: Values): string {
  const { url, clientId, server, site, scopes } = values
  return fill(address, {
    url: encodeURIComponent(url),
    clientId: encodeURIComponent(clientId),
    server: encodeURIComponent(server),
    site: encodeURIComponent(site),
    scopes: scopes.map(encodeURIComponent),
  })
}
