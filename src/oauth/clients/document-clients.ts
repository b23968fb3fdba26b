/** Fetches, validates and caches the metadata documents of clients. */

import { LRUCache } from 'lru-cache'

import { decideReview, decisionOf } from '../../directory/sites/review-policy.ts'
import { readDocumentAddress } from '../../platform/http/client-addresses.ts'
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

export type DocumentClients = ReturnType<typeof makeDocumentClients>

interface DocumentClientSettings {
  readonly metadataDocuments: DocumentPolicy
  readonly loopbackHosts: readonly string[]
  /** Configured copies, by document URL, for hosts that block our requests. */
  readonly copies: ReadonlyMap<string, string>
  /** Maximum number of stored documents without a consent. */
  readonly unusedMax?: number
}

/** How long a stored copy may be used while its host does not respond. */
export const STALE_MS = 7 * 86_400_000
/** Default limit of unused documents, for all hosts together. */
export const UNUSED_DOCUMENTS_MAX = 10_000

/**
 * Manages clients that are described by a metadata document at their client_id. The database stores the last accepted
 * copy of each document. So every process can use the copy, token checks need no fetch, and clients work while their
 * host is down.
 */
export function makeDocumentClients(
  settings: DocumentClientSettings,
  { database, now }: { readonly database: Database; readonly now: () => number },
) {
  const { metadataDocuments: policy, loopbackHosts, copies } = settings
  const { unusedMax = UNUSED_DOCUMENTS_MAX } = settings
  // Cache failures for a few seconds, because the engine asks twice and people reload the page.
  const bounds = { max: 1000, ttl: 10_000, ttlResolution: 0 }
  const failures = new LRUCache<string, FetchFailure>({ ...bounds, perf: { now } })
  const remember = (address: URL, failure: FetchFailure) => {
    failures.set(address.href, failure)
    return failure
  }
  // Callers can name any number of URLs, so fetches of documents in use have separate limits.
  const invented = makeFetchGovernor(now, fetchBounds)
  const reliedOn = makeFetchGovernor(now, fetchBounds)
  const admitsAddress = (clientId: string) => admitsDocument(clientId, policy)

  /** Stores the document if it is valid. @returns why it was rejected, or undefined */
  async function keepText(address: URL, text: string, cacheControl: string | null) {
    const judgement = judgeDocument(address, text, loopbackHosts)
    if (judgement.kind === 'refused') return judgement.why
    const isNew = await keep(database, address, {
      document: JSON.stringify(judgement.document),
      fingerprint: fingerprintOf(judgement.document),
      fetched_at: now(),
      fresh_until: now() + freshSeconds(cacheControl) * 1000,
    })
    if (isNew) await removeOldest(database, unusedMax)
    return undefined
  }

  /**
   * If the fetch failed, stores the document's configured copy instead: some hosts block requests from data centres.
   * The copy gets the shortest freshness lifetime, so the next fetch is soon.
   */
  async function keepCopy(address: URL, failure: FetchFailure | undefined) {
    const text = copies.get(address.href)
    if (!failure || failure.gone || text === undefined) return undefined
    await keepText(address, text, null)
    return await readRow(database, address.href)
  }

  async function fetchAndKeep(
    address: URL,
    request: RequestDocument,
  ): Promise<FetchFailure | undefined> {
    const isReliedOn = copies.has(address.href) || (await isInUse(database, address.href))
    const end = (isReliedOn ? reliedOn : invented).begin(address.host)
    if (!end)
      return { why: 'too many documents were requested; try again in a minute', gone: false }
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
    /** Whether the configuration allows a document at this URL. */
    admitsAddress,
    /** Whether a document at this URL is allowed by the configuration and not blocked by a review. */
    async admits(clientId: string) {
      if (!admitsAddress(clientId)) return false
      return (await readRow(database, clientId))?.review !== 'blocked'
    },
    /**
     * Finds the client of a stored copy. Its state is `deleted` if the document is blocked or no longer allowed.
     *
     * @param fresh whether to ignore a stale copy
     */
    async find(clientId: string, fresh: boolean) {
      if (!readDocumentAddress(clientId)) return undefined
      const row = await readRow(database, clientId)
      if (!row || (fresh && row.fresh_until <= now())) return undefined
      return clientOf(row, admitsAddress(clientId))
    },
    /** Fetches and stores the document, or falls back to a stored copy. @throws an error if neither is usable */
    async resolve(clientId: string, request: RequestDocument) {
      const address = readDocumentAddress(clientId)
      if (!address) throw new Error('the client_id is not a valid URL of a metadata document')
      const failure = failures.get(clientId) ?? (await fetchAndKeep(address, request))
      const row = (await readRow(database, clientId)) ?? (await keepCopy(address, failure))
      const mayStandIn = !failure || (!failure.gone && row && row.fetched_at > now() - STALE_MS)
      if (row && mayStandIn) return clientOf(row, admitsAddress(clientId))
      throw new Error(`the document cannot be used: ${failure?.why ?? 'it no longer exists'}`)
    },
  }
}

