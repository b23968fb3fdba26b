import { existsSync } from 'node:fs'
import { join } from 'node:path'

import packageJson from '../../../package.json' with { type: 'json' }
import type { Config } from '../../config/config.ts'
import { locationOf } from '../../platform/store/open-stores.ts'
import { makeBackup } from '../backup/backup.ts'
import type { Manifest } from '../backup/manifest.ts'
import { verifyBackup } from '../backup/restore.ts'
import { CommandRefused } from './command.ts'

/** Where the generated root secret is, which only the embedded default has. */
export function secretFileOf({ secrets, dataDir }: Config): string | undefined {
  return secrets === undefined ? join(dataDir, 'secret') : undefined
}

/** `backup <folder>`: makes a backup beside a running service, and says what is and is not in it. */
export async function backUp(
  config: Config,
  folder: string,
  { withSecret }: { readonly withSecret: boolean },
): Promise<string> {
  const location = locationOf({ ...config, ...config.service.storage })
  if (location.kind === 'sqlite' && !existsSync(location.file)) {
    throw new Error(`There is no database in ${config.dataDir}; nothing is there to back up.`)
  }
  const secretFile = secretFileOf(config)
  if (withSecret && secretFile === undefined) {
    throw new Error(
      'The secret comes from SECRET or SECRET_FILE and not from DATA_DIR: keep it where you keep ' +
        'secrets, and make the backup without --with-secret.',
    )
  }
  const manifest = await makeBackup(folder, {
    location,
    dataDir: config.dataDir,
    filesOnDisk: config.filesS3 === undefined,
    secretFile: withSecret ? secretFile : undefined,
    issuer: config.baseUrl,
    version: packageJson.version,
    environment: process.env,
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
export function inShort({ engine, rows, schema, parts, secret, files }: Manifest): string {
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
