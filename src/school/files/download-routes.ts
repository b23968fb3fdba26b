/** Serves the downloads of members, and the logos and colors of sites. Uploads are part of the Admin API. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import { findColorSheet, findLogo } from '../../directory/sites/site-look.ts'
import { methodNotAllowed, nothingHere } from '../../platform/http/errors.ts'
import { pages } from '../../platform/http/paths.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import type { Database } from '../../platform/store/database.ts'
import { type Download, type DownloadLinks, findDownload } from './download-links.ts'
import { type ByteRange, FileMissing, type Files, storageKey } from './file-storage.ts'

interface DownloadRoutesPorts {
  readonly files: Files
  readonly database: Database
  readonly downloadLinks: Pick<DownloadLinks, 'open'>
}

/** The Cache-Control header for URLs that contain a digest of the content, so the content never changes. */
const IMMUTABLE = 'public, max-age=31536000, immutable'

/** Creates the routes for downloads, logos and site colors. None of them reads a cookie. */
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
    await sendStoredFile(ctx, found, ports.files)
  })

  router.get(pages.siteLogo, async (ctx) => {
    const { site = '', digest = '' } = ctx['params']
    const logo = await findLogo(ports.database, site, digest)
    if (!logo) throw nothingHere()
    ctx.set({ 'Cache-Control': IMMUTABLE, 'Content-Security-Policy': FILE_POLICY })
    ctx.status = 200
    ctx.type = logo.mediaType
    ctx.length = logo.sizeBytes
    ctx.body = await openFile(ctx, ports.files, logo.fileId)
  })

  router.get(pages.siteColors, (ctx) => {
    const sheet = findColorSheet(String(ctx['params']['file']))
    if (!sheet) throw nothingHere()
    ctx.set('Cache-Control', IMMUTABLE)
    ctx.type = 'css'
    ctx.body = sheet.content
  })
  return router
}

/** A Content-Security-Policy that disables active content if a browser opens the file as a page (CSP3, `sandbox`). */
const FILE_POLICY = "default-src 'none'; sandbox; frame-ancestors 'none'"

/** Sends a file, or a range of it, as an attachment. Browsers save it instead of showing it. */
async function sendStoredFile(
  ctx: Context,
  { fileId, name, mediaType, sizeBytes, sha256 }: Download,
  files: Files,
): Promise<void> {
  const etag = `"${sha256}"`
  ctx.set({
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-store',
    'Content-Security-Policy': FILE_POLICY,
    ETag: etag,
  })
  // Clients without support for `filename*` get ASCII without the characters that some clients decode or unescape.
  const fallback = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  ctx.attachment(name.toWellFormed(), { fallback })
  ctx.type = mediaType
  // Ignore the range if If-Range names another version of the file (RFC 9110 §13.1.5).
  const isSame = ['', etag].includes(ctx.get('If-Range'))
  const range = isSame ? rangeOf(ctx.get('Range'), sizeBytes) : undefined
  if (range === 'beyond') {
    ctx.status = 416
    ctx.remove('Content-Disposition')
    ctx.set('Content-Range', `bytes */${sizeBytes}`)
    ctx.body = ''
    return
  }
  ctx.status = range ? 206 : 200
  if (range) ctx.set('Content-Range', `bytes ${range.start}-${range.end}/${sizeBytes}`)
  ctx.length = range ? range.end - range.start + 1 : sizeBytes
  ctx.body = await openFile(ctx, files, fileId, range)
}

/** Opens a file in the storage. If the file is missing, logs the cause and throws `nothingHere`. */
async function openFile(ctx: Context, files: Files, fileId: string, range?: ByteRange) {
  try {
    return await files.storage.get(storageKey(fileId), range)
  } catch (error) {
    if (!(error instanceof FileMissing)) throw error
    logFields(ctx).cause = error
    ctx.remove('Content-Disposition')
    throw nothingHere()
  }
}

/**
 * Parses a Range header with a single range (RFC 9110 §14). Returns `beyond` if the file has no byte in the range.
 * Returns undefined if there is no range, an invalid range or several ranges, so the server may send the whole file.
 */
export function rangeOf(header: string, sizeBytes: number): ByteRange | 'beyond' | undefined {
  const [, first = '', last = ''] = /^bytes=(\d*)-(\d*)$/.exec(header) ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    const length = Math.min(Number(last), sizeBytes)
    return length === 0 ? 'beyond' : { start: sizeBytes - length, end: sizeBytes - 1 }
  }
  const start = Number(first)
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1)
  if (last !== '' && Number(last) < start) return undefined
  return start < sizeBytes ? { start, end } : 'beyond'
}
