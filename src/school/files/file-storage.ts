/** Files of sites: their bytes behind one small port, and what is known of each. Which address serves one is not known here. */

import { createHash } from 'node:crypto'
import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Readable } from 'node:stream'

import { storageUnavailable } from '../../platform/http/errors.ts'

/**
 * Where the bytes of files are. A key is made by `storageKey` and holds nothing that a person chose.
 * What goes wrong is thrown as storageUnavailable, except that a file is not there.
 */
export interface FileStorage {
  /** Keeps what the draft holds, whole or not at all; the draft may be gone afterwards. */
  put(key: string, draft: Draft): Promise<void>
  /** @throws FileMissing */
  get(key: string, range?: ByteRange): Promise<Readable>
  /** Removes what is there; that nothing is there is no error. */
  remove(key: string): Promise<void>
}

/**
 * An upload that was read to its end, on the disk of this process: only then are its size, its digest
 * and its type known, which a storage wants to know before the first byte.
 */
export interface Draft extends AsyncDisposable {
  readonly path: string
  readonly sizeBytes: number
  /** SHA-256, in hexadecimal digits. */
  readonly sha256: string
  readonly mediaType: string
}

/** Both included, from 0. */
export interface ByteRange {
  readonly start: number
  readonly end: number
}

/** The storage has no file under this key, although the database says that there is one. */
export class FileMissing extends Error {
  override readonly name = 'FileMissing'
}

/** Where the files of this service are, and where uploads are written until they are known. */
export interface Files {
  readonly storage: FileStorage
  /** On the disk of the storage, when that is one, so that a draft needs only another name. */
  readonly draftFolder: string
}

/**
 * Where a storage has the bytes of a file. Ids may come from an import, and some disks do not tell
 * capital letters from small ones: the digest of an id is safe in a path, whatever the id is.
 */
export function storageKey(fileId: string): string {
  return createHash('sha256').update(fileId).digest('hex')
}

/** Files in a folder of this machine, which all processes of the service have to share. */
export function diskStorage(folder: string): FileStorage {
  // Folders with a hundred thousand entries are slow on some disks.
  const pathOf = (key: string) => join(folder, key.slice(0, 2), key)
  return {
    async put(key, { path }) {
      const place = pathOf(key)
      await orUnavailable(async () => {
        await mkdir(dirname(place), { recursive: true, mode: 0o700 })
        await rename(path, place)
        await persistFolder(dirname(place))
      })
    },
    async get(key, range) {
      const handle = await orUnavailable(async () => await open(pathOf(key), 'r'))
      return handle.createReadStream(range)
    },
    remove: async (key) => await orUnavailable(async () => await rm(pathOf(key), { force: true })),
  }
}

/** A new name is on the disk when its folder is. */
async function persistFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function orUnavailable<Result>(work: () => Promise<Result>): Promise<Result> {
  try {
    return await work()
  } catch (cause) {
    if (cause instanceof Error && 'code' in cause && cause.code === 'ENOENT') {
      throw new FileMissing('the file is not on the disk', { cause })
    }
    throw storageUnavailable(cause)
  }
}
