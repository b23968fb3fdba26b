/**
 * The room of what a school has: courses, people of a site with their roles, what it sells, announcements, files,
 * figures, and what a member sees of it. How programs and people reach it are the rooms `api` and `pages`.
 */

import { join } from 'node:path'

import type { Config } from '../config/config.ts'
import type { Platform } from '../platform/platform.ts'
import type { BackgroundTask } from '../platform/process/background-tasks.ts'
import { keepBundledFiles } from './files/bundled-files.ts'
import { downloadRoutes } from './files/download-routes.ts'
import { makeFiles } from './files/files.ts'
import { makePostDelivery } from './posts/delivery.ts'

export type School = Awaited<ReturnType<typeof makeSchool>>

/** @param downloadKeys keys that sign the addresses of downloads, the current one first */
export async function makeSchool(
  { baseUrl, dataDir, filesS3, service, demoFolder }: Config,
  platform: Platform,
  downloadKeys: readonly Buffer[],
) {
  const { database, logger, now } = platform
  const { files, uploadLimits, downloadLinks, downloadAddress } = await makeFiles(
    { baseUrl, dataDir, filesS3, service: { files: service.files } },
    { downloadKeys, now },
  )
  const delivery: BackgroundTask = {
    name: 'posts',
    everySeconds: service.posts.deliverySeconds,
    run: makePostDelivery({ database, now }),
    onlyWhen: platform.sweeps,
  }
  return {
    files,
    uploadLimits,
    downloadAddress,
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
