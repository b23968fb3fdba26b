import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import { parseJson } from '../../platform/http/strict-json.ts'

/** A source of lines: an NDJSON file, standard input, or the body of a request. */
export interface Source {
  readonly name: string
  /** The size in bytes; 0 if unknown. */
  readonly size: number
  /** Returns a digest of the content, to resume an interrupted import; undefined if not supported. */
  readonly digest?: () => Promise<string>
  readonly lines: AsyncIterable<Line> | Iterable<Line>
}

export interface Line {
  /** The line number, from 1. */
  readonly number: number
  /** The unparsed line, for the file of rejected lines; undefined if it is longer than 1 MiB. */
  readonly text: string | undefined
  /** The parsed JSON; undefined if the line is not JSON or is longer than 1 MiB. */
  readonly value: unknown
  /** The size of the line in bytes, including a line feed. */
  readonly size: number
}

const LINE_BYTES_MAX = 1024 * 1024

/** Opens a file, standard input (`-`), or the .ndjson files of a folder in the order of their names. */
export async function openSources(path: string): Promise<readonly Source[]> {
  if (path === '-')
    return [{ name: 'standard input', size: 0, lines: readLines(() => process.stdin) }]
  if (!(await stat(path)).isDirectory()) return [await fileSource(path)]
  const files = (await readdir(path)).filter((name) => name.endsWith('.ndjson')).sort()
  if (files.length === 0)
    throw new Error(`${path} contains no .ndjson files. Choose another folder.`)
  return await Promise.all(files.map(async (name) => await fileSource(join(path, name))))
}

async function fileSource(path: string): Promise<Source> {
  const open = () => createReadStream(path)
  return {
    name: basename(path),
    size: (await stat(path)).size,
    lines: readLines(open),
    async digest() {
      const hash = createHash('sha256')
      await pipeline(open(), hash)
      return hash.digest('base64url')
    },
  }
}

type Chunks = AsyncIterable<unknown> | Iterable<unknown>

/** Reads one JSON record per line. Skips empty lines. Calls `open` when the first line is requested. */
export async function* readLines(open: () => Chunks): AsyncGenerator<Line> {
  let number = 0
  for await (const { text, size } of textLines(open())) {
    number += 1
    if (text?.trim() !== '') yield { number, size, text, value: text && parseJson(text) }
  }
}

/** Splits chunks into lines. Buffers at most 1 MiB of a line; the text of a longer line is undefined. */
async function* textLines(chunks: Chunks) {
  let parts: Buffer[] = []
  let size = 0
  const take = (piece: Buffer) => {
    size += piece.length
    if (size <= LINE_BYTES_MAX) parts.push(piece)
  }
  const finish = () => {
    const whole = size <= LINE_BYTES_MAX ? Buffer.concat(parts).toString('utf8') : undefined
    const line = { text: whole, size: size + 1 }
    parts = []
    size = 0
    return line
  }
  for await (const chunk of chunks) {
    let rest = Buffer.from(chunk as Buffer)
    for (let end = rest.indexOf(NEWLINE); end >= 0; end = rest.indexOf(NEWLINE)) {
      take(rest.subarray(0, end))
      yield finish()
      rest = rest.subarray(end + 1)
    }
    take(rest)
  }
  if (size > 0) yield finish()
}

const NEWLINE = 10
