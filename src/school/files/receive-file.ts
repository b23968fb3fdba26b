import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

import {
  badUpload,
  bodyTooLarge,
  storageUnavailable,
  unsupportedFile,
  uploadTooSlow,
} from '../../platform/http/errors.ts'
import type { Database } from '../../platform/store/database.ts'
import type { SiteActor } from '../changes/change.ts'
import { type FileKind, fitsName, HEAD_BYTES, kindOf, mediaTypes } from './file-kinds.ts'
import { type Draft, FileMissing, type Files, storageKey } from './file-storage.ts'
import { keepFile, readFileName, type SiteLimits } from './stored-files.ts'

export interface UploadLimits extends SiteLimits {
  readonly fileBytesMax: number
  /** How long a sender may take for one. */
  readonly uploadSeconds: number
}

interface Upload {
  readonly stream: Readable
  readonly name: string | undefined
  /** The Content-Type that its sender declares, if any. */
  readonly declaredType: string
  readonly files: Files
  readonly limits: UploadLimits
}

/**
 * Receives a file and keeps it at the actor's site. What breaks off or is refused leaves nothing.
 *
 * @throws what `receiveDraft` and `keepFile` throw, and unsupportedFile when type or name say another
 * kind than the bytes
 */
export async function receiveFile(database: Database, actor: SiteActor, upload: Upload) {
  const { stream, declaredType: declared, files, limits } = upload
  const name = readFileName(upload.name)
  await using draft = await receiveDraft(stream, {
    folder: files.draftFolder,
    bytesMax: limits.fileBytesMax,
    seconds: limits.uploadSeconds,
    check: (kind) => mustFit(kind, { name, declared }),
  })
  return await keepFile(database, actor, { draft, name }, { storage: files.storage, limits })
}

/** Types that say nothing of the content. */
const UNDECLARED = ['', 'application/octet-stream']

/** Type and name have to say what the bytes are, because people and programs go by them later. */
function mustFit(kind: FileKind, { name, declared }: { name: string; declared: string }): void {
  const { mediaType, extensions } = kind
  if (!UNDECLARED.includes(declared) && declared.toLowerCase() !== mediaType) {
    throw unsupportedFile(`its bytes are ${mediaType}, and its Content-Type says ${declared}`)
  }
  if (fitsName(kind, name)) return
  const ends = extensions.map((extension) => `.${extension}`).join(' or ')
  throw unsupportedFile(`its bytes are ${mediaType}, and its name does not end in ${ends}`)
}

/** Far more than a file of a demo campus has. */
const BUNDLED_BYTES_MAX = 10_000_000
const READ_SECONDS_MAX = 60

/**
 * Keeps the files of a folder, each under the id that is its name, unless they are kept already. The
 * demo campus describes files, and these are their bytes.
 *
 * @throws storageUnavailable, or refusals of a file that is none of the kinds that are kept
 */
export async function keepBundledFiles(
  { storage, draftFolder }: Files,
  folder: string,
): Promise<void> {
  for (const id of await readdir(folder)) {
    const key = storageKey(id)
    if (await isKept(storage, key)) continue
    await using draft = await receiveDraft(createReadStream(join(folder, id)), {
      folder: draftFolder,
      bytesMax: BUNDLED_BYTES_MAX,
      seconds: READ_SECONDS_MAX,
      check: () => {},
    })
    await storage.put(key, draft)
  }
}

async function isKept(storage: Files['storage'], key: string): Promise<boolean> {
  try {
    const stream = await storage.get(key, { start: 0, end: 0 })
    stream.destroy()
    return true
  } catch (error) {
    if (error instanceof FileMissing) return false
    throw error
  }
}

interface Receiving {
  /** Where drafts are written. */
  readonly folder: string
  readonly bytesMax: number
  /** How long the sender may take. */
  readonly seconds: number
  /** Refuses a kind that is not what its sender says. */
  readonly check: (kind: FileKind) => void
}

