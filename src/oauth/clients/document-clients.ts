import { LRUCache } from 'lru-cache'

import { decideReview, decisionOf } from '../../directory/sites/review-policy.ts'
import { readDocumentAddress } from '../../platform/http/client-addresses.ts'
import { readStart } from '../../platform/outgoing/read-start.ts'
import type { Platform } from '../../platform/platform.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Client } from './client.ts'
import { fetchBounds, makeFetchGovernor } from './fetch-governor.ts'
import {
  admitsDocument,
  admitsDocuments,
  type ClientDocument,
  type DocumentPolicy,
  type DocumentRules,
  fingerprintOf,
  freshSeconds,
  judgeDocument,
} from './metadata-document.ts'

export type DocumentClients = ReturnType<typeof makeDocumentClients>

interface DocumentClientSettings extends DocumentRules {
  readonly metadataDocuments: DocumentPolicy
  /** Configured copies, by document URL, for hosts that block our requests. */
  readonly copies: ReadonlyMap<string, string>
  /** The maximum number of unused documents, for all hosts together. */
  readonly unusedMax?: number
}

type DocumentPorts = Pick<Platform, 'database' | 'now'>

/** The maximum age of a stored copy that is used because the document cannot be fetched. */
export const STALE_MS = 7 * 86_400_000
export const UNUSED_DOCUMENTS_MAX = 10_000

/** Limits for remembered failures. The engine repeats a failed fetch at once, so remember it for ten seconds. */
const failureBounds = { max: 1000, ttl: 10_000, ttlResolution: 0 }

/**
 * Manages clients whose client_id is the URL of a metadata document. The last accepted copy of each document is in the
 * database. So every process can use it, token checks need no fetch, and clients work while their host is down (for new
 * authorizations, up to `STALE_MS`).
 */
export function makeDocumentClients(settings: DocumentClientSettings, ports: DocumentPorts) {
  const { database, now } = ports
  const { metadataDocuments, copies, privateKeyJwt } = settings
  const keepText = makeKeepText(settings, ports)
  const failures = new LRUCache<string, FetchFailure>({ ...failureBounds, perf: { now } })
  const remember = (address: URL, failure: FetchFailure) => {
    failures.set(address.href, failure)
    return failure
  }
  // Callers can invent any number of URLs, so fetches of documents in use have separate limits.
  const invented = makeFetchGovernor(now, fetchBounds)
  const reliedOn = makeFetchGovernor(now, fetchBounds)
  const admitsAddress = (clientId: string) => admitsDocument(clientId, metadataDocuments)

  /**
   * Stores and returns the configured copy, if there is one. Some hosts block requests from data centers. The copy gets
   * the minimum freshness lifetime, so the service soon tries the host again.
   */
  async function keepCopy(address: URL) {
    const text = copies.get(address.href)
    if (text === undefined) return undefined
    await keepText(address, text, null)
    return await readRow(database, address.href)
  }

  /** Fetches and stores the document. @returns the failure, if any */
  async function fetchAndKeep(address: URL, request: RequestDocument) {
    const isReliedOn = copies.has(address.href) || (await isInUse(database, address.href))
    const end = (isReliedOn ? reliedOn : invented).begin(address.host)
    if (!end)
      return { why: 'too many metadata documents were requested; retry in a minute', gone: false }
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
    enabled: admitsDocuments(metadataDocuments),
    /** Whether the configuration allows a document at this URL. */
    admitsAddress,
    /** Whether the document at this URL is allowed by the configuration and not blocked for all sites. */
    async admits(clientId: string) {
      if (!admitsAddress(clientId)) return false
      return (await readRow(database, clientId))?.review !== 'blocked'
    },
    /**
     * Finds a client by its stored document. `fresh` excludes stale documents. The client's state is `deleted` if the
     * document is blocked for all sites, or if the configuration excludes its URL or all of its authentication methods.
     */
    async find(clientId: string, fresh: boolean) {
      if (!readDocumentAddress(clientId)) return undefined
      const row = await readRow(database, clientId)
      if (!row || (fresh && row.fresh_until <= now())) return undefined
      return documentClient(row, admitsAddress(clientId), privateKeyJwt)
    },
    /** Stores the configured copy of a document, unless a stored one exists. Operators can then review the document. */
    async keepConfigured(clientId: string): Promise<void> {
      const address = readDocumentAddress(clientId)
      if (address && !(await readRow(database, clientId))) await keepCopy(address)
    },
    /** Fetches the document and returns its client, or falls back to a copy. @throws an error if neither is usable */
    async resolve(clientId: string, request: RequestDocument) {
      const address = readDocumentAddress(clientId)
      if (!address) throw new Error('the client_id is not a valid URL of a metadata document')
      const failure = failures.get(clientId) ?? (await fetchAndKeep(address, request))
      const mayCopy = failure && !failure.gone
      const row = (await readRow(database, clientId)) ?? (mayCopy && (await keepCopy(address)))
      const isUsable = !failure || (!failure.gone && row && row.fetched_at > now() - STALE_MS)
      if (row && isUsable) return documentClient(row, admitsAddress(clientId), privateKeyJwt)
      throw new Error(`the metadata document is unusable: ${failure?.why ?? 'it no longer exists'}`)
    },
  }
}

