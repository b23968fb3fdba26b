import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline/promises'
import { setTimeout as delay } from 'node:timers/promises'

import packageJson from '../../../package.json' with { type: 'json' }
import type { Config } from '../../config/config.ts'
import { endEverything } from '../../oauth/grants/end-grants.ts'
import { openStoreClock } from '../../platform/store/clock.ts'
import type { Database, DatabaseLocation } from '../../platform/store/database.ts'
import { unknownMigrations } from '../../platform/store/migrate.ts'
import { locationOf, openDatabase } from '../../platform/store/open-stores.ts'
import { acceptRestore } from '../../platform/store/restore-marker.ts'
import { makeBackup } from '../backup/backup.ts'
import { type Manifest, readManifest } from '../backup/manifest.ts'
import { findDamage, findObstacles, placeParts } from '../backup/restore.ts'
import { pathOfFile } from '../doctor/store-checks.ts'
import { CommandRefused, type Given } from './command-line.ts'
import { recordCommand, withDatabase } from './configured-stores.ts'

const timeLimits = { answerWithinMs: 30_000, migrationTimeoutMs: 60 * 60_000 }

function servicePlace(config: Config) {
  return {
    location: locationOf(config),
    dataDir: config.dataDir,
    filesOnDisk: config.filesS3 === undefined,
    environment: process.env,
  }
}

/** `backup <folder>`: backs up a running or stopped service. @throws {CommandRefused} if the backup lacks files */
export async function backUp(config: Config, { argument: folder }: Given): Promise<string> {
  const place = servicePlace(config)
  const { location } = place
  if (location.kind === 'sqlite' && !existsSync(location.file)) {
    throw new Error(
      `There is no database in ${config.dataDir}, so there is nothing to back up. Check DATA_DIR.`,
    )
  }
  const manifest = await makeBackup(folder, {
    ...place,
    pathOfFile,
    issuer: config.baseUrl,
    version: packageJson.version,
  })
  const reminders = remindersOf(config, manifest)
  const report = [`Backed up to ${folder}: ${backupSummary(manifest)}.`, ...reminders].join('\n')
  mustHaveFiles(manifest, report)
  return report
}

/** Throws CommandRefused with the report if the backup lacks files that the database names. */
function mustHaveFiles({ missingFiles }: Manifest, report: string): void {
  if (missingFiles.length === 0) return
  throw new CommandRefused(
    report,
    `The backup lacks ${missingFiles.length} of the files that are listed in the database, such as ` +
      `${missingFiles[0]}. Let all hosts share DATA_DIR/files, or use S3.`,
  )
}

/** `backup verify <folder>`: checks a backup. @throws {CommandRefused} if it is damaged or lacks files */
export async function checkBackup(folder: string): Promise<string> {
  const manifest = await readManifest(folder)
  const report = (await findDamage(folder, manifest)).join('\n')
  if (report !== '')
    throw new CommandRefused(report, `The backup ${folder} is damaged. Use another one.`)
  const made = `The backup was made by version ${manifest.version} at ${manifest.madeAt}, for ${manifest.issuer}.`
  mustHaveFiles(manifest, made)
  return `The backup ${folder} is complete: ${backupSummary(manifest)}.\n${made}`
}

function backupSummary({ engine, rows, schema, parts, files }: Manifest): string {
  const rowCount = Object.values(rows).reduce((sum, count) => sum + count, 0)
  const megabytes = (parts.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6).toFixed(1)
  const fileCount = parts.filter(({ path }) => path.startsWith('files/')).length
  const kept = files === 'included' ? `${fileCount} files` : 'files left in their bucket'
  return (
    `${engine}, ${rowCount} rows in ${Object.keys(rows).length} tables, ${schema.length} migrations, ` +
    `${kept}, ${megabytes} MB in ${parts.length} parts`
  )
}

function* remindersOf({ redis, secrets, dataDir }: Config, { files }: Manifest): Generator<string> {
  const place = secrets === undefined ? ` (${join(dataDir, 'secret')})` : ''
  yield `The backup does not contain the root secret${place}. Store it separately: without it, the keys cannot be decrypted.`
  if (files === 'bucket')
    yield 'Uploaded files are in a bucket, not in the backup. Copy the bucket now.'
  if (redis) {
    yield 'The backup does not contain the data in Redis. If that data is lost, people must sign in again, and programs that registered themselves must register again.'
  }
}

