import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'

import { parseJson } from '../../platform/http/strict-json.ts'

/** A source of lines: an NDJSON file, standard input, or the body of a request. */
export interface Source {
  readonly name: string
  readonly lines: AsyncIterable<Line> | Iterable<Line>
}

export interface Line {
  /** The line number, from 1. */
  readonly number: number
  /** The unparsed line, for the file of rejected lines; undefined if it is longer than 1 MiB. */
  readonly text: string | undefined
  /** The parsed JSON; undefined if it is invalid or longer than 1 MiB. */
  readonly value: unknown
}

const LINE_BYTES_MAX = 1024 * 1024

/** Opens a file, `-` for standard input, or the .ndjson files of a folder in the order of their names. */
export async function openSources(path: string): Promise<readonly Source[]> {
  if (path === '-') return [{ name: 'standard input', lines: readLines(() => process.stdin) }]
  if (!(await stat(path)).isDirectory()) return [fileSource(path)]
  const files = (await readdir(path)).filter((name) => name.endsWith('.ndjson')).sort()
  if (files.length === 0)
    throw new Error(`${path} contains no .ndjson files. Choose another folder.`)
  return files.map((name) => fileSource(join(path, name)))
}

function fileSource(path: string): Source {
  return { name: basename(path), lines: readLines(() => createReadStream(path)) }
}

type Chunks = AsyncIterable<unknown> | Iterable<unknown>

/** Reads one JSON record per line. Skips empty lines. Calls `open` when the first line is requested. */
export async function* readLines(open: () => Chunks): AsyncGenerator<Line> {
  let number = 0
  for await (const text of textLines(open())) {
    number += 1
    if (text?.trim() !== '') yield { number, text, value: text && parseJson(text) }
  }
}

/** Splits chunks into lines. Buffers at most 1 MiB of a line, and yields undefined for a longer line. */
async function* textLines(chunks: Chunks) {
  let parts: Buffer[] = []
  let size = 0
  const take = (piece: Buffer) => {
    size += piece.length
    if (size <= LINE_BYTES_MAX) parts.push(piece)
  }
  const finish = () => {
    const whole = size <= LINE_BYTES_MAX ? Buffer.concat(parts).toString('utf8') : undefined
    parts = []
    size = 0
    return whole
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
