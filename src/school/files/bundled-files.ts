import { createReadStream } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'

import { FileMissing } from './file-storage.ts'
import type { Files } from './open-file-storage.ts'
import { receiveDraft } from './receive-draft.ts'
import { storageKey } from './storage-key.ts'

/** Far more than a file of a demo campus has. */
const BUNDLED_BYTES_MAX = 10_000_000
const READ_SECONDS_MAX = 60

/**
 * Keeps the files of a folder, each under the id that is its name, unless they are kept already: what
 * an import says of a file are words, and these are its bytes.
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
