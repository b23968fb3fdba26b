import { createHash, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, statSync } from 'node:fs'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'

import type { Config } from '../../config/config.ts'
import { openSmtp } from '../../directory/mail/smtp.ts'
import { isLoopbackInterface, isLoopbackUrl } from '../../platform/http/loopback.ts'
import { metricsPath } from '../../platform/http/paths.ts'
import { PROXY_IGNORED } from '../../platform/http/request-target.ts'
import { waitingMessages } from '../../platform/outbox/outbox.ts'
import type { Database } from '../../platform/store/database.ts'
import { readSetting } from '../../platform/store/settings.ts'
import { type S3Location, s3Storage } from '../../school/files/file-storage.ts'
import { type Finding, type Findings, found, ok } from './checks.ts'

const MEBIBYTE = 1024 * 1024
const ROOM_BYTES_MIN = 100 * MEBIBYTE
const ROOM_BYTES_WANTED = 1024 * MEBIBYTE
const DAY_MS = 86_400_000
const REACH_TIMEOUT_MS = 2_000

/** Checks that other users cannot read the generated secret and the SQLite database. */
export function* checkPermissions({ secrets, databaseUrl, dataDir }: Config): Generator<Finding> {
  const pathOf = (name: string) => join(dataDir, name)
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

/** Checks that DATA_DIR is writable and has free space. If it is missing, checks the nearest folder above it. */
export async function* checkDisk({ dataDir }: Config): Findings {
  let folder = resolve(dataDir)
  while (!existsSync(folder)) folder = dirname(folder)
  const probe = join(folder, `doctor-${randomUUID()}`)
  try {
    await writeFile(probe, '', { mode: 0o600, flag: 'wx' })
    await rm(probe)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    return yield found('files.unwritable', `${folder} is not writable${code}`)
  }
  const { bavail, bsize } = await statfs(folder)
  yield judgeRoom(folder, bavail * bsize)
}

/** Creates the finding about the free space of a disk. @param bytes the free space */
export function judgeRoom(folder: string, bytes: number): Finding {
  const sentence = `The disk that holds ${folder} has ${Math.floor(bytes / MEBIBYTE)} MiB free`
  if (bytes < ROOM_BYTES_MIN) return found('files.no-room', sentence)
  if (bytes < ROOM_BYTES_WANTED) return found('files.little-room', sentence)
  return ok(`${sentence}.`)
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

/** Checks that metrics can be served, and only at a loopback address. No-op without metrics. */
export async function* checkMetrics({ metricsAddress }: Config): Findings {
  if (!metricsAddress) return
  const { host, port } = metricsAddress
  const url = `http://${host.includes(':') ? `[${host}]` : host}:${port}`
  yield await checkPort(host, port, url)
  const sentence = `Metrics are served without authentication at ${url}, which is not a loopback address`
  if (!isLoopbackUrl(url)) yield found('metrics.exposed', sentence)
}

/** Checks that the port is free, or that a running Gatehouse serves metrics on it. */
async function checkPort(host: string, port: number, url: string): Promise<Finding> {
  const address = url + metricsPath
  const server = createServer()
  try {
    await once(server.listen(port, host), 'listening')
    server.close()
    return ok(`Metrics can be served at ${address}.`)
  } catch (error) {
    const code = Object(error).code
    const isTaken = code === 'EADDRINUSE'
    if (isTaken && (await answersMetrics(address)))
      return ok(`A running service serves metrics at ${address}.`)
    const why = isTaken ? 'another program uses the port' : String(code)
    return found('metrics.port', `Metrics cannot be served at ${address}: ${why}`)
  }
}

async function answersMetrics(address: string): Promise<boolean> {
  try {
    const response = await fetch(address, { signal: AbortSignal.timeout(REACH_TIMEOUT_MS) })
    return (await response.text()).includes('gatehouse_build_info')
  } catch {
    return false
  }
}

/** Sends an empty batch to the trace collector, if configured. Reports a missing response, 404 and 5xx as errors. */
export async function* checkCollector({ traces }: Config): Findings {
  if (!traces) return
  const name = `The trace collector at ${new URL(traces.address).origin}`
  try {
    const headers = { 'content-type': 'application/x-protobuf' }
    const signal = AbortSignal.timeout(REACH_TIMEOUT_MS)
    const { status } = await fetch(traces.address, { method: 'POST', headers, body: '', signal })
    // A collector may require a key that only the exporter has, so accept 401.
    if (status < 500 && status !== 404) return yield ok(`${name} responds.`)
    yield found('traces.collector', `${name} responds with status ${status}`)
  } catch {
    yield found('traces.collector', `${name} is not reachable`)
  }
}

/** Signs in to the mail server. If there is none, reports mail stored in files, except for a loopback BASE_URL. */
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
  const mail = await waitingMessages(database, 'mail')
  const { count, oldestAt = now(), error = 'not tried yet' } = mail
  const minutes = Math.floor((now() - oldestAt) / 60_000)
  if (minutes < WAITING_MINUTES_MAX) return
  const waiting = count === 1 ? '1 message waits' : `${count} messages wait`
  const sentence = `${waiting}, the oldest for ${minutes} minutes (last error: ${error})`
  yield found('mail.waiting', sentence)
}

/** Reports if X-Forwarded-For is trusted from every caller, or was ignored in the last day. */
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