/** Creates the function that stores a document, or returns its problem if invalid. Also removes excess unused ones. */
function makeKeepText(
  { unusedMax = UNUSED_DOCUMENTS_MAX, ...rules }: DocumentClientSettings,
  { database, now }: DocumentPorts,
) {
  return async (address: URL, text: string, cacheControl: string | null) => {
    const document = judgeDocument(address, text, rules)
    if ('problem' in document) return document.problem
    const fetched_at = now()
    const copy = {
      document: JSON.stringify(document),
      fingerprint: fingerprintOf(document),
      fetched_at,
      fresh_until: fetched_at + freshSeconds(cacheControl) * 1000,
    }
    const { first_seen_at } = await database.kysely
      .insertInto('document_client')
      .values({ client_id: address.href, first_seen_at: fetched_at, ...copy })
      .onConflict((conflict) => conflict.column('client_id').doUpdateSet(copy))
      .returning('first_seen_at')
      .executeTakeFirstOrThrow()
    if (first_seen_at === fetched_at) await removeOldest(database, unusedMax)
    return undefined
  }
}

/** Requests one document. Must neither connect to private addresses nor follow redirects. */
type RequestDocument = () => Promise<Response>

interface FetchFailure {
  readonly why: string
  /** Whether the document is gone or invalid. If so, no copy of it may be used. */
  readonly gone: boolean
}

// Maximum size of a document. The draft (§6.6) and the engine have the same limit.
const DOCUMENT_BYTES_MAX = 5120

/** Reads a document. The response must have status 200, a JSON media type and a small body in UTF-8. */
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
    const { bytes, isLonger } = await readStart(response, DOCUMENT_BYTES_MAX)
    if (isLonger) return { why: `it is larger than ${DOCUMENT_BYTES_MAX} bytes`, gone: false }
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes)
    return { text, cacheControl: headers.get('cache-control') }
  } catch (error) {
    if (!(error instanceof Error)) return { why: String(error), gone: false }
    // fetch() reports only "fetch failed". The reason is in the cause.
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

function documentClient(
  row: NonNullable<Awaited<ReturnType<typeof readRow>>>,
  admitted: boolean,
  privateKeyJwt: boolean,
): Client {
  const { authMethods, ...document }: ClientDocument = JSON.parse(row.document)
  // The deployment may have switched assertions off since the document was stored.
  const known = authMethods.filter((method) => privateKeyJwt || method === 'none')
  const platform = decisionOf(row.review, row.reviewed_fingerprint)
  const reviewed = decideReview({ platform, site: undefined }, row.fingerprint) === 'approved'
  return {
    ...document,
    clientId: row.client_id,
    origin: 'document',
    authMethod: known[0] ?? 'none',
    keys: privateKeyJwt ? document.keys : undefined,
    state: admitted && known.length > 0 && row.review !== 'blocked' ? 'active' : 'deleted',
    document: {
      reviewed,
      approvedSomewhere: reviewed || Number(row.approving_sites) > 0,
      fingerprint: row.fingerprint,
    },
  }
}

/** Selects the documents that have no decision for all sites and whose grants have all ended. */
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

/** The maximum number of copies to remove at once. If `unusedMax` is lowered, many copies may exceed it. */
const REMOVED_MAX = 100

/** Removes the oldest unused copies above the maximum. Any caller can add copies by naming a URL. */
async function removeOldest(database: Database, max: number): Promise<void> {
  const tooMany = unusedDocuments(database)
    .orderBy('d.fetched_at', 'desc')
    .orderBy('d.client_id')
    .offset(max)
    .limit(REMOVED_MAX)
  await database.kysely
    .deleteFrom('document_client')
    .where('client_id', 'in', tooMany)
    .where('review', 'is', null)
    .execute()
}

async function isInUse(database: Database, clientId: string): Promise<boolean> {
  const row = await database.kysely
    .selectFrom('document_client as d')
    .select('d.client_id')
    .where('d.client_id', '=', clientId)
    .where('d.client_id', 'not in', unusedDocuments(database).where('d.client_id', '=', clientId))
    .executeTakeFirst()
  return row !== undefined
}