/**
 * `restore <folder>`: restores a backup into an empty database and DATA_DIR. Without `--keep-grants`, ends all grants
 * and sessions, because some of them may have been revoked since the backup.
 *
 * @throws {CommandRefused} with all obstacles or all damage, before anything is written
 */
export async function restore(config: Config, { argument: folder, ...given }: Given) {
  const keepGrants = given['keep-grants'] ?? false
  const target = servicePlace(config)
  const manifest = await readManifest(folder)
  const unknown = await unknownMigrations(manifest.schema, manifest.engine)
  const newer =
    `The backup was made by a newer version (${manifest.version}), which has migrations that this version ` +
    `lacks: ${unknown.join(', ')}. Restore the backup with that version.`
  const obstacles =
    unknown.length > 0 ? [newer] : await Array.fromAsync(findObstacles(manifest, target))
  if (obstacles.length === 0) obstacles.push(...(await findDamage(folder, manifest)))
  if (obstacles.length > 0) {
    throw new CommandRefused(obstacles.join('\n'), `${folder} was not restored.`)
  }
  const placed = await placeParts(folder, manifest, target)
  const ended = await completeRestore(placed.location, keepGrants, manifest.madeAt)
  await placed.finish()
  return [
    `Restored ${folder}, made at ${manifest.madeAt}: ${backupSummary(manifest)}.`,
    ended === undefined
      ? 'Grants and sessions of the backup were kept, including any that ended after the backup was made.'
      : `Ended all sessions and grants (grants: ${ended}). People must sign in and authorize again.`,
    ...notesOf(config, manifest),
  ].join('\n')
}

/** Applies migrations, ends grants and sessions unless they are kept, and records the restore. */
async function completeRestore(location: DatabaseLocation, keepGrants: boolean, madeAt: string) {
  await using database = await openDatabase(location, { ...timeLimits, finishesRestore: true })
  const { now } = await openStoreClock(database)
  const grantsEnded = keepGrants ? undefined : (await endEverythingNow(database, now)).grants
  if (keepGrants) await acceptRestore(database, now())
  await recordCommand(database.kysely, now(), {
    action: 'backup.restored',
    subject: { kind: 'backup', id: madeAt },
    after: keepGrants ? { grantsKept: true } : { grantsEnded },
  })
  return grantsEnded
}

/** `grants end-all`: ends every grant, session and code. Without `--yes`, throws unless the operator confirms. */
export async function endAllGrants(config: Config, { yes }: Given): Promise<string> {
  if (!yes && !(await confirm('End every grant, session and code?'))) {
    throw new Error('Nothing was ended. Answer y to confirm, or use --yes if there is no terminal.')
  }
  const { grants, records } = await withDatabase(config, 'writes', endEverythingNow)
  return `Ended all sessions and grants (${grants}), and removed records such as sessions, codes and one-time links (${records}). People must sign in and authorize again.`
}

async function confirm(question: string): Promise<boolean> {
  if (!process.stdin.isTTY) return false
  using terminal = createInterface({ input: process.stdin, output: process.stderr })
  return /^y(es)?$/i.test((await terminal.question(`${question} [y/N] `)).trim())
}

async function endEverythingNow(database: Database, now: () => number) {
  const nowMs = now()
  const ended = await endEverything(database, nowMs)
  await acceptRestore(database, nowMs)
  // Sign-in times have a resolution of one second. Wait for the next one, so that all new sign-ins are later than `nowMs`.
  await delay(1000 - (nowMs % 1000))
  return ended
}

function* notesOf({ baseUrl, redis }: Config, manifest: Manifest): Generator<string> {
  if (manifest.issuer !== baseUrl) {
    yield `The issuer in the backup is ${manifest.issuer}, but BASE_URL is ${baseUrl}. Set BASE_URL to ${manifest.issuer}, unless you want to change the issuer for all clients.`
  }
  if (manifest.files === 'bucket')
    yield 'Uploaded files are not in the backup: restore their bucket, too.'
  if (redis) yield 'Redis was not changed. Its sessions are invalid, unless grants were kept.'
  yield 'Run `npm run gatehouse -- doctor` before you start the service.'
}
