import { setTimeout as delay } from 'node:timers/promises'

import type { Config } from '../../config/config.ts'
import { endEverything } from '../../oauth/grants/end-everything.ts'
import { recordAuditEvent } from '../../platform/audit/audit-log.ts'
import { openStoreClock } from '../../platform/store/clock.ts'
import type { DatabaseLocation } from '../../platform/store/database.ts'
import { unknownMigrations } from '../../platform/store/migrate.ts'
import { locationOf, openDatabase } from '../../platform/store/open-stores.ts'
import { readManifest } from '../backup/manifest.ts'
import { findObstacles, placeParts, verifyBackup } from '../backup/restore.ts'
import { inShort, secretFileOf } from './backup-command.ts'
import { CommandRefused } from './command.ts'

/** How long a statement may take on a database that nobody uses yet, and one of a migration. */
const STATEMENT_TIMEOUT_MS = 30_000
const MIGRATION_TIMEOUT_MS = 60 * 60_000

export interface RestoreChoice {
  /** Leaves what people had allowed, and who was signed in, as it was at the time of the backup. */
  readonly keepGrants: boolean
}

/**
 * `restore <folder>`: brings a backup into an empty place, and ends every grant and session, because
 * the copy does not know which of them ended after it was made.
 *
 * @throws {CommandRefused} with everything that is in the way, before anything is written
 */
export async function restore(
  config: Config,
  folder: string,
  { keepGrants }: RestoreChoice,
): Promise<string> {
  const target = {
    location: locationOf({ ...config, ...config.service.storage }),
    dataDir: config.dataDir,
    filesOnDisk: config.filesS3 === undefined,
    secretFile: secretFileOf(config),
    environment: process.env,
  }
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
  const ended = await settle(placed.location, { keepGrants, madeAt: manifest.madeAt })
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
  { keepGrants, madeAt }: RestoreChoice & { readonly madeAt: string },
): Promise<number | undefined> {
  const patience = {
    answerWithinMs: STATEMENT_TIMEOUT_MS,
    migrationTimeoutMs: MIGRATION_TIMEOUT_MS,
    finishesRestore: true,
  }
  await using database = await openDatabase(location, patience)
  const nowMs = (await openStoreClock(database)).now()
  const grantsEnded = keepGrants ? undefined : (await endEverything(database, nowMs)).grants
  await recordAuditEvent(
    database.kysely,
    { now: nowMs },
    {
      action: 'backup.restored',
      subject: { kind: 'backup', id: madeAt },
      siteId: undefined,
      after: keepGrants ? { grantsKept: true } : { grantsEnded },
    },
  )
  // Sign-ins are dated by the second: one of the second that ended everything would be taken for one before it.
  if (!keepGrants) await delay(1000 - (nowMs % 1000))
  return grantsEnded
}

function* notesOf(
  { baseUrl, redis, secrets }: Config,
  manifest: Awaited<ReturnType<typeof readManifest>>,
): Generator<string> {
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
