/**
 * Clients that describe themselves at an address of their own: fetched, checked, kept and
 * reviewed here.
 */

import { LRUCache } from 'lru-cache'

import { decideReview, decisionOf } from '../../directory/sites/review-policy.ts'
import { readDocumentAddress } from '../../platform/http/server-address.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Client } from './client.ts'
import { fetchBounds, makeFetchGovernor } from './fetch-governor.ts'
import {
  admitsDocument,
  clientDocument,
  type DocumentPolicy,
  fingerprintOf,
  freshSeconds,
  judgeDocument,
} from './metadata-document.ts'
import { type FetchFailure, type RequestDocument, readDocument } from './read-document.ts'
import { isInUse, makeRoom, UNUSED_DOCUMENTS_MAX } from './unused-documents.ts'

export type DocumentClients = ReturnType<typeof makeDocumentClients>

export interface DocumentClientDependencies {
  readonly database: Database
  readonly policy: DocumentPolicy
  readonly loopbackHosts: readonly string[]
  /** Texts that stand in for a document that was never read, by their addresses. */
  readonly copies: ReadonlyMap<string, string>
  readonly now: () => number
  /** How many copies are kept with which nobody allowed anything. */
  readonly unusedMax?: number
}

const DAY_MS = 86_400_000
/** How long a copy stands in for a host that does not answer. */
export const STALE_MS = 7 * DAY_MS

/**
 * Clients that are described by a document at the address that is their client_id. The last accepted
 * copy of each document is in the database: every process uses it, tokens are judged by it without a
 * fetch, and it stands in while its host is down.
 */
export function makeDocumentClients(dependencies: DocumentClientDependencies) {
  const { database, policy, loopbackHosts, copies, now } = dependencies
  const { unusedMax = UNUSED_DOCUMENTS_MAX } = dependencies
  // What failed is remembered for some seconds: the engine asks twice, and a person presses reload.
  const bounds = { max: 1000, ttl: 10_000, ttlResolution: 0 }
  const failures = new LRUCache<string, FetchFailure>({ ...bounds, perf: { now } })
  const remember = (address: URL, failure: FetchFailure) => {
    failures.set(address.href, failure)
    return failure
  }
  // Strangers make up addresses without an end; what people rely on is counted apart from them.
  const governors = {
    made: makeFetchGovernor(now, fetchBounds),
    reliedOn: makeFetchGovernor(now, fetchBounds),
  }
  const kindOf = async ({ href }: URL) =>
    copies.has(href) || (await isInUse(database, href)) ? 'reliedOn' : 'made'
  const admitsAddress = (clientId: string) => admitsDocument(clientId, policy)

  /** @returns why there is nothing to keep */
  async function keepText(address: URL, text: string, cacheControl: string | null) {
    const judgement = judgeDocument(address, text, loopbackHosts)
    if (judgement.kind === 'refused') return judgement.why
    const isNew = await keep(database, address, {
      document: JSON.stringify(judgement.document),
      fingerprint: fingerprintOf(judgement.document),
      fetched_at: now(),
      fresh_until: now() + freshSeconds(cacheControl) * 1000,
    })
    if (isNew) await makeRoom(database, unusedMax)
    return undefined
  }

  /**
   * Some hosts turn away who asks from a data centre. The copy of the configuration is kept for as short
   * as any document, so that the host is asked again.
   */
  async function keepCopy(address: URL, failure: FetchFailure | undefined) {
    const text = copies.get(address.href)
    if (!failure || failure.gone || text === undefined) return undefined
    await keepText(address, text, null)
    return await readRow(database, address.href)
  }

  /** @returns why there is nothing to keep */
  async function fetchAndKeep(
    address: URL,
    request: RequestDocument,
  ): Promise<FetchFailure | undefined> {
    const end = governors[await kindOf(address)].begin(address.host)
    if (!end) return { why: 'too many documents were asked for', gone: false }
    try {
      const fetched = await readDocument(request)
      if ('why' in fetched) return remember(address, fetched)
      const why = await keepText(address, fetched.text, fetched.cacheControl)
      return why === undefined ? undefined : remember(address, { why, gone: true })
    } finally {
      end()
    }
  }

  return {
    /** Whether documents of this address are admitted at all; asks no store. */
    admitsAddress,
    /** Whether a document of this address may be fetched and used now. */
    async admits(clientId: string) {
      if (!admitsAddress(clientId)) return false
      return (await readRow(database, clientId))?.review !== 'blocked'
    },
    /**
     * The client as the stored copy describes it; `deleted` when it is blocked or not admitted any
     * more.
     *
     * @param fresh wants no copy that it is time to fetch again
     */
    async find(clientId: string, fresh: boolean) {
      if (!readDocumentAddress(clientId)) return undefined
      const row = await readRow(database, clientId)
      if (!row || (fresh && row.fresh_until <= now())) return undefined
      return clientOf(row, admitsAddress(clientId))
    },
    /**
     * Fetches the document and keeps what it says.
     *
     * @throws with the reason when there is no document to go by
     */
    async resolve(clientId: string, request: RequestDocument) {
      const address = readDocumentAddress(clientId)
      if (!address) throw new Error('the client_id is not the address of a document')
      const failure = failures.get(clientId) ?? (await fetchAndKeep(address, request))
      const row = (await readRow(database, clientId)) ?? (await keepCopy(address, failure))
      const mayStandIn = !failure || (!failure.gone && row && row.fetched_at > now() - STALE_MS)
      if (row && mayStandIn) return clientOf(row, admitsAddress(clientId))
      throw new Error(`the document cannot be used: ${failure?.why ?? 'it is gone'}`)
    },
  }
}

