/** Stores the bytes of files on disk or in S3, but not their names, owners or URLs. */

import { createHash } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'

import { AwsClient } from 'aws4fetch'

import type { Config } from '../../config/config.ts'
import { storageUnavailable } from '../../platform/http/errors.ts'

/** Stores bytes under keys from `storageKey`. All methods throw `storageUnavailable` if the storage fails. */
export interface FileStorage {
  /** Stores the content of a draft, completely or not at all. May move the draft instead of copying it. */
  put(key: string, draft: Draft): Promise<void>
  /** Reads a file, or a range of it. @throws FileMissing */
  get(key: string, range?: ByteRange): Promise<Readable>
  /** Removes a file. No-op if it does not exist. */
  remove(key: string): Promise<void>
}

/** A complete upload on the local disk. S3 needs the size and digest before the first byte. */
export interface Draft extends AsyncDisposable {
  readonly path: string
  readonly sizeBytes: number
  /** SHA-256 of the content, in hexadecimal. */
  readonly sha256: string
  readonly mediaType: string
}

/** A range of bytes, counted from 0, with both ends inclusive. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

export class FileMissing extends Error {
  override readonly name = 'FileMissing'
}

export interface Files {
  readonly storage: FileStorage
  /** The folder that all hosts must share; undefined for S3. */
  readonly sharedFolder: string | undefined
  /** The folder for drafts. It is on the same disk as stored files, so disk storage only renames a draft. */
  readonly draftFolder: string
}

/** The minimum age of the drafts that `openFiles` removes. No upload takes this long. */
const STALE_MS = 86_400_000

/** Opens the storage, and removes drafts older than `STALE_MS`, which crashed processes left behind. */
export async function openFiles(dataDir: string, s3: S3Location | undefined, nowMs: number) {
  const folder = join(dataDir, 'files')
  const draftFolder = join(folder, 'drafts')
  for (const name of await readdir(draftFolder).catch(() => [])) {
    const path = join(draftFolder, name)
    const found = await stat(path).catch(() => undefined)
    if (found && found.mtimeMs < nowMs - STALE_MS) await rm(path, { force: true })
  }
  const storage = s3 ? s3Storage(s3) : diskStorage(folder)
  return { storage, sharedFolder: s3 ? undefined : folder, draftFolder }
}

/** Returns the storage key of a file: the SHA-256 digest of its id, in hexadecimal. */
export function storageKey(fileId: string): string {
  return createHash('sha256').update(fileId).digest('hex')
}

/** Returns the path of a file below the storage folder. Subfolders keep the number of entries per folder small. */
export function diskPath(key: string): string {
  return join(key.slice(0, 2), key)
}

/** Creates the storage on disk. All processes of the service must share the folder. */
function diskStorage(folder: string): FileStorage {
  const pathOf = (key: string) => join(folder, diskPath(key))
  return {
    async put(key, { path }) {
      const place = pathOf(key)
      await onDisk(async () => {
        await mkdir(dirname(place), { recursive: true, mode: 0o700 })
        await rename(path, place)
        await persistFolder(dirname(place))
      })
    },
    async get(key, range) {
      const handle = await onDisk(async () => await open(pathOf(key), 'r'))
      return handle.createReadStream(range)
    },
    remove: async (key) => await onDisk(async () => await rm(pathOf(key), { force: true })),
  }
}

/** Syncs a folder to disk. Otherwise, a crash could undo the rename of a file in it. */
async function persistFolder(folder: string): Promise<void> {
  await using handle = await open(folder, 'r')
  await handle.sync()
}

/** Runs file system calls. @throws FileMissing for ENOENT, and `storageUnavailable` for any other failure */
export async function onDisk<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') {
      throw new FileMissing('the file is not on the disk', { cause })
    }
    throw storageUnavailable(cause)
  }
}

/** The endpoint and credentials of an S3-compatible service. The bucket is the first path segment. */
export type S3Location = NonNullable<Config['filesS3']>

const s3Limits = {
  /** The time limit for the response headers, not counting the upload. Reading the body may take longer. */
  answerMs: 20_000,
  /** The speed from which the time limit for an upload is computed: 1 Mbit/s. */
  uploadBytesPerSecondMin: 125_000,
}

/** Creates the storage in S3, with one object per file. Signs requests with Signature Version 4. */
export function s3Storage(location: S3Location, limits = s3Limits): FileStorage {
  const { endpoint, bucket, ...credentials } = location
  const client = new AwsClient({ ...credentials, service: 's3', retries: 0 })
  const ask = async (key: string, { draft, ...request }: Asking) => {
    const giveUp = new AbortController()
    const uploadMs = ((draft?.sizeBytes ?? 0) / limits.uploadBytesPerSecondMin) * 1000
    const timer = setTimeout(() => giveUp.abort(), limits.answerMs + uploadMs)
    try {
      return await client.fetch(`${endpoint}/${bucket}/${key}`, {
        ...request,
        // S3 requires Content-Length. A blob from openAsBlob has a known size, although its content is streamed.
        ...(draft && { body: await openAsBlob(draft.path) }),
        redirect: 'error',
        signal: giveUp.signal,
      })
    } catch (cause) {
      throw storageUnavailable(cause)
    } finally {
      clearTimeout(timer)
    }
  }
  const send = async (key: string, asking: Asking, tolerated?: number) => {
    const response = await ask(key, asking)
    await response.body?.cancel()
    if (!response.ok && response.status !== tolerated) throw refusedBy(response)
  }
  return {
    async put(key, draft) {
      // Sign the digest of the content, so the storage rejects a corrupted upload.
      const headers = { 'content-type': draft.mediaType, 'x-amz-content-sha256': draft.sha256 }
      await send(key, { method: 'PUT', headers, draft })
    },
    async get(key, range) {
      const headers = range && { range: `bytes=${range.start}-${range.end}` }
      const response = await ask(key, { method: 'GET', ...(headers && { headers }) })
      if (response.ok && response.body) return Readable.fromWeb(response.body)
      await response.body?.cancel()
      if (response.status === 404) throw new FileMissing('the bucket has no such object')
      throw refusedBy(response)
    },
    remove: async (key) => await send(key, { method: 'DELETE' }, 404),
  }
}

interface Asking {
  readonly method: 'GET' | 'PUT' | 'DELETE'
  readonly headers?: Record<string, string>
  readonly draft?: Draft
}

function refusedBy({ status }: Response) {
  return storageUnavailable(new Error(`the file storage responded with ${status}`))
}
