import { join } from 'node:path'

import { diskStorage } from './disk-storage.ts'
import type { FileStorage } from './file-storage.ts'
import { removeStaleDrafts } from './receive-draft.ts'
import { type S3Location, s3Storage } from './s3-storage.ts'

export interface FileSettings {
  readonly dataDir: string
  /** Without one, files are on the disk. */
  readonly filesS3: S3Location | undefined
  readonly now: () => number
}

/** Where the files of this service are, and where uploads are written until they are known. */
export interface Files {
  readonly storage: FileStorage
  /** On the disk of the storage, when that is one, so that a draft needs only another name. */
  readonly draftFolder: string
}

/** Opens the storage of files; folders are made when something is written into them. */
export async function openFiles({ dataDir, filesS3, now }: FileSettings): Promise<Files> {
  const folder = join(dataDir, 'files')
  const draftFolder = join(folder, 'drafts')
  await removeStaleDrafts(draftFolder, now())
  return { storage: filesS3 ? s3Storage(filesS3) : diskStorage(folder), draftFolder }
}
