import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { FuzzRequest } from './request.ts'

/** Requests that once brought the service to fail: they are sent first, each time. */
export interface Seed {
  /** What was wrong with the answer. */
  readonly found: string
  /** More than one where they came on one connection. */
  readonly requests: readonly FuzzRequest[]
}

const folder = join(import.meta.dirname, 'seeds')

export function readSeeds(): Seed[] {
  return globSync('*.json', { cwd: folder })
    .sort()
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
}

/** @returns the file in which it is kept */
export function keepSeed(seed: Seed): string {
  const text = `${JSON.stringify(seed, undefined, 2)}\n`
  const name = createHash('sha256').update(JSON.stringify(seed.requests)).digest('hex').slice(0, 12)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${name}.json`)
  writeFileSync(file, text)
  return file
}
