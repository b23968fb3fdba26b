import type { NamedRequest } from '../../platform/http/request-log.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Granted } from '../../resource/resource-server/verify-bearer.ts'
import type { SiteActor } from '../../school/changes/change.ts'
import type { FileStorage } from '../../school/files/file-storage.ts'
import type { UploadLinks } from '../../school/files/upload-links.ts'
import type { Invitations } from '../../school/members/invitations.ts'
import type { WebhookEndpoints } from '../../school/webhooks/webhook-endpoints.ts'
import type { OneOfMany } from '../graphql/batch-loader.ts'

/** The caller of a request, who is also the actor of its changes. `actorOf` adds the current time. */
export type AdminCaller = Omit<SiteActor, 'now'> & {
  readonly clientId: string
  /** The client's origin, such as `document`. It and the site's policy decide which changes need approvals. */
  readonly clientOrigin: string
  /** The grant of the token; undefined for calls from our own pages. */
  readonly grantId?: string
  readonly scopes: readonly string[]
}

/** Dependencies of the resolvers. */
export interface AdminParts {
  readonly database: Database
  readonly cursors: Cursors
  readonly storage: FileStorage
  readonly now: () => number
  readonly invitations: Invitations
  readonly webhooks: WebhookEndpoints
  readonly uploadLinks: UploadLinks
  readonly baseUrl: string
}

/** The context of one request. */
export interface AdminContext {
  readonly caller: AdminCaller
  readonly parts: AdminParts
  readonly oneOfMany: OneOfMany
}

/** Creates the caller of a request from its token. @throws Error for a token without a site */
export function adminCaller(
  { siteId, personId, clientId, scopes, grant: { id: grantId, clientOrigin } }: Granted['token'],
  request: NamedRequest,
): AdminCaller {
  if (siteId === undefined) throw new Error('a token without a site was admitted to the Admin API')
  return { personId, siteId, clientId, clientOrigin, grantId, scopes, ...request }
}

export type AdminResolver<Source, Arguments = object> = (
  source: Source,
  args: Arguments,
  context: AdminContext,
) => unknown

/** Returns the actor of a change. Its `now` is the current time, not the time of the request. */
export function actorOf({ caller, parts }: AdminContext): SiteActor & AdminCaller {
  return {
    ...caller,
    // Read the clock at each use. A change may wait for a lock, and then read a row that is newer than the request.
    get now() {
      return parts.now()
    },
  }
}
