/** Shows the messages and the style guide of the demo. In production, these pages do not exist. */

import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

import type Router from 'koa-router'

import { mailFolderPage } from '../../../views/mail-folder.ts'
import { styleGuidePage } from '../../../views/style-guide.ts'
import { mailFiles, readMailFile } from '../../directory/mail/mail-folder.ts'
import { contrastOf } from '../../directory/sites/site-look.ts'
import { sendPage } from '../../platform/http/page.ts'
import { addressOf, pages } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'

/** The Content-Security-Policy of a message. Besides inline styles, it allows only images from this service. */
const MESSAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox allow-same-origin"

/**
 * Creates the pages /mail, /mail/:file and /style-guide. @param folder the message folder; undefined to serve no page
 */
export function mailRoutes(folder: string | undefined): Router {
  const router = makeRouter()
  if (folder === undefined) return router
  const read = async (file: string) => readMailFile(await readFile(join(folder, file), 'utf8'))
  router.get(pages.mail, async (ctx) => {
    const messages = await Promise.all(
      (await mailFiles(folder)).map(async (file) => {
        const { subject, to, date } = await read(file)
        return { subject, to, date, href: addressOf(pages.mailMessage, { file }) }
      }),
    )
    sendPage(ctx, mailFolderPage({ messages, folder }))
  })
  router.get(pages.styleGuide, (ctx) => sendPage(ctx, styleGuidePage(contrastOf)))
  router.get(pages.mailMessage, async (ctx, next) => {
    const file = String(ctx['params']['file'])
    if (!(await mailFiles(folder)).includes(file)) return await next()
    ctx.set('Content-Security-Policy', MESSAGE_POLICY)
    ctx.set('Cache-Control', 'no-store')
    ctx.type = 'html'
    ctx.body = (await read(file)).html
  })
  return router
}
