import { createHash } from 'node:crypto'
import { globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { FuzzRequest } from './request.ts'

/** Requests that once caused a finding. Each run sends them first. */
interface Seed {
  readonly found: string
  readonly requests: readonly FuzzRequest[]
}

const folder = join(import.meta.dirname, 'seeds')

export function readSeeds(): Seed[] {
  return globSync('*.json', { cwd: folder })
    .sort()
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
}

export function keepSeed(seed: Seed): string {
  const name = createHash('sha256').update(JSON.stringify(seed.requests)).digest('hex').slice(0, 12)
  mkdirSync(folder, { recursive: true })
  const file = join(folder, `${name}.json`)
  writeFileSync(file, `${JSON.stringify(seed, undefined, 2)}\n`)
  return file
}
