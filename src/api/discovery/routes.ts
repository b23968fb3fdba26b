/** The documents by which the service describes itself. The engine's own two are the engine's. */

import type Router from 'koa-router'

import { paths } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { authGuide, authMd, llmsTxt } from './auth-md.ts'
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
import {
  aiCatalog,
  catalogType,
  publicToolServer,
  serverCard,
  serverCardType,
  toolServers,
} from './server-card.ts'

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
    /** The short form of /auth.md. */
    authGuide: () => authGuide(facts),
    /** Where the metadata of a protected resource stands, for challenges (RFC 9728 §5.1). */
    metadataUrl: (resource: ProtectedResource) => facts.baseUrl + protectedResourcePath(resource),
    /** What the metadata of a protected resource tells clients to ask for. */
    scopesOf: (resource: ProtectedResource) => protectedResourceScopes(facts, resource),
  }
}

/**
 * GET and HEAD for the documents of this service: protected-resource metadata, /auth.md, /llms.txt,
 * server cards and /openapi.json. The authorization server's own metadata and its keys are the engine's.
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

type Document = [path: string, render: () => RenderedDocument]

function documents(facts: ServiceFacts): Document[] {
  const inJson = (path: string, make: () => object, type = 'application/json'): Document => [
    path,
    () => renderDocument(JSON.stringify(make()), type),
  ]
  return [
    ...protectedResources.map((resource) =>
      inJson(protectedResourcePath(resource), () => protectedResourceMetadata(facts, resource)),
    ),
    [paths.authMd, () => renderDocument(authMd(facts), 'text/markdown; charset=utf-8')],
    [paths.llmsTxt, () => renderDocument(llmsTxt(facts), 'text/plain; charset=utf-8')],
    inJson(paths.aiCatalog, () => aiCatalog(facts), catalogType),
    ...toolServers.map((server) =>
      inJson(server.card, () => serverCard(facts, server), serverCardType),
    ),
    inJson(paths.serverCardEarlier, () => serverCard(facts, publicToolServer), serverCardType),
    inJson(paths.openApi, () => openApiDocument(facts)),
  ]
}
