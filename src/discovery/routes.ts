/** The documents by which the service describes itself. The engine's own two are the engine's. */

import type Router from 'koa-router'

import { paths } from '../http/paths.ts'
import { makeRouter } from '../http/router.ts'
import { authMd } from './auth-md.ts'
import { keepDocuments, type RenderedDocument, renderDocument, sendDocument } from './cacheable.ts'
import type { ServiceFacts } from './facts.ts'
import { openApiDocument } from './openapi-document.ts'
import {
  type ProtectedResource,
  protectedResourceMetadata,
  protectedResourcePath,
  protectedResourceScopes,
  protectedResources,
} from './protected-resource.ts'

const json = 'application/json'
const preflightMaxAgeSeconds = 3600

/** What the service says of itself, at its addresses and to its other parts. */
export function makeDiscovery(facts: ServiceFacts) {
  return {
    routes: discoveryRoutes(facts),
    /**
     * Keeps the engine's own documents; one for each engine, because they name its keys. The key set
     * has others beside them, which the engine does not hold.
     */
    keepEngineDocuments: (otherKeys: readonly object[]) =>
      keepDocuments(ofTheEngine, facts.service.documents.cacheSeconds, (path, body) =>
        path === paths.jwks && 'keys' in body && Array.isArray(body.keys)
          ? { ...body, keys: [...body.keys, ...otherKeys] }
          : body,
      ),
    /** The text of /auth.md. */
    authGuide: () => authMd(facts),
    /** Where the metadata of a protected resource stands, for challenges (RFC 9728 §5.1). */
    metadataUrl: (resource: ProtectedResource) => facts.baseUrl + protectedResourcePath(resource),
    /** What the metadata of a protected resource tells clients to ask for. */
    scopesOf: (resource: ProtectedResource) => protectedResourceScopes(facts, resource),
  }
}

/**
 * GET and HEAD for the documents of this service: protected-resource metadata, /auth.md and
 * /openapi.json. The authorization server's own metadata and its keys are the engine's.
 */
export function discoveryRoutes(facts: ServiceFacts): Router {
  const router = makeRouter()
  const { cacheSeconds } = facts.service.documents

  for (const [path, render] of documents(facts)) {
    // The first request pays for rendering, and start-up does not.
    let document: RenderedDocument | undefined

    router.get(path, (ctx) => {
      document ??= render()
      sendDocument(ctx, document, cacheSeconds)
    })

    // MCP clients in a browser send MCP-Protocol-Version with every request, which makes even the
    // plain reading of a document a preflighted one.
    router.options(path, (ctx) => {
      ctx.set('Access-Control-Allow-Origin', '*')
      ctx.set('Access-Control-Allow-Methods', 'GET, HEAD')
      ctx.set('Access-Control-Allow-Headers', '*')
      ctx.set('Access-Control-Max-Age', String(preflightMaxAgeSeconds))
      ctx.status = 204
    })
  }
  return router
}

const ofTheEngine: ReadonlySet<string> = new Set([
  paths.authorizationServer,
  paths.openidConfiguration,
  paths.jwks,
])

function documents(facts: ServiceFacts): [path: string, render: () => RenderedDocument][] {
  return [
    ...protectedResources.map((resource): [string, () => RenderedDocument] => [
      protectedResourcePath(resource),
      () => renderDocument(JSON.stringify(protectedResourceMetadata(facts, resource)), json),
    ]),
    [paths.authMd, () => renderDocument(authMd(facts), 'text/markdown; charset=utf-8')],
    [paths.openApi, () => renderDocument(JSON.stringify(openApiDocument(facts)), json)],
  ]
}
