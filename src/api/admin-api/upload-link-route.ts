import type { Context } from 'koa'
import type Router from 'koa-router'

import { notePage } from '../../../views/note-page.ts'
import { type UploadPage, uploadPage } from '../../../views/upload.ts'
import { findLook, siteLook } from '../../directory/sites/site-look.ts'
import { openCors } from '../../platform/http/cors.ts'
import { isRefusal, uploadLinkGone } from '../../platform/http/errors.ts'
import { sendPage } from '../../platform/http/page.ts'
import { openFormFile } from '../../platform/http/page-form.ts'
import { linkPages } from '../../platform/http/paths.ts'
import { dropRest } from '../../platform/http/request-body.ts'
import type { Database } from '../../platform/store/database.ts'
import { extensionsOf, filePurposes } from '../../school/files/file-kinds.ts'
import type { UploadLink, UploadLinks } from '../../school/files/upload-links.ts'
import type { ReceiveUpload } from './upload-route.ts'

interface UploadLinkRoutePorts {
  readonly database: Database
  readonly uploadLinks: UploadLinks
  readonly receive: ReceiveUpload
  readonly fileBytesMax: number
  readonly findClientName: (clientId: string) => Promise<string | undefined>
}

/** Limits for reading the rest of a rejected form. Browsers show the response only after sending the whole form. */
const DROPPED = { bytesMax: 500_000_000, ms: 25_000 }

const problems: Readonly<Record<number, UploadPage['problem']>> = {
  ...{ 413: 'large', 415: 'type', 400: 'file' },
}

/**
 * Registers the page for upload links, with a form. Programs send the bytes to the same URL with PUT or POST. A link
 * accepts one file, within ten minutes. The form needs no CSRF token, because its URL is secret and it uses no session.
 */
export function uploadLinkRoute(router: Router, ports: UploadLinkRoutePorts): void {
  const show = async (
    ctx: Context,
    link: UploadLink,
    state: Pick<UploadPage, 'problem' | 'file'>,
  ) => {
    const found = await findLook(ports.database, link.siteId)
    const { mediaTypes, bytesMax } = filePurposes[link.purpose]
    const page = uploadPage({
      action: ctx.path,
      appName: (await ports.findClientName(link.clientId)) ?? link.clientId,
      siteName: found?.name ?? link.siteId,
      look: siteLook(ctx, found),
      extensions: extensionsOf(mediaTypes),
      bytesMax: Math.min(bytesMax, ports.fileBytesMax),
      ...state,
    })
    sendPage(ctx, page)
  }
  const find = async (ctx: Context) => {
    ctx.set({ 'Cache-Control': 'no-store', 'Referrer-Policy': 'no-referrer' })
    return await ports.uploadLinks.find(String(ctx['params'].token))
  }
  const answerBrowser = async (ctx: Context) => {
    const link = await find(ctx)
    if (!link) {
      ctx.status = 410
      return sendPage(ctx, notePage('link-gone'))
    }
    if (ctx.method !== 'POST') return await show(ctx, link, {})
    try {
      const file = await ports.receive(ctx, link, { ...link, ...(await openFormFile(ctx)) })
      await show(ctx, link, { file })
    } catch (error) {
      if (!isRefusal(error)) throw error
      ctx.status = error.statusCode
      if (!ctx.req.complete) await dropRest(ctx.req.unpipe(), DROPPED)
      await show(ctx, link, { problem: problems[error.statusCode] ?? 'other' })
    }
  }
  const answerProgram = async (ctx: Context) => {
    const link = await find(ctx)
    if (!link) throw uploadLinkGone()
    await ports.receive(ctx, link, link)
  }
  router.get(linkPages.upload, answerBrowser)
  // Allow any origin: assistants in a browser upload from their own origin. An HTML form needs no CORS anyway.
  const cors = openCors(['PUT'])
  router.options(linkPages.upload, cors)
  router.put(linkPages.upload, cors, answerProgram)
  router.post(linkPages.upload, async (ctx) => {
    await (ctx.is('multipart/form-data') ? answerBrowser : answerProgram)(ctx)
  })
}
