import type { RequestListener } from 'node:http'

import type { Client } from '../../oauth/clients/client.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { Cursors } from '../../platform/store/cursor.ts'
import { type ListPages, makeListPages } from './list-pages.ts'
import { ownClient } from './own-client.ts'
import { makeOwnFetch } from './own-request.ts'
import { makeSessions, type SessionPorts } from './page-session.ts'
import type { PendingSignInPorts } from './pending-sign-in.ts'
import { makeSignedInPages, type SignedInPages } from './signed-in-pages.ts'

export interface OwnPagesPorts extends SessionPorts, PendingSignInPorts {
  readonly serviceName: string
  readonly cursors: Cursors
  readonly requestLimits: Limits
  /** The application with the keys that sign now. */
  readonly handler: () => RequestListener
}

/** What this service's own pages are made with; the service is a client of itself there. */
export interface OwnPages {
  readonly client: Client
  readonly signedInPages: SignedInPages
  readonly listPages: ListPages
}

export function makeOwnPages(ports: OwnPagesPorts): OwnPages {
  const { baseUrl, serviceName, cursors, handler } = ports
  const ownFetch = makeOwnFetch(handler)
  return {
    client: ownClient(baseUrl, serviceName),
    signedInPages: makeSignedInPages({ ...ports, ownFetch, sessions: makeSessions(ports) }),
    listPages: makeListPages(cursors),
  }
}
