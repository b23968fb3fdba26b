import { createHash, randomUUID } from 'node:crypto'
import { existsSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'

import type { Config } from '../../config/config.ts'
import { openSmtp } from '../../directory/mail/smtp.ts'
import { isLoopbackInterface, isLoopbackUrl } from '../../platform/http/loopback.ts'
import { PROXY_IGNORED } from '../../platform/http/request-target.ts'
import { waitingMessages } from '../../platform/outbox/outbox.ts'
import type { Database } from '../../platform/store/database.ts'
import { readSetting } from '../../platform/store/settings.ts'
import { type S3Location, s3Storage } from '../../school/files/file-storage.ts'
import { type Finding, type Findings, found, ok } from './checks.ts'

const DAY_MS = 86_400_000

/** Checks that the data folders are writable, and that other users cannot read the generated secret or SQLite files. */
export function* checkPermissions({
  secrets,
  databaseUrl,
  dataDir,
}: Pick<Config, 'secrets' | 'databaseUrl' | 'dataDir'>): Generator<Finding> {
  const pathOf = (name: string) => join(dataDir, name)
  for (const folder of [existingParent(dataDir), pathOf('files')].filter(existsSync)) {
    const problem = writeProblem(folder)
    if (problem) yield found('files.unwritable', `${folder} is not writable (${problem})`)
  }
  const isOpen = (path: string) => existsSync(path) && (statSync(path).mode & 0o077) !== 0
  const readable = (file: string) => `Other users of this machine can read ${file}`
  const secret = pathOf('secret')
  if (!secrets && isOpen(secret)) yield found('secret.readable', readable(secret))
  else if (!secrets && existsSync(secret)) yield ok(`Only the owner can read ${secret}.`)
  if (databaseUrl !== undefined || !isOpen(dataDir)) return
  // Other users may access DATA_DIR, so check the files, too. The database contains password hashes.
  const open = ['gatehouse.db', 'gatehouse.db-wal'].map(pathOf).filter(isOpen)
  for (const file of open) yield found('database.readable', readable(file))
}

/** Returns a folder or, if it does not exist, the nearest existing folder above it, where it would be created. */
function existingParent(folder: string): string {
  return existsSync(folder) ? folder : existingParent(dirname(resolve(folder)))
}

function writeProblem(folder: string): unknown {
  const probe = join(folder, `doctor-${randomUUID()}`)
  try {
    writeFileSync(probe, '', { mode: 0o600, flag: 'wx' })
    rmSync(probe)
    return undefined
  } catch (error) {
    return Object(error).code
  }
}

/** Checks the bucket, if one is configured, by writing, reading and deleting an object. */
export async function* checkBucket({ filesS3 }: Config): Findings {
  if (!filesS3) return
  const name = `The bucket ${filesS3.bucket}`
  try {
    if (await keepsObject(filesS3)) return yield ok(`${name} stores objects.`)
    yield found('files.bucket', `${name} did not return the bytes that were stored`)
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    const reason = cause instanceof Error ? cause.message : String(error)
    yield found('files.bucket', `${name} cannot be used: ${reason}`)
  }
}

async function keepsObject(location: S3Location): Promise<boolean> {
  const storage = s3Storage(location)
  const content = Buffer.from('doctor was here')
  const folder = await mkdtemp(join(tmpdir(), 'gatehouse-doctor-'))
  const path = join(folder, 'probe')
  const key = `doctor-${randomUUID()}`
  const sha256 = createHash('sha256').update(content).digest('hex')
  const draft = { path, sizeBytes: content.length, sha256, mediaType: 'text/plain' }
  try {
    await writeFile(path, content)
    await storage.put(key, { ...draft, [Symbol.asyncDispose]: async () => {} })
    const read = await buffer(await storage.get(key))
    await storage.remove(key)
    return read.equals(content)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** Reports metrics that are served at a non-loopback address. */
export function* checkMetrics({ metricsAddress }: Config): Generator<Finding> {
  if (!metricsAddress || isLoopbackInterface(metricsAddress.host)) return
  const { host, port } = metricsAddress
  const sentence = `Metrics are served without authentication on port ${port} of ${host}, which is not a loopback address`
  yield found('metrics.exposed', sentence)
}

/** Tests the mail server. If none is configured, reports that mail is stored in files, unless BASE_URL is loopback. */
export async function* checkMail({ smtpUrl, baseUrl }: Config): Findings {
  if (smtpUrl === undefined) {
    if (isLoopbackUrl(baseUrl)) return
    return yield found('mail.folder', 'No mail server is configured, so mail is stored in files')
  }
  const server = openSmtp(smtpUrl)
  try {
    await server.verify()
    yield ok('The mail server accepts the connection.')
  } catch (error) {
    yield found('mail.server', error instanceof Error ? error.message : String(error))
  } finally {
    server.close()
  }
}

const WAITING_MINUTES_MAX = 15

/** Reports undelivered mail if the oldest message has waited for too long. */
export async function* checkOutbox(
  database: Pick<Database, 'kysely'>,
  now: () => number,
): Findings {
  const mail = (await waitingMessages(database)).get('mail')
  const minutes = mail ? Math.floor((now() - mail.oldestAt) / 60_000) : 0
  if (!mail || minutes < WAITING_MINUTES_MAX) return
  const { count, error } = mail
  const waiting = count === 1 ? '1 message is waiting' : `${count} messages are waiting`
  const sentence = `${waiting}, the oldest for ${minutes} minutes (last error: ${error ?? 'none, because delivery was not tried yet'})`
  yield found('mail.waiting', sentence)
}

/** Reports a problem if X-Forwarded-For is trusted from every client, or was ignored in the last day. */
export async function* checkProxy(
  { trustProxy, host }: Config,
  { kysely }: Database,
  now: () => number,
): Findings {
  const sentence = `X-Forwarded-For is trusted from every client that connects to ${host}`
  if (trustProxy && !isLoopbackInterface(host)) yield found('proxy.anyone', sentence)
  const ignoredAtMs = Number((await readSetting(kysely, PROXY_IGNORED)) ?? 0)
  if (!trustProxy && ignoredAtMs > now() - DAY_MS)
    yield found('proxy.ignored', 'A proxy sends X-Forwarded-For, which the service ignores')
}
