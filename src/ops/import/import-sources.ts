import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { readdir, stat } from 'node:fs/promises'
import { basename, join } from 'node:path'

import { parseJson } from '../../platform/http/strict-json.ts'
import { readCampusFolder } from './campus-folder.ts'
import { type Campus, kindNames, listOf } from './record-kinds.ts'
import type { Fields } from './record-rows.ts'

/** A source of lines: an NDJSON file, standard input, or a campus of .json files. */
export interface Source {
  readonly name: string
  /** The size in bytes, or in lines for a campus; 0 if unknown. */
  readonly size: number
  /** Returns a digest of the content, to resume an interrupted import; undefined if not supported. */
  readonly digest?: () => Promise<string>
  readonly lines: () => AsyncIterable<Line>
}

export interface Line {
  /** The line number, from 1. */
  readonly number: number
  /** The type and id of a record in a campus, for problem descriptions. */
  readonly name?: string
  /** The unparsed line, for the file of rejected lines; undefined if it is longer than 1 MiB. */
  readonly text: string | undefined
  /** The parsed JSON; undefined if it is invalid or longer than 1 MiB. */
  readonly value: unknown
  /** The size of the line, in the source's unit. */
  readonly size: number
}

const LINE_BYTES_MAX = 1024 * 1024

/**
 * Opens the sources of an import: a file, `-` for standard input, or a folder. Reads the .ndjson files of a folder in
 * order of their names. If there are none, reads its .json files as one campus.
 */
export async function openSources(path: string): Promise<readonly Source[]> {
  if (path === '-') return [lineSource('standard input', () => process.stdin)]
  if (!(await stat(path)).isDirectory()) return [await fileSource(path)]
  const files = (await readdir(path)).filter((name) => name.endsWith('.ndjson')).sort()
  if (files.length === 0) return [await campusSource(path)]
  return await Promise.all(files.map(async (name) => await fileSource(join(path, name))))
}

async function fileSource(path: string): Promise<Source> {
  const { size } = await stat(path)
  return {
    ...lineSource(basename(path), () => createReadStream(path)),
    size,
    async digest() {
      const hash = createHash('sha256')
      for await (const chunk of createReadStream(path)) hash.update(chunk as Buffer)
      return hash.digest('base64url')
    },
  }
}

/** Creates a source of one JSON record per line. */
export function lineSource(name: string, open: () => NodeJS.ReadableStream): Source {
  return {
    name,
    size: 0,
    async *lines() {
      let number = 0
      for await (const { text, size } of textLines(open())) {
        number += 1
        if (text?.trim() !== '') yield { number, size, text, value: text && parseJson(text) }
      }
    },
  }
}

/** Splits a stream into lines. Buffers at most 1 MiB of a line; the text of a longer line is undefined. */
async function* textLines(stream: NodeJS.ReadableStream) {
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
  for await (const chunk of stream) {
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

/** Reads a whole campus, to report its invalid fields before anything is written. */
async function campusSource(folder: string): Promise<Source> {
  const lines = campusLines(await readCampusFolder(folder))
  return {
    name: basename(folder),
    size: lines.length,
    async *lines() {
      yield* lines
    },
  }
}

/** Converts a campus to the lines of an import, parents before children. */
export function campusLines(campus: Campus): Line[] {
  const records = kindNames.flatMap((type) =>
    campus[listOf(type)].map((record: Fields) => ({ ...record, type })),
  )
  return records.map((value: Fields, at) => {
    const name = `${value['type']} ${value['id'] ?? ''}`.trimEnd()
    return { number: at + 1, name, text: JSON.stringify(value), value, size: 1 }
  })
}
