import type Router from 'koa-router'

import { authMd } from './auth-md.ts'
import type { ServiceFacts } from './facts.ts'
import { type ProtectedResource, protectedResourcePath } from './protected-resource.ts'
import { discoveryRoutes } from './routes.ts'

/** What the service says of itself, at its addresses and to its other parts. */
export interface Discovery {
  readonly routes: Router
  /** The text of /auth.md. */
  readonly authGuide: () => string
  /** Where the metadata of a protected resource stands, for challenges (RFC 9728 §5.1). */
  readonly metadataUrl: (resource: ProtectedResource) => string
}

export function makeDiscovery(facts: ServiceFacts): Discovery {
  return {
    routes: discoveryRoutes(facts),
    authGuide: () => authMd(facts),
    metadataUrl: (resource) => facts.baseUrl + protectedResourcePath(resource),
  }
}
