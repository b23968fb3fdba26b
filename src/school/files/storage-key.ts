import { createHash } from 'node:crypto'

/**
 * Where a storage has the bytes of a file. Ids may come from an import, and some disks do not tell
 * capital letters from small ones: the digest of an id is safe in a path, whatever the id is.
 */
export function storageKey(fileId: string): string {
  return createHash('sha256').update(fileId).digest('hex')
}
