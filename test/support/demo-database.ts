import { copyFileSync } from 'node:fs'
import { join } from 'node:path'

import { hashSync } from '@node-rs/argon2'

import { makePasswords } from '../../src/directory/people/password.ts'
import { loadDemo as loadDemoCampus, readDemo } from '../../src/ops/import/demo-campus.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { temporaryFolder } from './programs.ts'
import { cached } from './shared.ts'

const demoFolder = join(import.meta.dirname, '../../config/demo')

/** Maximum age of a copied demo database. Its dates are relative to when it was loaded. */
const AGE_MAX_MS = 15 * 60_000

export async function loadDemo(database: Database, now: () => number = Date.now): Promise<void> {
  await loadDemoCampus(database, await readDemo(demoFolder), { hashPassword, now })
}

/** The cheapest Argon2id settings. A sign-in uses the settings of the stored hash, so it is cheap, too. */
const cheapest = { algorithm: 2, memoryCost: 8, timeCost: 1, parallelism: 1 }
const hashCheaply = async (password: string) => hashSync(password, cheapest)
let hashPassword = hashCheaply

/** Hashes demo passwords with the production settings. Call it before the first database is created. */
export function hashAsInProduction(): void {
  hashPassword = makePasswords({ parallelHashesMax: 2, waitingHashesMax: 64 }).hash
}

/** Puts an embedded database with the demo campus into a folder, so that a service need not migrate or load it. */
export async function placeDemoDatabase(folder: string, nowMs: number = Date.now()): Promise<void> {
  const { file, loadedAtMs } = await prepared()
  const target = join(folder, 'gatehouse.db')
  if (nowMs >= loadedAtMs && nowMs <= loadedAtMs + AGE_MAX_MS) copyFileSync(file, target)
  else await writeDemo(target, nowMs)
}

const prepared = cached(async () => {
  const file = join(temporaryFolder(), 'gatehouse.db')
  const loadedAtMs = Date.now()
  await writeDemo(file, loadedAtMs)
  return { file, loadedAtMs }
})

async function writeDemo(file: string, nowMs: number): Promise<void> {
  await using database = await openDatabase({ kind: 'sqlite', file }, { answerWithinMs: 10_000 })
  await loadDemo(database, () => nowMs)
}
