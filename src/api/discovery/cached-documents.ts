import { createHash } from 'node:crypto'

import type { Context, Middleware } from 'koa'

import { nameRoute, routeOf } from '../../platform/http/request-log.ts'

export type RenderedDocument = ReturnType<typeof renderDocument>

/** Computes the ETag of a document. Keeps the body as a string, which Node sends in the same write as the headers. */
export function renderDocument(body: string, contentType: string) {
  const digest = createHash('sha256').update(body).digest('base64url')
  return { body, contentType, etag: `"${digest}"` }
}

/** Sends a public document with cache and CORS headers. Sends 304 if the caller already has it (RFC 9110 §13.1.2). */
export function sendDocument(ctx: Context, document: RenderedDocument, maxAgeSeconds: number) {
  ctx.status = 200
  // Send the same header to every origin, so shared caches can reuse the response.
  ctx.set('Access-Control-Allow-Origin', '*')
  ctx.remove('Vary')
  ctx.set('Access-Control-Expose-Headers', 'ETag')
  ctx.set('Cache-Control', `public, max-age=${maxAgeSeconds}`)
  ctx.set('ETag', document.etag)
  if (isHeld(ctx.get('If-None-Match'), document.etag)) {
    ctx.status = 304
    ctx.body = null
    return
  }
  ctx.type = document.contentType
  ctx.body = document.body
}

/** Whether the caller has the current document. Ignores `no-cache`, which fetch() adds to conditional requests. */
function isHeld(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '') return false
  const held = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return held.includes('*') || held.includes(etag)
}

/**
 * Creates middleware that caches the JSON responses of downstream middleware for `addresses`. The documents of an
 * engine are constant; a new engine gets a new cache. Passes HEAD on as GET, because the engine supports only GET.
 *
 * @param complete modifies a document before it is cached
 */
export function cacheDocuments(
  addresses: ReadonlySet<string>,
  maxAgeSeconds: number,
  complete: Complete = (_path, body) => body,
): Middleware {
  const kept = new Map<string, { document: RenderedDocument; route: string }>()
  return async (ctx, next) => {
    const { method, path } = ctx
    if (!addresses.has(path) || (method !== 'GET' && method !== 'HEAD')) return await next()
    let held = kept.get(path)
    if (!held) {
      const document = await renderNext(ctx, next, complete)
      if (!document) return
      held = { document, route: routeOf(ctx) }
      kept.set(path, held)
    }
    nameRoute(ctx, held.route)
    sendDocument(ctx, held.document, maxAgeSeconds)
  }
}

type Complete = (path: string, body: object) => object

/** Runs the downstream middleware as GET, and renders the response. Returns undefined unless the status is 200. */
async function renderNext(ctx: Context, next: () => Promise<unknown>, complete: Complete) {
  const { method } = ctx
  ctx.method = 'GET'
  try {
    await next()
  } finally {
    ctx.method = method
  }
  if (ctx.status !== 200) return undefined
  const contentType = ctx.response.get('Content-Type') || 'application/json'
  return renderDocument(JSON.stringify(complete(ctx.path, ctx.body as object)), contentType)
}
