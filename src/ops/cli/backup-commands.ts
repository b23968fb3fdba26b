import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import packageJson from '../../../package.json' with { type: 'json' }
import type { Config } from '../../config/config.ts'
import { endEverything } from '../../oauth/grants/end-grants.ts'
import { openStoreClock } from '../../platform/store/clock.ts'
import type { DatabaseLocation } from '../../platform/store/database.ts'
import { unknownMigrations } from '../../platform/store/migrate.ts'
import { locationOf, openDatabase } from '../../platform/store/open-stores.ts'
import { makeBackup } from '../backup/backup.ts'
import { type Manifest, readManifest } from '../backup/manifest.ts'
import { findObstacles, placeParts, verifyBackup } from '../backup/restore.ts'
import { CommandRefused } from './command-output.ts'
import { recordCommand, storesOf } from './configured-stores.ts'

const STATEMENT_TIMEOUT_MS = 30_000
const MIGRATION_TIMEOUT_MS = 60 * 60_000

/** The locations of the data of a service. */
function placeOf(config: Config) {
  return {
    location: locationOf(storesOf(config)),
    dataDir: config.dataDir,
    filesOnDisk: config.filesS3 === undefined,
    // The generated root secret, if none is configured.
    secretFile: config.secrets === undefined ? join(config.dataDir, 'secret') : undefined,
    environment: process.env,
  }
}

/** `backup <folder>`: backs up a running or stopped service, and lists what the backup contains. */
export async function backUp(config: Config, folder: string, withSecret: boolean): Promise<string> {
  const place = placeOf(config)
  const { location, secretFile } = place
  if (location.kind === 'sqlite' && !existsSync(location.file)) {
    throw new Error(
      `There is no database in ${config.dataDir}, so there is nothing to back up. Check DATA_DIR.`,
    )
  }
  if (withSecret && secretFile === undefined) {
    throw new Error(
      'The root secret comes from SECRET or SECRET_FILE, not from DATA_DIR. Keep it with your ' +
        'secrets, and run the backup without --with-secret.',
    )
  }
  const manifest = await makeBackup(folder, {
    ...place,
    secretFile: withSecret ? secretFile : undefined,
    issuer: config.baseUrl,
    version: packageJson.version,
  })
  return [`Backed up to ${folder}: ${inShort(manifest)}.`, ...remindersOf(config, manifest)].join(
    '\n',
  )
}

/**
 * `backup verify <folder>`: checks a backup without restoring it.
 *
 * @throws {CommandRefused} with every damage
 */
export async function checkBackup(folder: string): Promise<string> {
  const { manifest, damages, notes } = await verifyBackup(folder)
  if (damages.length > 0) {
    throw new CommandRefused(
      damages.join('\n'),
      `The backup ${folder} is damaged. Use another one.`,
    )
  }
  return [
    `The backup ${folder} is whole: ${inShort(manifest)}.`,
    `Version ${manifest.version} made it at ${manifest.madeAt} of ${manifest.issuer}.`,
    ...notes.map((note) => `Not checked: ${note}`),
  ].join('\n')
}

/** Summarizes a backup in one line. */
function inShort({ engine, rows, schema, parts, secret, files }: Manifest): string {
  const rowCount = Object.values(rows).reduce((sum, count) => sum + count, 0)
  const megabytes = (parts.reduce((sum, { bytes }) => sum + bytes, 0) / 1e6).toFixed(1)
  const fileCount = parts.filter(({ path }) => path.startsWith('files/')).length
  const kept = files === 'included' ? `${fileCount} files` : 'files left in their bucket'
  return (
    `${engine}, ${rowCount} rows of ${Object.keys(rows).length} tables, ${schema.length} migrations, ` +
    `${kept}, the secret ${secret}, ${megabytes} MB in ${parts.length} parts`
  )
}

/** What the operator has to keep besides the backup. */
function* remindersOf({ redis }: Config, { secret, files }: Manifest): Generator<string> {
  if (secret === 'included') {
    yield 'It contains the root secret, which can sign as this service. Keep it locked away.'
  } else {
    yield 'The root secret is not in it. Keep that elsewhere, because the keys need it.'
  }
  if (files === 'bucket') yield 'The files of operators are in their bucket. Copy it now.'
  if (redis) {
    yield 'Redis is not in it. After a restore, people sign in and programs register again.'
  }
}

/**
 * `restore <folder>`: restores a backup into an empty place. Ends every grant and session, because some may
 * have ended after the backup.
 *
 * @param keepGrants keeps the grants and sessions of the backup
 * @throws {CommandRefused} with every obstacle, before anything is written
 */
export async function restore(
  config: Config,
  folder: string,
  keepGrants: boolean,
): Promise<string> {
  const target = placeOf(config)
  const manifest = await readManifest(folder)
  const unknown = await unknownMigrations(manifest.schema, manifest.engine)
  const obstacles =
    unknown.length > 0
      ? [
          `A newer version made the backup (${manifest.version}). This version does not have its ` +
            `migrations ${unknown.join(', ')}. Restore it with that version.`,
        ]
      : await Array.fromAsync(findObstacles(manifest, target))
  if (obstacles.length === 0) obstacles.push(...(await verifyBackup(folder)).damages)
  if (obstacles.length > 0) {
    throw new CommandRefused(obstacles.join('\n'), `${folder} was not restored.`)
  }
  const placed = await placeParts(folder, manifest, target)
  const ended = await settle(placed.location, keepGrants, manifest.madeAt)
  await placed.finish()
  return [
    `Restored ${folder} of ${manifest.madeAt}: ${inShort(manifest)}.`,
    ended === undefined
      ? 'Grants and sessions are those of the backup, including any that ended since.'
      : `${ended} grants and all sessions ended: people sign in and authorize again.`,
    ...notesOf(config, manifest),
  ].join('\n')
}

/** Applies migrations, whatever MIGRATE_AT_START says, and ends grants and sessions. */
async function settle(
  location: DatabaseLocation,
  keepGrants: boolean,
  madeAt: string,
): Promise<number | undefined> {
  const patience = {
    answerWithinMs: STATEMENT_TIMEOUT_MS,
    migrationTimeoutMs: MIGRATION_TIMEOUT_MS,
    finishesRestore: true,
  }
  await using database = await openDatabase(location, patience)
  const nowMs = (await openStoreClock(database)).now()
  const grantsEnded = keepGrants ? undefined : (await endEverything(database, nowMs)).grants
  await recordCommand(database.kysely, nowMs, {
    action: 'backup.restored',
    subject: { kind: 'backup', id: madeAt },
    after: keepGrants ? { grantsKept: true } : { grantsEnded },
  })
  // Sign-ins have a resolution of one second. Wait, so that the next one is later than this end.
  if (!keepGrants) await delay(1000 - (nowMs % 1000))
  return grantsEnded
}

function* notesOf({ baseUrl, redis, secrets }: Config, manifest: Manifest): Generator<string> {
  if (manifest.issuer !== baseUrl) {
    yield `The backup is of ${manifest.issuer}, and BASE_URL is ${baseUrl}: clients see another issuer.`
  }
  if (manifest.files === 'bucket') yield 'Restore the files into their bucket, too.'
  if (manifest.secret === 'included' && secrets !== undefined) {
    yield 'Its root secret was not restored, because SECRET or SECRET_FILE is set.'
  }
  if (redis) yield 'Redis is unchanged. Its sessions have ended, unless grants were kept.'
  yield 'Run `npm run gatehouse -- doctor` before you start.'
}
