/** Serves the documents that describe the service. Caches the metadata and keys of the engine. */

import type Router from 'koa-router'

import { readChangeAreas, type ScopeUses } from '../../directory/scopes/scope-uses.ts'
import { proofAlgorithms } from '../../oauth/clients/proofs.ts'
import { unknownAreas } from '../../platform/http/errors.ts'
import { changePaths, paths } from '../../platform/http/paths.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { authGuide, authMd, llmsTxt } from './auth-md.ts'
import {
  cacheDocuments,
  type RenderedDocument,
  renderDocument,
  sendDocument,
} from './cached-documents.ts'
import { openApiDocument } from './openapi-document.ts'
import {
  type Areas,
  type ProtectedResource,
  protectedResourceMetadata,
  protectedResourcePath,
  protectedResourceScopes,
  protectedResources,
  type ServiceFacts,
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

/** Creates the discovery routes, the cache of engine documents, and functions that look up published values. */
export function makeDiscovery(facts: ServiceFacts & { readonly scopeUses: ScopeUses }) {
  return {
    scopeUses: facts.scopeUses,
    routes: discoveryRoutes(facts),
    /** Creates middleware that caches one engine's documents, and adds `otherKeys` to the key set. */
    cacheEngineDocuments: (otherKeys: readonly object[]) =>
      cacheDocuments(ofTheEngine, facts.service.documents.cacheSeconds, (path, body) => {
        if (path === paths.jwks && 'keys' in body && Array.isArray(body.keys))
          return { ...body, keys: [...body.keys, ...otherKeys] }
        // Do not advertise RS256: only clients that name RS256 in their metadata document may use it.
        // Without `private_key_jwt`, the engine sets this member to undefined.
        return 'token_endpoint_auth_signing_alg_values_supported' in body &&
          body.token_endpoint_auth_signing_alg_values_supported !== undefined
          ? { ...body, token_endpoint_auth_signing_alg_values_supported: proofAlgorithms }
          : body
      }),
    authGuide: () => authGuide(facts),
    /** Returns the URL of a resource's metadata, for challenges (RFC 9728 §5.1). */
    metadataUrl: (resource: ProtectedResource, areas?: Areas) =>
      facts.baseUrl + protectedResourcePath(resource, areas),
    /** Returns the scopes listed in the metadata of a resource. */
    scopesOf: (resource: ProtectedResource, areas?: Areas) =>
      protectedResourceScopes(facts, resource, areas),
  }
}

function discoveryRoutes(facts: ServiceFacts): Router {
  const router = makeRouter()
  const { cacheSeconds } = facts.service.documents

  for (const [path, render] of documents(facts)) {
    // Render the document at its first request, to keep start-up fast.
    let document: RenderedDocument | undefined

    router.get(path, (ctx) => {
      document ??= render()
      sendDocument(ctx, document, cacheSeconds)
    })
    allowBrowsers(path)
  }
  router.get(changePaths.protectedResource, (ctx) => {
    const read = readChangeAreas(ctx.params['areas'] ?? '', facts.scopeUses.changeableAreas())
    if ('problem' in read) throw unknownAreas(read.problem)
    const document = protectedResourceMetadata(facts, 'mcpAdmin', read.areas)
    sendDocument(ctx, renderDocument(JSON.stringify(document), 'application/json'), cacheSeconds)
  })
  allowBrowsers(changePaths.protectedResource)
  return router

  function allowBrowsers(path: string) {
    // MCP clients in browsers send MCP-Protocol-Version with discovery requests too, so even a GET causes a preflight.
    router.options(path, (ctx) => {
      ctx.set('Access-Control-Allow-Origin', '*')
      ctx.set('Access-Control-Allow-Methods', 'GET, HEAD')
      ctx.set('Access-Control-Allow-Headers', '*')
      ctx.set('Access-Control-Max-Age', String(preflightMaxAgeSeconds))
      ctx.status = 204
    })
  }
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
