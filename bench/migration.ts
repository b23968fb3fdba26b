/**
 * `node bench/migration.ts [--people n] [--sign-ins n] [storage…]`: imports people with bcrypt hashes, and then signs
 * some of them in while it calls UserInfo. By default, a thousand of a million people sign in, on SQLite and then on
 * PostgreSQL.
 */

import { createWriteStream, rmSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { parseArgs } from 'node:util'

import { hash } from '@node-rs/bcrypt'

import { authorizeUrl } from '../test/support/client.ts'
import { notes } from '../test/support/gatehouse.ts'
import { runGatehouse } from '../test/support/process.ts'
import { temporaryFolder } from '../test/support/programs.ts'
import { makeHeadlessPerson } from '../tools/token/headless-person.ts'
import { describeMachine, divideCores } from './cores.ts'
import { type Storage, storages } from './options.ts'
import { makeSupply } from './prepared-tokens.ts'
import { loadUserInfo, percentile } from './rounds.ts'
import { newPlace, startOurs, startStores } from './servers.ts'

const BCRYPT_COST = 10
const PARALLEL_SIGN_INS = 16
const USERINFO_CONNECTIONS = 4
const HOUR_MS = 3_600_000

const { values, positionals: chosen } = parseArgs({
  allowPositionals: true,
  options: {
    people: { type: 'string', default: '1000000' },
    'sign-ins': { type: 'string', default: '1000' },
  },
})
const people = Number(values.people)
const signIns = Number(values['sign-ins'])
const cores = divideCores()
console.log(`${describeMachine(cores)}; load average ${loadavg().map((load) => load.toFixed(1))}`)

const loginOf = (person: number) => `member${person}@large.example`
const passwordOf = (person: number) => `the password of member ${person % signIns}`

function* records(hashes: readonly string[]): Generator<string> {
  for (let person = 0; person < people; person += 1) {
    const name = { email: loginOf(person), name: `Member ${person}` }
    const passwordHash = hashes[person % signIns]
    const createdAt = '2026-01-01T00:00:00Z'
    const record = { type: 'person', id: `per_large_${person}`, ...name, createdAt, passwordHash }
    yield `${JSON.stringify(record)}\n`
  }
}

/** Signs in the first `signIns` people. @returns the duration of each sign-in */
async function signInAll(url: string) {
  let next = 0
  const tookMs: number[] = []
  const work = async () => {
    while (next < signIns) {
      const person = next
      next += 1
      const startedMs = performance.now()
      const answers = { login: loginOf(person), password: passwordOf(person) }
      await makeHeadlessPerson(answers).authorize(authorizeUrl(url), notes.redirectUri)
      tookMs.push(performance.now() - startedMs)
    }
  }
  await Promise.all(Array.from({ length: PARALLEL_SIGN_INS }, work))
  return tookMs
}

async function measure(storage: Storage, path: string): Promise<void> {
  await using stores = await startStores()
  const place = await newPlace(storage, stores)
  const importingMs = performance.now()
  const imported = await runGatehouse(['import', path], place, HOUR_MS)
  if (imported.code !== 0) throw new Error(imported.stdout + imported.stderr)
  const importSeconds = (performance.now() - importingMs) / 1000
  await using service = await startOurs(place, { cores })
  const supply = await makeSupply(service.url, 'ours')
  const load = async () => await loadUserInfo({ url: service.url, supply }, USERINFO_CONNECTIONS, 1)
  // The first second warms the service up, so discard it.
  await load()
  const alone = (await load()).tookMs
  const startedMs = performance.now()
  let done = false
  const signingIn = signInAll(service.url).finally(() => (done = true))
  const beside: number[] = []
  while (!done) beside.push(...(await load()).tookMs)
  const tookMs = await signingIn
  const seconds = (performance.now() - startedMs) / 1000
  console.log(
    `${storages[storage]}: ${people} people imported in ${importSeconds.toFixed(0)} s; ` +
      `${tookMs.length} sign-ins in ${seconds.toFixed(1)} s (${(tookMs.length / seconds).toFixed(1)}/s, ` +
      `p99 ${percentile(tookMs, 0.99).toFixed(0)} ms); UserInfo p99 ${percentile(alone, 0.99).toFixed(1)} ms alone, ` +
      `${percentile(beside, 0.99).toFixed(1)} ms beside them, ${(beside.length / seconds).toFixed(0)}/s; ` +
      `load average ${loadavg().map((load) => load.toFixed(1))}`,
  )
}

const path = join(temporaryFolder(), 'people.ndjson')
const hashes = await Promise.all(
  Array.from({ length: signIns }, (_, person) => hash(passwordOf(person), BCRYPT_COST)),
)
await pipeline(records(hashes), createWriteStream(path))
for (const storage of (chosen.length > 0 ? chosen : ['sqlite', 'postgres']) as Storage[]) {
  await measure(storage, path)
}
rmSync(path)