type DocumentRow = NonNullable<Awaited<ReturnType<typeof readRow>>>

async function readRow({ kysely }: Database, clientId: string) {
  return await kysely
    .selectFrom('document_client as d')
    .selectAll('d')
    .select((e) =>
      e
        .selectFrom('document_site_review as s')
        .select((count) => count.fn.countAll<number>().as('sites'))
        .whereRef('s.client_id', '=', 'd.client_id')
        .whereRef('s.fingerprint', '=', 'd.fingerprint')
        .where('s.review', '=', 'approved')
        .as('approving_sites'),
    )
    .where('d.client_id', '=', clientId)
    .executeTakeFirst()
}

function clientOf(row: DocumentRow, admitted: boolean): Client {
  const document = clientDocument.parse(JSON.parse(row.document))
  const platform = decisionOf(row.review, row.reviewed_fingerprint)
  const reviewed = decideReview({ platform, site: undefined }, row.fingerprint) === 'approved'
  return {
    clientId: row.client_id,
    origin: 'document',
    name: document.name,
    redirectUris: document.redirectUris,
    postLogoutRedirectUris: document.postLogoutRedirectUris ?? [],
    authMethod: 'none',
    applicationType: document.applicationType,
    grantTypes: document.grantTypes,
    state: admitted && row.review !== 'blocked' ? 'active' : 'deleted',
    document: {
      reviewed,
      mayWriteSomewhere: reviewed || Number(row.approving_sites) > 0,
      fingerprint: row.fingerprint,
    },
  }
}

/** @returns whether the document was not known before */
async function keep(
  { kysely }: Database,
  { href }: URL,
  copy: Pick<DocumentRow, 'document' | 'fingerprint' | 'fetched_at' | 'fresh_until'>,
): Promise<boolean> {
  const { first_seen_at } = await kysely
    .insertInto('document_client')
    .values({ client_id: href, first_seen_at: copy.fetched_at, ...copy })
    .onConflict((conflict) => conflict.column('client_id').doUpdateSet(copy))
    .returning('first_seen_at')
    .executeTakeFirstOrThrow()
  return Number(first_seen_at) === copy.fetched_at
}
