/**
 * `node bench/search.ts [--people n] [storage…]`: imports people into one site, and searches them through the Admin API.
 * By default, imports a million, first on SQLite, then PostgreSQL. A search reads up to four pages with `totalCount`.
 */

import { createWriteStream } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'

import { startOperator } from '../test/support/admin-api.ts'
import { runGatehouse } from '../test/support/process.ts'
import { temporaryFolder } from '../test/support/programs.ts'
import { describeMachine, divideCores, processorSeconds } from './cores.ts'
import { type Storage, storages } from './options.ts'
import { percentile } from './rounds.ts'
import { newPlace, startOurs, startStores } from './servers.ts'

const HOUR_MS = 3_600_000
const PAGES = 4
/** The number of searches of each kind. */
const SEARCHES = 50

const { values, positionals: chosen } = parseArgs({
  allowPositionals: true,
  options: { people: { type: 'string', default: '1000000' } },
})
const people = Number(values.people)

const syllables = ['an', 'be', 'chi', 'dor', 'el', 'fa', 'gre', 'ho', 'is', 'jo', 'ka', 'li', 'mo']
const endings = ['a', 'son', 'mann', 'es', 'ski', 'o', 'ine', 'y', 'berg', 'u', 'ert']

/** Returns the name with the given rank. Names with different ranks may begin alike, as real names do. */
function nameOf(rank: number, spread: number): string {
  const at = (rank * spread) % (syllables.length ** 3 * endings.length)
  const third = Math.floor(at / (syllables.length ** 2 * endings.length))
  const letters = [at, Math.floor(at / syllables.length), third].map((each) => syllables[each % 13])
  return letters.join('') + endings[Math.floor(at / syllables.length ** 2) % endings.length]
}

const firstName = (rank: number) => nameOf(rank, 7919)
const lastName = (rank: number) => nameOf(rank, 3571)

/** Returns a rank below `count`. With 2,000 names, 22% of people have the first, 3% the second, and 0.01% the last. */
const rankOf = (share: number, count: number) => Math.floor(count * share ** 5)

/** Returns a number from 0 to 1 that depends only on the person and the purpose. */
function shareOf(person: number, purpose: number): number {
  const mixed = Math.imul(person + 1, 2_654_435_761) ^ Math.imul(purpose, 40_503_001)
  return (Math.imul(mixed ^ (mixed >>> 15), 2_246_822_519) >>> 0) / 2 ** 32
}

function recordOf(person: number) {
  const first = firstName(rankOf(shareOf(person, 1), 2000))
  const last = lastName(rankOf(shareOf(person, 2), 20_000))
  const host = ['mail', 'mail', 'post', `${last}-family`][person % 4]
  const roles = [{ site: 'sit_northlight', role: 'student', grantedAt: '2026-01-01T00:00:00Z' }]
  return {
    ...{ type: 'person', id: `per_large_${person}`, name: `${first} ${last}` },
    email: `${first}.${last}${person}@${host}.example`,
    ...{ createdAt: '2026-01-01T00:00:00Z', roles },
  }
}

function* records(): Generator<string> {
  for (let person = 0; person < people; person += 1) yield `${JSON.stringify(recordOf(person))}\n`
}

/** The kinds of searches, each with a function that returns its i-th search text. */
const kinds: Readonly<Record<string, (i: number) => string>> = {
  'a common first name': (i) => firstName(i + 1),
  'a rare first name': (i) => firstName(1950 + i),
  'a common last name': (i) => lastName(i + 1),
  'one letter': (i) => String.fromCharCode(97 + (i % 26)),
  'the host of addresses': (i) => ['mail', 'example', '@post.example', 'mail.example'][i % 4] ?? '',
  'the beginning of an address': (i) => recordOf(i * 997).email.slice(0, 12 + (i % 8)),
  'a whole address': (i) => recordOf(i * 997).email,
  'two common words': (i) => `${firstName(1 + (i % 10))} ${lastName(i + 1)}`,
  'a common and a rare word': (i) => `${firstName(i + 1)} ${lastName(15_000 + i)}`,
  'two common first names, almost no match': (i) => `${firstName(i + 1)} ${firstName(i + 2)}`,
  'two letters': (i) => `${firstName(i + 1)[0]} ${lastName(i + 1)[0]}`,
  'no match': (i) => `xq${i}`,
  'a match and no match': (i) => `${firstName(i + 1)} xq${i}`,
}

const query = `query ($search: String, $after: String) {
  students(first: 20, search: $search, after: $after) {
    nodes { id name email } totalCount pageInfo { hasNextPage endCursor } } }`

type Run = Awaited<ReturnType<typeof startOperator>>['run']

/** Searches, and reads some pages. A response without data, usually after the storage timeout, counts as failed. */
async function searchPages(run: Run, search: string) {
  const tookMs: number[] = []
  let [after, found, failed]: [string | undefined, number, number] = [undefined, 0, 0]
  for (let page = 0; page < PAGES; page += 1) {
    const startedMs = performance.now()
    const data: Awaited<ReturnType<Run>> = await run(query, { search, after }).catch(
      () => undefined,
    )
    tookMs.push(performance.now() - startedMs)
    if (!data) failed += 1
    found += data?.students.nodes.length ?? 0
    after = data?.students.pageInfo.endCursor
    if (!data?.students.pageInfo.hasNextPage) break
  }
  return { tookMs, found, failed }
}

async function measure(storage: Storage, path: string): Promise<void> {
  await using stores = await startStores()
  const place = await newPlace(storage, stores)
  const imported = await runGatehouse(['import', path], place, HOUR_MS)
  if (imported.code !== 0) throw new Error(imported.stdout + imported.stderr)
  await using service = await startOurs(place, { cores })
  const { run } = await startOperator(service)
  const all: number[] = []
  console.log(`\n${storages[storage]}, ${people} people`)
  for (const [kind, searchOf] of Object.entries(kinds)) {
    const usedSeconds = processorSeconds(service.pid)
    const searched: Awaited<ReturnType<typeof searchPages>>[] = []
    for (let i = 0; i < SEARCHES; i += 1) searched.push(await searchPages(run, searchOf(i)))
    const tookMs = searched.flatMap((each) => each.tookMs)
    const usedMs = ((processorSeconds(service.pid) - usedSeconds) * 1000) / tookMs.length
    const sum = (name: 'found' | 'failed') =>
      searched.reduce((total, each) => total + each[name], 0)
    all.push(...tookMs)
    console.log(
      `${kind}: ${figuresOf(tookMs)}, ${usedMs.toFixed(1)} ms of the server's processor; ` +
        `${sum('found')} people, ${sum('failed')} failed`,
    )
  }
  console.log(`all: ${figuresOf(all)}; load average ${loadavg().map((load) => load.toFixed(1))}`)
}

function figuresOf(tookMs: readonly number[]): string {
  const [p50, p99, max] = [0.5, 0.99, 1].map((share) => percentile(tookMs, share).toFixed(1))
  return `${tookMs.length} requests, p50 ${p50} ms, p99 ${p99} ms, longest ${max} ms`
}

const cores = divideCores()
console.log(`${describeMachine(cores)}; load average ${loadavg().map((load) => load.toFixed(1))}`)
const path = join(temporaryFolder(), 'people.ndjson')
await pipeline(records(), createWriteStream(path))
for (const storage of (chosen.length > 0 ? chosen : ['sqlite', 'postgres']) as Storage[])
  await measure(storage, path)
