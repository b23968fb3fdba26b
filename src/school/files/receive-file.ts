import type { Readable } from 'node:stream'

import { unsupportedFile } from '../../platform/http/errors.ts'
import type { Database } from '../../platform/store/database.ts'
import type { SiteActor } from '../changes/change.ts'
import { type FileKind, fitsName } from './file-kinds.ts'
import type { Files } from './open-file-storage.ts'
import { receiveDraft } from './receive-draft.ts'
import { keepFile, readFileName, type SiteLimits } from './stored-files.ts'

export interface UploadLimits extends SiteLimits {
  readonly fileBytesMax: number
  /** How long a sender may take for one. */
  readonly uploadSeconds: number
}

/** A file on its way here. */
export interface Upload {
  readonly stream: Readable
  readonly name: string | undefined
  /** What its sender says that it is, if anything. */
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
  return await keepFile(database, actor, { draft, name, storage: files.storage, limits })
}

/** What says nothing of what it is sent with. */
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
