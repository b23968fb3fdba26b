/**
 * The room of what a school has: courses, people of a site with their roles, what it sells, announcements, files,
 * figures, and what a member sees of it. How programs and people reach it are the rooms `api` and `pages`.
 */

import { join } from 'node:path'

import type { Platform } from '../platform/platform.ts'
import type { BackgroundTask } from '../platform/process/background-tasks.ts'
import { keepBundledFiles } from './files/bundled-files.ts'
import { downloadRoutes } from './files/download-routes.ts'
import { type FileConfiguration, makeFiles } from './files/files.ts'
import { makePostDelivery } from './posts/delivery.ts'

export interface SchoolSettings extends FileConfiguration {
  /** Keys that sign the addresses of downloads, the current one first. */
  readonly downloadKeys: readonly Buffer[]
  readonly deliverySeconds: number
  /** Whether this process does what one of the processes of a host does for all. */
  readonly sweeps: (() => boolean) | undefined
}

export type School = Awaited<ReturnType<typeof makeSchool>>

export async function makeSchool(platform: Platform, settings: SchoolSettings) {
  const { database, logger, now } = platform
  const { files, uploadLimits, downloadLinks, downloadAddress } = await makeFiles(settings, {
    downloadKeys: settings.downloadKeys,
    now,
  })
  const delivery: BackgroundTask = {
    name: 'posts',
    everySeconds: settings.deliverySeconds,
    run: makePostDelivery({ database, now }),
    onlyWhen: settings.sweeps,
  }
  return {
    files,
    uploadLimits,
    downloadAddress,
    downloadRoutes: downloadRoutes({ database, downloadLinks, files }),
    delivery,
    /** Keeps the files of the demo campus. Without them the demo still serves. */
    async keepDemoFiles(demoFolder: string): Promise<void> {
      await keepBundledFiles(files, join(demoFolder, 'files')).catch((cause) =>
        logger.warn({ cause: String(cause) }, 'the files of the demo campus could not be kept'),
      )
    },
  }
}
