import { createHash, randomUUID } from 'node:crypto'
import { existsSync } from 'node:fs'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { buffer } from 'node:stream/consumers'

import { type S3Location, s3Storage } from '../../school/files/s3-storage.ts'
import { type Finding, found, ok } from './checks.ts'

const MEBIBYTE = 1024 * 1024
const ROOM_BYTES_MIN = 100 * MEBIBYTE
const ROOM_BYTES_WANTED = 1024 * MEBIBYTE

/** Looks at the disk of DATA_DIR, and at the bucket where there is one. */
export async function lookAtFiles(place: {
  readonly dataDir: string
  readonly filesS3: S3Location | undefined
}): Promise<Finding[]> {
  const disk = await lookAtDisk(place.dataDir)
  return place.filesS3 ? [...disk, await lookAtBucket(place.filesS3)] : disk
}

async function lookAtDisk(dataDir: string): Promise<Finding[]> {
  let folder = resolve(dataDir)
  while (!existsSync(folder)) folder = dirname(folder)
  const probe = join(folder, `doctor-${randomUUID()}`)
  try {
    await writeFile(probe, '', { mode: 0o600, flag: 'wx' })
    await rm(probe)
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? ` (${error.code})` : ''
    return [found('files.unwritable', `Nothing can be written into ${folder}${code}`)]
  }
  const { bavail, bsize } = await statfs(folder)
  return [judgeRoom(folder, bavail * bsize)]
}

/** @param bytes what is free on the disk of the folder */
export function judgeRoom(folder: string, bytes: number): Finding {
  const sentence = `The disk of ${folder} has ${Math.floor(bytes / MEBIBYTE)} MiB left`
  if (bytes < ROOM_BYTES_MIN) return found('files.no-room', sentence)
  if (bytes < ROOM_BYTES_WANTED) return found('files.little-room', sentence)
  return ok(`${sentence}.`)
}

/** Writes an object of its own into the bucket, reads it, and takes it out again. */
async function lookAtBucket(location: S3Location): Promise<Finding> {
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
    if (read.equals(content)) return ok(`The bucket ${location.bucket} keeps what it is given.`)
    return found('files.bucket', `The bucket ${location.bucket} gave back other bytes`)
  } catch (error) {
    const { cause } = error as { cause?: unknown }
    const said = cause instanceof Error ? cause.message : String(error)
    return found('files.bucket', `The bucket ${location.bucket} cannot be used: ${said}`)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
