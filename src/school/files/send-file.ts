import type { Readable } from 'node:stream'

import type { Context } from 'koa'

import { nothingHere } from '../../platform/http/errors.ts'
import { logFields } from '../../platform/http/request-log.ts'
import { rangeOf } from './byte-range.ts'
import { attachment } from './content-disposition.ts'
import { type ByteRange, FileMissing } from './file-storage.ts'
import type { Download } from './find-download.ts'
import type { Files } from './open-file-storage.ts'
import { storageKey } from './storage-key.ts'

export interface SendPorts {
  readonly files: Files
}

/** Whoever opens it as a document gets one that can do nothing (CSP3 §6.2.2). */
export const NOTHING_RUNS = "default-src 'none'; sandbox; frame-ancestors 'none'"

/** Sends a file, or the part of it that was asked for, to be saved and never to be shown. */
export async function sendDownload(
  ctx: Context,
  { fileId, name, mediaType, sizeBytes, sha256 }: Download,
  ports: SendPorts,
): Promise<void> {
  const etag = `"${sha256}"`
  ctx.set({
    'Accept-Ranges': 'bytes',
    'Cache-Control': 'private, no-store',
    'Content-Disposition': attachment(name),
    'Content-Security-Policy': NOTHING_RUNS,
    ETag: etag,
  })
  ctx.type = mediaType
  // RFC 9110 §13.1.5: a part is of use to whoever has the rest of the same file.
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
  if (ctx.method !== 'HEAD')
    ctx.body = await openFile(ctx, ports, { fileId, ...(range && { range }) })
}

/** That a file which the database knows is not in the storage is for whoever reads the log. */
export async function openFile(
  ctx: Context,
  { files }: SendPorts,
  { fileId, range }: { fileId: string; range?: ByteRange },
): Promise<Readable> {
  try {
    return await files.storage.get(storageKey(fileId), range)
  } catch (error) {
    if (!(error instanceof FileMissing)) throw error
    logFields(ctx).cause = error
    ctx.remove('Content-Disposition')
    throw nothingHere()
  }
}
