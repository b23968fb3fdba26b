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

/** How long a statement may take on a database that is not in use yet, and one of a migration. */
const STATEMENT_TIMEOUT_MS = 30_000
const MIGRATION_TIMEOUT_MS = 60 * 60_000

/** Where the data of a service is. */
function placeOf(config: Config) {
  return {
    location: locationOf(storesOf(config)),
    dataDir: config.dataDir,
    filesOnDisk: config.filesS3 === undefined,
    // The generated root secret, which only the embedded default has.
    secretFile: config.secrets === undefined ? join(config.dataDir, 'secret') : undefined,
    environment: process.env,
  }
}

/** `backup <folder>`: makes a backup beside a running service, and says what is and is not in it. */
export async function backUp(config: Config, folder: string, withSecret: boolean): Promise<string> {
  const place = placeOf(config)
  const { location, secretFile } = place
  if (location.kind === 'sqlite' && !existsSync(location.file)) {
    throw new Error(`There is no database in ${config.dataDir}; nothing is there to back up.`)
  }
  if (withSecret && secretFile === undefined) {
    throw new Error(
      'The secret comes from SECRET or SECRET_FILE and not from DATA_DIR: keep it where you keep ' +
        'secrets, and make the backup without --with-secret.',
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
 * @throws {CommandRefused} with everything that is damaged
 */
export async function checkBackup(folder: string): Promise<string> {
  const { manifest, damages, notes } = await verifyBackup(folder)
  if (damages.length > 0) {
    throw new CommandRefused(damages.join('\n'), `The backup ${folder} is damaged.`)
  }
  return [
    `The backup ${folder} is whole: ${inShort(manifest)}.`,
    `Version ${manifest.version} made it at ${manifest.madeAt} of ${manifest.issuer}.`,
    ...notes.map((note) => `Not looked into: ${note}`),
  ].join('\n')
}

/** What a backup has, in one line. */
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

/** What a person has to keep beside the backup. */
function* remindersOf({ redis }: Config, { secret, files }: Manifest): Generator<string> {
  if (secret === 'included') {
    yield 'It holds the root secret: whoever has it can sign as this service. Keep it locked away.'
  } else {
    yield 'The root secret is not in it, and without it nobody opens the keys: keep that elsewhere.'
  }
  if (files === 'bucket') yield 'The files of operators are in their bucket: copy that now.'
  if (redis) {
    yield 'Redis is not in it: people sign in again, and programs register themselves again.'
  }
}

/**
 * `restore <folder>`: brings a backup into an empty place, and ends every grant and session, because
 * the copy does not know which of them ended after it was made.
 *
 * @param keepGrants leaves grants and sessions as they were at the time of the backup
 * @throws {CommandRefused} with everything that is in the way, before anything is written
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
          `A newer version made the backup (${manifest.version}), whose migrations this one does not ` +
            `know: ${unknown.join(', ')}. Restore it with that version.`,
        ]
      : await findObstacles(manifest, target)
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
      ? 'Grants and sessions are as they were then: what was ended or used since lives again.'
      : `${ended} grants ended, and nobody is signed in: people sign in and authorize anew.`,
    ...notesOf(config, manifest),
  ].join('\n')
}

/** Brings the schema up to date, whichever setting there is, and ends what must not live again. */
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
  // Sign-ins are dated by the second: one of the second that ended everything would be taken for one before it.
  if (!keepGrants) await delay(1000 - (nowMs % 1000))
  return grantsEnded
}

function* notesOf({ baseUrl, redis, secrets }: Config, manifest: Manifest): Generator<string> {
  if (manifest.issuer !== baseUrl) {
    yield `It was made of ${manifest.issuer}, and this service is ${baseUrl}: clients see another issuer.`
  }
  if (manifest.files === 'bucket') yield 'Bring the files back into their bucket too.'
  if (manifest.secret === 'included' && secrets !== undefined) {
    yield 'Its secret was left in it, because SECRET or SECRET_FILE is set.'
  }
  if (redis) yield 'Redis was not touched. Sessions in it are over, unless grants were kept.'
  yield 'Run `npm run gatehouse -- doctor` before you start.'
}
