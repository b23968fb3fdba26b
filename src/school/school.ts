/**
 * The room of what a school has: courses, people of a site with their roles, what it sells, announcements, files,
 * figures, and what a member sees of it. How programs and people reach it are the rooms `api` and `pages`.
 */

import { join } from 'node:path'

import type { Config } from '../config/config.ts'
import type { Platform } from '../platform/platform.ts'
import type { BackgroundTask } from '../platform/process/background-tasks.ts'
import { makeDownloadLinks } from './files/download-links.ts'
import { downloadRoutes } from './files/download-routes.ts'
import { diskStorage } from './files/file-storage.ts'
import { keepBundledFiles, removeStaleDrafts } from './files/receive-file.ts'
import { s3Storage } from './files/s3-storage.ts'
import { makePostDelivery } from './posts/delivery.ts'

export type School = Awaited<ReturnType<typeof makeSchool>>

/** @param downloadKeys keys that sign the addresses of downloads, the current one first */
export async function makeSchool(
  { baseUrl, dataDir, filesS3, service, demoFolder }: Config,
  platform: Platform,
  downloadKeys: readonly Buffer[],
) {
  const { database, logger, now } = platform
  const folder = join(dataDir, 'files')
  // On the disk of the storage, if that is one, so that a draft needs only another name.
  const draftFolder = join(folder, 'drafts')
  await removeStaleDrafts(draftFolder, now())
  const files = { storage: filesS3 ? s3Storage(filesS3) : diskStorage(folder), draftFolder }
  const seconds = service.files.downloadSeconds
  const downloadLinks = makeDownloadLinks({ keys: downloadKeys, baseUrl, seconds, now })
  const delivery: BackgroundTask = {
    name: 'posts',
    everySeconds: service.posts.deliverySeconds,
    run: makePostDelivery({ database, now }),
    onlyWhen: platform.sweeps,
  }
  return {
    files,
    uploadLimits: service.files,
    downloadAddress: downloadLinks.addressFor,
    downloadRoutes: downloadRoutes({ database, downloadLinks, files }),
    delivery,
    /** Keeps the files of the demo campus. Without them the demo still serves. */
    async keepDemoFiles(): Promise<void> {
      await keepBundledFiles(files, join(demoFolder, 'files')).catch((cause) =>
        logger.warn({ cause: String(cause) }, 'the files of the demo campus could not be kept'),
      )
    },
  }
}
