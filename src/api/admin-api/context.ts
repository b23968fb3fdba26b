import type { NamedRequest } from '../../platform/http/request-log.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Granted } from '../../resource/resource-server/verify-bearer.ts'
import type { SiteActor } from '../../school/changes/change.ts'
import type { FileStorage } from '../../school/files/file-storage.ts'
import { makeOneOfMany, type OneOfMany } from '../graphql/batch-loader.ts'

/** The actor of the changes of one request; each change has its own time. */
export type AdminCaller = Omit<SiteActor, 'now'>

/** What the areas of the Admin API work with. */
export interface AdminParts {
  readonly database: Database
  readonly cursors: Cursors
  /** Where the bytes of files are. */
  readonly storage: FileStorage
  readonly now: () => number
}

/** What the resolvers of one request share. A type, because graphql-http takes records only. */
export type AdminContext = {
  readonly caller: AdminCaller
  readonly parts: AdminParts
  readonly oneOfMany: OneOfMany
}

/** The actor that a token stands for, in a request. */
export function adminCaller(
  { siteId, personId, clientId }: Granted['token'],
  request: NamedRequest,
): AdminCaller {
  if (siteId === undefined) throw new Error('a token without a site came through')
  return { personId, siteId, clientId, ...request }
}

export type AdminResolver<Source, Arguments = object> = (
  source: Source,
  args: Arguments,
  context: AdminContext,
) => unknown

export function makeContext(caller: AdminCaller, parts: AdminParts): AdminContext {
  return { caller, parts, oneOfMany: makeOneOfMany() }
}

/** Who a change is made by. */
export function actorOf({ caller, parts }: AdminContext): SiteActor {
  return {
    ...caller,
    // Asked when it is needed: a change may wait for its turn, and is not older than what it finds then.
    get now() {
      return parts.now()
    },
  }
}
