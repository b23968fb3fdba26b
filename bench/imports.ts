import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'

import { runGatehouse, type Variables } from '../test/support/process.ts'
import { temporaryFolder } from '../test/support/programs.ts'
import type { Options } from './options.ts'
import { loadUserInfo, type Measured, percentile } from './rounds.ts'

/** The speed of an import, and the response times of UserInfo alone and during the import. */
export interface ImportFigure {
  readonly lines: number
  readonly linesPerSecond: number
  readonly p99AloneMs: number
  readonly p99Ms: number
  readonly requestsPerSecond: number
}

export const IMPORT_CONNECTIONS = 16
const LOAD_SECONDS = 1
const HOUR_MS = 3_600_000

/** Measures UserInfo alone, and while `npm run gatehouse -- import` runs. */
export async function measureImport(
  server: Measured,
  place: Variables,
  { importLines: lines }: Pick<Options, 'importLines'>,
): Promise<ImportFigure> {
  const path = join(temporaryFolder(), 'records.ndjson')
  await pipeline(records(lines), createWriteStream(path))
  const alone = await loadUserInfo(server, IMPORT_CONNECTIONS, LOAD_SECONDS * 2)

  const startedMs = performance.now()
  let elapsedMs: number | undefined
  const importing = runGatehouse(['import', path], place, HOUR_MS).then((ended) => {
    elapsedMs = performance.now() - startedMs
    if (ended.code !== 0) throw new Error(`the import failed: ${ended.stdout}${ended.stderr}`)
  })
  const tookMs: number[] = []
  let seconds = 0
  while (elapsedMs === undefined) {
    const load = await loadUserInfo(server, IMPORT_CONNECTIONS, LOAD_SECONDS)
    tookMs.push(...load.tookMs)
    seconds += load.elapsedSeconds
  }
  await importing
  return {
    lines,
    linesPerSecond: lines / (elapsedMs / 1000),
    p99AloneMs: percentile(alone.tookMs, 0.99),
    p99Ms: percentile(tookMs, 0.99),
    requestsPerSecond: tookMs.length / seconds,
  }
}

const COURSES = 100
/** The number of lines per person: the person, two course purchases, and a watch position in each purchased course. */
const LINES_PER_PERSON = 5

/** Yields the lines of a site, at least as many as requested. */
function* records(lines: number): Generator<string> {
  const at = '2026-01-01T00:00:00Z'
  const line = (record: object) => `${JSON.stringify(record)}\n`
  yield line({ type: 'site', id: 'sit_large', slug: 'large', name: 'Large', createdAt: at })
  for (let course = 0; course < COURSES; course += 1) {
    const lectures = [{ id: `lec_${course}`, title: 'Lecture', durationSeconds: 600 }]
    const names = { slug: `course-${course}`, title: `Course ${course}`, summary: 'A course.' }
    const id = `crs_${course}`
    yield line({ type: 'course', id, site: 'sit_large', ...names, createdAt: at, lectures })
  }
  for (let i = 0; i < (lines - COURSES - 1) / LINES_PER_PERSON; i += 1) {
    const person = `per_large_${i}`
    const roles = [{ site: 'sit_large', role: 'student', grantedAt: at }]
    const email = `person${i}@large.example`
    yield line({ type: 'person', id: person, email, name: `Person ${i}`, createdAt: at, roles })
    for (const course of [i % COURSES, (i + 1) % COURSES]) {
      const id = `pur_large_${i}_${course}`
      const bought = { purchasedAt: at, expiresAt: null }
      yield line({ type: 'coursePurchase', id, person, course: `crs_${course}`, ...bought })
      const watched = { lecture: `lec_${course}`, positionSeconds: i % 600, watchedAt: at }
      yield line({ type: 'watchPosition', person, ...watched })
    }
  }
}
