import { copyFileSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { makePasswords } from '../../src/directory/people/password.ts'
import { readCampusFolder } from '../../src/ops/import/campus-folder.ts'
import { loadDemo as loadDemoCampus } from '../../src/ops/import/demo-campus.ts'
import type { Database } from '../../src/platform/store/database.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { removeAtExit } from './programs.ts'

const demoFolder = join(import.meta.dirname, '../../config/demo')

/** The dates of the demo are counted from its loading; that it is some minutes old shows nowhere. */
const AGE_MAX_MS = 15 * 60_000

/** Loads the demo campus as a first start does, its passwords hashed once in a run. */
export async function loadDemo(database: Database, now: () => number = Date.now): Promise<void> {
  const campus = await readCampusFolder(demoFolder)
  await loadDemoCampus(database, campus, { hashPassword, now })
}

const hashes = new Map<string, Promise<string>>()
const passwords = makePasswords({ parallelHashesMax: 2, waitingHashesMax: 64 })

function hashPassword(password: string): Promise<string> {
  const known = hashes.get(password)
  if (known !== undefined) return known
  const hash = passwords.hash(password)
  hashes.set(password, hash)
  return hash
}

let prepared: Promise<{ file: string; loadedAtMs: number }> | undefined

/**
 * Puts an embedded database with the demo campus into a folder, so that a service that starts there
 * has nothing to migrate or to load; where the clock of the test is another, it does that itself.
 */
export async function placeDemoDatabase(folder: string, nowMs: number = Date.now()): Promise<void> {
  prepared ??= prepare()
  const { file, loadedAtMs } = await prepared
  if (nowMs < loadedAtMs || nowMs > loadedAtMs + AGE_MAX_MS) return
  copyFileSync(file, join(folder, 'gatehouse.db'))
}

async function prepare(): Promise<{ file: string; loadedAtMs: number }> {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-demo-'))
  removeAtExit(folder)
  const file = join(folder, 'gatehouse.db')
  const loadedAtMs = Date.now()
  await using database = await openDatabase({ kind: 'sqlite', file }, { answerWithinMs: 10_000 })
  await loadDemo(database)
  return { file, loadedAtMs }
}
