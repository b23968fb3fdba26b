/** Creates the shared parts of the school: files, downloads, new members, webhooks and post delivery. */

import { join } from 'node:path'

import type { Config } from '../config/config.ts'
import type { Platform } from '../platform/platform.ts'
import { makeDownloadLinks } from './files/download-links.ts'
import { downloadRoutes } from './files/download-routes.ts'
import { openFiles } from './files/file-storage.ts'
import { storeBundledFiles } from './files/receive-file.ts'
import { makeNewcomers } from './members/joining.ts'
import { postDelivery } from './posts/delivery.ts'
import { type DeliveryPorts, webhookHandler } from './webhooks/deliver-webhook.ts'
import { makeWebhookEndpoints } from './webhooks/webhook-endpoints.ts'

export type School = Awaited<ReturnType<typeof makeSchool>>

/** Opens the file storage, and creates the other shared parts. The first of `keys` signs download links. */
export async function makeSchool(
  { baseUrl, dataDir, filesS3, service, demoFolder }: Config,
  platform: Platform,
  { keys, seals }: Pick<DeliveryPorts, 'seals'> & { readonly keys: readonly Buffer[] },
) {
  const { database, logger, now, fetch } = platform
  const files = await openFiles(dataDir, filesS3, now())
  const seconds = service.files.downloadSeconds
  const downloadLinks = makeDownloadLinks({ keys, baseUrl, seconds, now })
  return {
    files,
    createMember: makeNewcomers(database, now),
    downloadAddress: downloadLinks.addressFor,
    downloadRoutes: downloadRoutes({ database, downloadLinks, files }),
    webhooks: makeWebhookEndpoints(database, seals),
    webhookHandler: webhookHandler({ database, fetch, now, seals }),
    delivery: postDelivery(platform, service.posts.deliverySeconds),
    storeDemoFiles: async () => await storeBundledFiles(files, join(demoFolder, 'files'), logger),
  }
}
