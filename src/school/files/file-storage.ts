/** Files of sites: their bytes behind one small port, and what is known of each. Which address serves one is not known here. */

import type { Readable } from 'node:stream'

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
