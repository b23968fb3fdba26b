import { createHash, randomUUID } from 'node:crypto'
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
import { type FileKind, HEAD_BYTES, kindOf, mediaTypes } from './file-kinds.ts'
import type { Draft } from './file-storage.ts'

export interface Receiving {
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
export async function receiveDraft(stream: Readable, receiving: Receiving): Promise<Draft> {
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
