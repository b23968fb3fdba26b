/**
 * Clients that describe themselves at an address of their own: fetched, checked, kept and
 * reviewed here.
 */

import { LRUCache } from 'lru-cache'

import type { Client } from '../clients/client.ts'
import type { Database } from '../store/database.ts'
import { type FetchFailure, type RequestDocument, readDocument } from './document-fetch.ts'
import { fetchBounds, makeFetchGovernor } from './fetch-governor.ts'
import {
  admitsDocument,
  type ClientDocument,
  clientDocument,
  type DocumentPolicy,
  fingerprintOf,
  freshSeconds,
  judgeDocument,
  readDocumentAddress,
} from './metadata-document.ts'

/**
 * Clients that are described by a document at the address that is their client_id. The last accepted
 * copy of each document is in the database: every process uses it, tokens are judged by it without a
 * fetch, and it stands in while its host is down.
 */
export interface DocumentClients {
  /**
   * The client as the stored copy describes it; `deleted` when it is blocked or not admitted any more.
   *
   * @param fresh wants no copy that it is time to fetch again
   */
  find(clientId: string, fresh: boolean): Promise<Client | undefined>
  /** Whether a document of this address may be fetched and used now. */
  admits(clientId: string): Promise<boolean>
  /** Whether documents of this address are admitted at all; asks no store. */
  admitsAddress(clientId: string): boolean
  /**
   * Fetches the document and keeps what it says.
   *
   * @throws with the reason when there is no document to go by
   */
  resolve(clientId: string, request: RequestDocument): Promise<Client>
}

export interface DocumentClientDependencies {
  readonly database: Database
  readonly policy: DocumentPolicy
  readonly loopbackHosts: readonly string[]
  /** How long what was issued to a client can live; its copy is needed as long. */
  readonly tokensLiveSeconds: number
  readonly now: () => number
}

const DAY_MS = 86_400_000
/** How long a copy stands in for a host that does not answer. */
const STALE_MS = 7 * DAY_MS

export function makeDocumentClients(dependencies: DocumentClientDependencies): DocumentClients {
  const { database, policy, loopbackHosts, tokensLiveSeconds, now } = dependencies
  // What failed is remembered for some seconds: the engine asks twice, and a person presses reload.
  const bounds = { max: 1000, ttl: 10_000, ttlResolution: 0 }
  const failures = new LRUCache<string, FetchFailure>({ ...bounds, perf: { now } })
  const remember = (clientId: string, failure: FetchFailure) => {
    failures.set(clientId, failure)
    return failure
  }
  const governor = makeFetchGovernor(now, fetchBounds)
  const admitsAddress = (clientId: string) => admitsDocument(clientId, policy)

  async function fetchAndKeep(
    address: URL,
    request: RequestDocument,
  ): Promise<ClientDocument | FetchFailure> {
    const end = governor.begin(address.host)
    if (!end) return { kind: 'failed', why: 'too many documents were asked for', gone: false }
    try {
      const fetched = await readDocument(request)
      if (fetched.kind === 'failed') return remember(address.href, fetched)
      const judgement = judgeDocument(address, fetched.text, loopbackHosts)
      if (judgement.kind === 'refused') {
        const failure = { kind: 'failed', why: judgement.why, gone: true } as const
        return remember(address.href, failure)
      }
      const freshUntil = now() + freshSeconds(fetched.cacheControl) * 1000
      await keep(database, judgement.document, {
        clientId: address.href,
        fetchedAt: now(),
        freshUntil,
      })
      await forget(database, now() - STALE_MS - tokensLiveSeconds * 1000)
      return judgement.document
    } finally {
      end()
    }
  }

  return {
    admitsAddress,
    async admits(clientId) {
      if (!admitsAddress(clientId)) return false
      return (await readRow(database, clientId))?.review !== 'blocked'
    },
    async find(clientId, fresh) {
      if (!readDocumentAddress(clientId)) return undefined
      const row = await readRow(database, clientId)
      if (!row || (fresh && row.fresh_until <= now())) return undefined
      return clientOf(row, admitsAddress(clientId))
    },
    async resolve(clientId, request) {
      const address = readDocumentAddress(clientId)
      if (!address) throw new Error('the client_id is not the address of a document')
      const found = failures.get(clientId) ?? (await fetchAndKeep(address, request))
      const row = await readRow(database, clientId)
      if (row && mayStandIn(row, found, now())) return clientOf(row, admitsAddress(clientId))
      throw new Error(`the document cannot be used: ${'why' in found ? found.why : 'it is gone'}`)
    },
  }
}

type DocumentRow = NonNullable<Awaited<ReturnType<typeof readRow>>>

async function readRow({ kysely }: Database, clientId: string) {
  return await kysely
    .selectFrom('document_client')
    .selectAll()
    .where('client_id', '=', clientId)
    .executeTakeFirst()
}

function mayStandIn(
  { fetched_at }: DocumentRow,
  found: ClientDocument | FetchFailure,
  nowMs: number,
): boolean {
  if (!('kind' in found)) return true
  return !found.gone && fetched_at > nowMs - STALE_MS
}

/** Whether the document is now as it was when an operator approved it. */
export function isReviewed({
  review,
  fingerprint,
  reviewed_fingerprint,
}: Pick<DocumentRow, 'review' | 'fingerprint' | 'reviewed_fingerprint'>): boolean {
  return review === 'approved' && reviewed_fingerprint === fingerprint
}

function clientOf(row: DocumentRow, admitted: boolean): Client {
  const document = clientDocument.parse(JSON.parse(row.document))
  return {
    clientId: row.client_id,
    origin: 'document',
    name: document.name,
    redirectUris: document.redirectUris,
    authMethod: 'none',
    applicationType: document.applicationType,
    grantTypes: document.grantTypes,
    state: admitted && row.review !== 'blocked' ? 'active' : 'deleted',
    document: { reviewed: isReviewed(row), fingerprint: row.fingerprint },
  }
}

interface Copy {
  readonly clientId: string
  readonly fetchedAt: number
  readonly freshUntil: number
}

async function keep(
  { kysely }: Database,
  document: ClientDocument,
  { clientId, fetchedAt, freshUntil }: Copy,
): Promise<void> {
  const copy = {
    document: JSON.stringify(document),
    fingerprint: fingerprintOf(document),
    fetched_at: fetchedAt,
    fresh_until: freshUntil,
  }
  await kysely
    .insertInto('document_client')
    .values({ client_id: clientId, first_seen_at: fetchedAt, ...copy })
    .onConflict((conflict) => conflict.column('client_id').doUpdateSet(copy))
    .execute()
}

/**
 * Anybody can make a row by opening an authorization request, so rows that nobody decided about go
 * when nothing that was issued by them can be alive. Fetches are rare, and most of these find nothing.
 */
async function forget({ kysely }: Database, fetchedBefore: number): Promise<void> {
  await kysely
    .deleteFrom('document_client')
    .where('review', 'is', null)
    .where('fetched_at', '<', fetchedBefore)
    .execute()
}
