import { mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'

import { storageUnavailable } from '../../platform/http/errors.ts'
import { FileMissing, type FileStorage } from './file-storage.ts'

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
