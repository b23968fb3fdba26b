/** What browsers fetch of a site's files: downloads of members, logos, colors. Who uploads them is the Admin API's. */

import type Router from 'koa-router'

import { findLogo } from '../../directory/sites/find-look.ts'
import { findColorSheet } from '../../directory/sites/site-look.ts'
import { methodNotAllowed, nothingHere } from '../../platform/http/errors.ts'
import { pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { Database } from '../../platform/store/database.ts'
import type { DownloadLinks } from './download-links.ts'
import { findDownload } from './find-download.ts'
import { NOTHING_RUNS, openFile, type SendPorts, sendDownload } from './send-file.ts'

export interface DownloadRoutesPorts extends SendPorts {
  readonly database: Database
  readonly downloadLinks: Pick<DownloadLinks, 'open'>
}

/** Its address holds a digest of the content, so that it may be kept for ever. */
const FOR_EVER = 'public, max-age=31536000, immutable'

/** GET of a download, a logo, and the colors of a site. No cookie is read at any of them. */
export function downloadRoutes(ports: DownloadRoutesPorts): Router {
  const router = makeRouter()
  for (const address of [pages.download, pages.siteLogo, pages.siteColors]) {
    router.post(address, (ctx) => {
      ctx.set('Allow', 'GET, HEAD')
      throw methodNotAllowed('GET')
    })
  }

  router.get(pages.download, async (ctx) => {
    const { token = '', name = '' } = ctx['params']
    const link = ports.downloadLinks.open(token, name)
    const found = link && (await findDownload(ports.database, link))
    if (!found) throw nothingHere()
    await sendDownload(ctx, found, ports)
  })

  router.get(pages.siteLogo, async (ctx) => {
    const { site = '', digest = '' } = ctx['params']
    const logo = await findLogo(ports.database, site, digest)
    if (!logo) throw nothingHere()
    ctx.set({ 'Cache-Control': FOR_EVER, 'Content-Security-Policy': NOTHING_RUNS })
    ctx.status = 200
    ctx.type = logo.mediaType
    ctx.length = logo.sizeBytes
    if (ctx.method !== 'HEAD') ctx.body = await openFile(ctx, ports, { fileId: logo.fileId })
  })

  router.get(pages.siteColors, (ctx) => {
    const sheet = findColorSheet(String(ctx['params']['file']))
    if (!sheet) throw nothingHere()
    ctx.set('Cache-Control', FOR_EVER)
    ctx.type = 'css'
    ctx.body = sheet.content
  })
  return router
}
