import { createHash } from 'node:crypto'

import type { Context, Middleware } from 'koa'

import { nameRoute, routeOf } from '../../platform/http/request-log.ts'

export type RenderedDocument = ReturnType<typeof renderDocument>

/** A document in its final bytes, with the validator that names exactly these bytes. */
export function renderDocument(text: string, contentType: string) {
  const body = Buffer.from(text)
  const digest = createHash('sha256').update(body).digest('base64url')
  return { body, contentType, etag: `"${digest}"` }
}

/** Answers with a public document, or with 304 when the caller already holds it (RFC 9110 §13.1.2). */
export function sendDocument(
  ctx: Context,
  document: RenderedDocument,
  maxAgeSeconds: number,
): void {
  ctx.status = 200
  // The same for every origin: a cache may hand the answer that it got for one caller to another.
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

// Koa's own `fresh` obeys `Cache-Control: no-cache` of the request, which fetch() adds to every
// conditional one. It asks caches to come here, and here the validator decides.
function isHeld(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '') return false
  const held = ifNoneMatch.split(',').map((tag) => tag.trim().replace(/^W\//, ''))
  return held.includes('*') || held.includes(etag)
}

/**
 * Keeps the JSON that a later middleware answers at these addresses, for as long as that middleware
 * lives: the engine's two metadata documents and its key set, which are the same for everybody until
 * there is another engine with other keys. What is kept is answered without asking again.
 *
 * The engine knows GET only, so that a first HEAD goes to it as a GET and comes back a HEAD.
 */
export function keepDocuments(
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
      const document = await askedFor(ctx, next, complete)
      if (!document) return
      held = { document, route: routeOf(ctx) }
      kept.set(path, held)
    }
    nameRoute(ctx, held.route)
    sendDocument(ctx, held.document, maxAgeSeconds)
  }
}

/** What is kept of what was answered at an address. */
type Complete = (path: string, body: object) => object

/** What stands at the address, if it is JSON. */
async function askedFor(ctx: Context, next: () => Promise<unknown>, complete: Complete) {
  const { method } = ctx
  ctx.method = 'GET'
  try {
    await next()
  } finally {
    ctx.method = method
  }
  if (ctx.status !== 200 || !isJsonValue(ctx.body)) return undefined
  const contentType = ctx.response.get('Content-Type') || 'application/json'
  return renderDocument(JSON.stringify(complete(ctx.path, ctx.body)), contentType)
}

// A stream or a Buffer is an object too, and is not ours to turn into JSON.
function isJsonValue(body: unknown): body is object {
  if (typeof body !== 'object' || body === null) return false
  return Array.isArray(body) || Object.getPrototypeOf(body) === Object.prototype
}