/**
 * Reads an upload to its end into a file without a name of anybody's, piece by piece. Its type is
 * found in the first bytes, before any is written.
 *
 * @throws bodyTooLarge, unsupportedFile, uploadTooSlow or badUpload, and then nothing is left of it
 */
async function receiveDraft(stream: Readable, receiving: Receiving): Promise<Draft> {
  const { folder } = receiving
  const path = join(folder, randomUUID())
  await using opening = new AsyncDisposableStack()
  opening.defer(async () => await rm(path, { force: true }))
  const handle = await openDraft(folder, path)
  const content = await receiveInto(handle, stream, receiving)
  const kept = opening.move()
  return { path, ...content, [Symbol.asyncDispose]: () => kept.disposeAsync() }
}

async function openDraft(folder: string, path: string): Promise<FileHandle> {
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return await open(path, 'wx', 0o600)
  } catch (cause) {
    throw storageUnavailable(cause)
  }
}

async function receiveInto(handle: FileHandle, stream: Readable, receiving: Receiving) {
  const { bytesMax, seconds, check } = receiving
  const hash = createHash('sha256')
  let sizeBytes = 0
  let kind: FileKind | undefined
  try {
    for await (const piece of inPieces(stream, seconds)) {
      sizeBytes += piece.length
      if (sizeBytes > bytesMax) throw bodyTooLarge(bytesMax)
      kind ??= checked(piece, check)
      hash.update(piece)
      await write(handle, piece)
    }
    if (!kind) throw badUpload('the body is empty')
    await handle.sync()
  } finally {
    await handle.close()
  }
  return { sizeBytes, sha256: hash.digest('hex'), mediaType: kind.mediaType }
}

async function write(handle: FileHandle, piece: Buffer): Promise<void> {
  try {
    await handle.writeFile(piece)
  } catch (cause) {
    throw storageUnavailable(cause)
  }
}

function checked(head: Buffer, check: Receiving['check']): FileKind {
  const kind = kindOf(head.subarray(0, HEAD_BYTES))
  if (!kind) throw unsupportedFile(`its bytes are none of ${mediaTypes.join(', ')}`)
  check(kind)
  return kind
}

/**
 * What arrives; the first piece holds as many bytes as tell what it is, unless there are fewer. The
 * stream is left as it is when nobody reads on, because destroying it would lose the answer too.
 */
async function* inPieces(stream: Readable, seconds: number): AsyncGenerator<Buffer> {
  const late = new AbortController()
  const tooLate = delay(seconds * 1000, undefined, { signal: late.signal }).then(() => {
    throw uploadTooSlow(seconds)
  })
  // It is looked at only while something is waited for.
  tooLate.catch(() => {})
  const arriving = stream.iterator({ destroyOnReturn: false })
  let head: Buffer = Buffer.alloc(0)
  let begun = false
  try {
    for (;;) {
      const { done, value } = await Promise.race([nextOf(arriving), tooLate])
      if (done) break
      if (begun) yield value
      else {
        head = Buffer.concat([head, value])
        begun = head.length >= HEAD_BYTES
        if (begun) yield head
      }
    }
    if (!begun && head.length > 0) yield head
  } finally {
    late.abort()
  }
}

async function nextOf(arriving: AsyncIterator<Buffer>): Promise<IteratorResult<Buffer>> {
  try {
    return await arriving.next()
  } catch (cause) {
    throw Object.assign(badUpload('the upload ended before its last byte'), { cause })
  }
}

/** A draft this old belongs to a process that has died. */
const STALE_MS = 86_400_000

/** Removes what crashes have left. */
export async function removeStaleDrafts(folder: string, nowMs: number): Promise<void> {
  const names = await readdir(folder).catch(() => [])
  for (const name of names) {
    const path = join(folder, name)
    const found = await stat(path).catch(() => undefined)
    if (found && found.mtimeMs < nowMs - STALE_MS) await rm(path, { force: true })
  }
}
