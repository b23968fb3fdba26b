import { createHash, randomUUID } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { type FileHandle, mkdir, open, readdir, rm } from 'node:fs/promises'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'

import type { Logger } from 'pino'
import { z } from 'zod'

import {
  badUpload,
  bodyTooLarge,
  storageUnavailable,
  unsupportedFile,
  uploadTooSlow,
} from '../../platform/http/errors.ts'
import type { Database } from '../../platform/store/database.ts'
import type { SiteActor } from '../changes/change.ts'
import { fileName, readInput } from '../changes/input.ts'
import {
  type FileKind,
  type FilePurpose,
  filePurposes,
  fitsName,
  HEAD_BYTES,
  kindOfFile,
  mediaTypes,
} from './file-kinds.ts'
import { type Draft, type Files, onDisk, storageKey } from './file-storage.ts'
import { mustShareFolder } from './shared-folder.ts'
import { type FileLimits, type Spend, storeFile } from './stored-files.ts'

export interface Upload {
  readonly stream: Readable
  readonly name: string | undefined
  /** The media type in the Content-Type header; empty if the header is missing. */
  readonly declaredType: string
  readonly files: Files
  readonly limits: FileLimits
  readonly purpose?: FilePurpose
  readonly spend?: Spend
  /** Throws if the change is not approved. Unless `keepsApproval` is set, uses up the approval. */
  readonly approve?: (name: string, keepsApproval: boolean) => Promise<void>
}

const naming = z.object({ name: fileName })

/**
 * Receives a file and stores it at the actor's site. If `approve` is set, demands an approval first, and uses it up
 * once the file is complete and valid. An aborted or rejected upload stores no file.
 *
 * @throws ChangeRefused for an invalid name, unsupportedFile if the name or type does not match the bytes, and the
 * errors of `mustShareFolder`, `receiveDraft`, `approve` and `storeFile`
 */
export async function receiveFile(database: Database, actor: SiteActor, upload: Upload) {
  const { stream, declaredType: declared, files, limits, purpose = 'DOWNLOAD' } = upload
  const { mediaTypes: accepted, bytesMax } = filePurposes[purpose]
  const { name } = readInput(naming, upload)
  if (files.sharedFolder) await mustShareFolder(database, files.sharedFolder, actor.now)
  await upload.approve?.(name, true)
  await using draft = await receiveDraft(stream, {
    folder: files.draftFolder,
    bytesMax: Math.min(limits.fileBytesMax, bytesMax),
    seconds: limits.uploadSeconds,
    check: (kind) => mustFit(kind, { name, declared, accepted }),
  })
  await upload.approve?.(name, false)
  const { storage } = files
  const { spend } = upload
  return await storeFile(database, actor, { draft, name }, { storage, limits, spend })
}

/** Media types that say nothing about the content. */
const UNDECLARED = ['', 'application/octet-stream']

interface Expected {
  readonly name: string
  readonly declared: string
  readonly accepted: readonly string[]
}

/** Throws `unsupportedFile` if the type is not accepted, or does not match the declared type or the extension. */
function mustFit(kind: FileKind, { name, declared, accepted }: Expected): void {
  const { mediaType, extensions } = kind
  if (!accepted.includes(mediaType)) {
    throw unsupportedFile(`its content is ${mediaType}; it must be one of ${accepted.join(', ')}`)
  }
  if (!UNDECLARED.includes(declared) && declared.toLowerCase() !== mediaType) {
    throw unsupportedFile(
      `its content is ${mediaType}, but its Content-Type is ${declared}; correct the Content-Type`,
    )
  }
  if (fitsName(kind, name)) return
  const ends = extensions.map((extension) => `.${extension}`).join(' or ')
  throw unsupportedFile(
    `its content is ${mediaType}, but its name does not end in ${ends}; rename it`,
  )
}

/** The maximum size of a demo file, in bytes. The actual files are much smaller. */
const BUNDLED_BYTES_MAX = 10_000_000
const READ_SECONDS_MAX = 60

/** Stores the files of the demo campus under their ids, and replaces earlier copies. Logs failures and never throws. */
export async function storeBundledFiles(
  { storage, draftFolder }: Files,
  folder: string,
  logger: Logger,
): Promise<void> {
  try {
    for (const id of await readdir(folder)) {
      await using draft = await receiveDraft(createReadStream(join(folder, id)), {
        folder: draftFolder,
        bytesMax: BUNDLED_BYTES_MAX,
        seconds: READ_SECONDS_MAX,
      })
      await storage.put(storageKey(id), draft)
    }
  } catch (cause) {
    logger.warn({ cause: String(cause) }, 'could not store demo files; fix the cause, then restart')
  }
}

interface Receiving {
  readonly folder: string
  readonly bytesMax: number
  readonly seconds: number
  /** Throws if the kind does not match the request. */
  readonly check?: (kind: FileKind) => void
}

/**
 * Streams an upload into a file with a random name. Checks the kind before it writes the first bytes.
 *
 * @throws bodyTooLarge, unsupportedFile, uploadTooSlow, badUpload or storageUnavailable, after removing the file
 */
async function receiveDraft(stream: Readable, receiving: Receiving): Promise<Draft> {
  const { folder } = receiving
  const path = join(folder, randomUUID())
  await using opening = new AsyncDisposableStack()
  opening.defer(async () => await rm(path, { force: true }))
  const handle = await onDisk(async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return await open(path, 'wx', 0o600)
  })
  const content = await receiveInto(handle, stream, receiving)
  const removing = opening.move()
  return { path, ...content, [Symbol.asyncDispose]: () => removing.disposeAsync() }
}

async function receiveInto(opened: FileHandle, stream: Readable, receiving: Receiving) {
  await using handle = opened
  const { bytesMax, seconds, check } = receiving
  const hash = createHash('sha256')
  let sizeBytes = 0
  let kind: FileKind | undefined
  for await (const piece of uploadPieces(stream, seconds)) {
    sizeBytes += piece.length
    if (sizeBytes > bytesMax) throw bodyTooLarge(bytesMax)
    kind ??= detectKind(piece, check)
    hash.update(piece)
    await handle.writeFile(piece).catch((cause: unknown) => {
      throw storageUnavailable(cause)
    })
  }
  if (!kind) throw badUpload('the body is empty; send the bytes of the file')
  await handle.sync()
  return { sizeBytes, sha256: hash.digest('hex'), mediaType: kind.mediaType }
}

function detectKind(head: Buffer, check: Receiving['check']): FileKind {
  const kind = kindOfFile(head.subarray(0, HEAD_BYTES))
  if (!kind)
    throw unsupportedFile(`its content has none of the supported types: ${mediaTypes.join(', ')}`)
  check?.(kind)
  return kind
}

/**
 * Yields the upload in pieces. The first piece suffices to detect the kind. Does not destroy the stream of an
 * incomplete upload, because that would also destroy the response. Throws uploadTooSlow and badUpload.
 */
async function* uploadPieces(stream: Readable, seconds: number): AsyncGenerator<Buffer> {
  const late = new AbortController()
  const tooLate = delay(seconds * 1000, undefined, { signal: late.signal }).then(() => {
    throw uploadTooSlow(seconds)
  })
  // Handle this rejection here, because outside the race below it would be unhandled.
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
    throw Object.assign(badUpload('the upload was interrupted; send the whole file again'), {
      cause,
    })
  }
}