/** Requests one document. The caller applies the guard against private addresses. */
type RequestDocument = () => Promise<Response>

interface FetchFailure {
  readonly why: string
  /** Whether the host reported that the document is gone. Then no stored copy may be used. */
  readonly gone: boolean
}

// Maximum size of a document, as in the draft (§6.6) and in the engine.
const DOCUMENT_BYTES_MAX = 5120

/**
 * Reads a document. Requires status 200, a JSON media type, UTF-8 and a small size. Never follows a redirect and never
 * throws.
 */
async function readDocument(
  request: RequestDocument,
): Promise<{ text: string; cacheControl: string | null } | FetchFailure> {
  try {
    const response = await request()
    const { status, headers, body } = response
    const why = problemOfResponse(response)
    if (why !== undefined) {
      await body?.cancel()
      return { why, gone: status === 404 || status === 410 }
    }
    const chunks: Uint8Array[] = []
    let length = 0
    // Leaving the loop early cancels the stream, which closes the connection.
    for await (const chunk of body ?? []) {
      length += chunk.length
      if (length > DOCUMENT_BYTES_MAX) {
        return { why: `it is larger than ${DOCUMENT_BYTES_MAX} bytes`, gone: false }
      }
      chunks.push(chunk)
    }
    const text = new TextDecoder('utf-8', { fatal: true }).decode(Buffer.concat(chunks))
    return { text, cacheControl: headers.get('cache-control') }
  } catch (error) {
    if (!(error instanceof Error)) return { why: String(error), gone: false }
    // fetch() only reports "fetch failed"; the reason is in the cause.
    const why = error.cause instanceof Error ? `: ${error.cause.message}` : ''
    return { why: error.message + why, gone: false }
  }
}

function problemOfResponse({ status, headers }: Response): string | undefined {
  if (status !== 200) return `its host responded with status ${status}`
  const mediaType = headers.get('content-type')?.split(';')[0]?.trim().toLowerCase() ?? ''
  const isJson = /^application\/([\w.+-]+\+)?json$/.test(mediaType)
  return isJson ? undefined : 'its media type is not JSON'
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
  const { postLogoutRedirectUris = [], ...document } = clientDocument.parse(
    JSON.parse(row.document),
  )
  const platform = decisionOf(row.review, row.reviewed_fingerprint)
  const reviewed = decideReview({ platform, site: undefined }, row.fingerprint) === 'approved'
  return {
    ...document,
    clientId: row.client_id,
    origin: 'document',
    postLogoutRedirectUris,
    authMethod: 'none',
    state: admitted && row.review !== 'blocked' ? 'active' : 'deleted',
    document: {
      reviewed,
      mayWriteSomewhere: reviewed || Number(row.approving_sites) > 0,
      fingerprint: row.fingerprint,
    },
  }
}

/** Writes the copy. @returns whether the document is new */
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

/** Selects the documents that have neither an operator's decision nor a live grant. */
function unusedDocuments({ kysely }: Database) {
  return kysely
    .selectFrom('document_client as d')
    .select('d.client_id')
    .where('d.review', 'is', null)
    .where((e) =>
      e.not(
        e.exists(
          e
            .selectFrom('oauth_grant as g')
            .select('g.id')
            .whereRef('g.client_id', '=', 'd.client_id')
            .where('g.ended_at', 'is', null),
        ),
      ),
    )
}

/** Usually removes one copy; more if the limit was lowered. */
const REMOVED_MAX = 100

/**
 * Removes the oldest unused copies above the maximum. If documents on any host are allowed, any caller can add any
 * number of them.
 */
async function removeOldest(database: Database, max: number): Promise<void> {
  const tooMany = await unusedDocuments(database)
    .orderBy('d.fetched_at', 'desc')
    .orderBy('d.client_id')
    .offset(max)
    .limit(REMOVED_MAX)
    .execute()
  if (tooMany.length === 0) return
  const ids = tooMany.map((row) => row.client_id)
  await database.kysely
    .deleteFrom('document_client')
    .where('client_id', 'in', ids)
    .where('review', 'is', null)
    .execute()
}

/** Whether a stored document has a live grant or a decision of an operator. */
async function isInUse(database: Database, clientId: string): Promise<boolean> {
  const { kysely } = database
  const row = await kysely
    .selectFrom('document_client as d')
    .select('d.client_id')
    .where('d.client_id', '=', clientId)
    .where('d.client_id', 'not in', unusedDocuments(database).where('d.client_id', '=', clientId))
    .executeTakeFirst()
  return row !== undefined
}
