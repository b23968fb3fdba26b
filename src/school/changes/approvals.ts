import type { ExpressionBuilder } from 'kysely'

import { addressOf, pages } from '../../platform/http/paths.ts'
import { compiledOnce, runStatement, type Valued } from '../../platform/store/compiled-queries.ts'
import type { Database } from '../../platform/store/database.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { countRows } from '../../platform/store/keyset.ts'
import { findNames } from '../../platform/store/object-names.ts'
import type { ApprovalCover, Schema } from '../../platform/store/schema.ts'
import { changeSite, newId, type SiteActor, siteChange } from './change.ts'
import { approvalRequired, limitReached } from './refusals.ts'

/** Which changes to a site need an approval, and whether vendor integrations are exempt. */
export interface ApprovalPolicy {
  readonly covers: ApprovalCover
  readonly exemptsIntegrations: boolean
}

/** The origins of clients whose changes may need an approval. */
const needApprovals = ['loopback', 'document', 'integration']

/**
 * Whether a change needs the approval of the client's user (design 37). Programs that an owner of the site registered
 * need no approval. The site can exempt vendor integrations. They are not exempt by default, because some run on the
 * person's computer, where any program can register under the same name.
 */
export function needsApproval(
  { covers, exemptsIntegrations }: ApprovalPolicy,
  clientOrigin: string,
  isDestructive: boolean,
): boolean {
  if (clientOrigin === 'integration' && exemptsIntegrations) return false
  if (!needApprovals.includes(clientOrigin)) return false
  return covers === 'every' || (covers === 'destructive' && isDestructive)
}

/** The time limit, in seconds, for approving a change and, after the approval, for repeating the request. */
const APPROVAL_SECONDS = 600
/** The maximum number of pending and approved changes of one client for one person at a site. */
const PENDING_MAX = 50

/** A change that a client requests. */
interface RequestedChange {
  /** The name of the mutation, or `uploadFile`. */
  readonly operation: string
  /** The arguments by name, including the fields of `input`, as the approvals page shows them. */
  readonly arguments: Readonly<Record<string, unknown>>
  readonly isDestructive: boolean
  /** Set if the change does not run yet, so its approval is not used up. */
  readonly keepsApproval?: boolean
}

/**
 * Lets a change pass, or stores it and requires an approval. An approval covers one repetition of the request by the
 * client, with equal arguments. It is used up before the change runs, unless `keepsApproval` is set.
 *
 * @returns the time of the last edit to the announcement that an approved change sends; otherwise undefined
 * @throws ChangeRefused if PENDING_MAX is reached, or if an approval is missing (with the URL of the approvals page)
 */
export async function demandApproval(
  database: Database,
  actor: SiteActor & { readonly clientId: string; readonly clientOrigin: string },
  change: RequestedChange,
  baseUrl: string,
): Promise<number | undefined> {
  const { siteId: site_id, personId: person_id, clientId: client_id, now } = actor
  if (!needApprovals.includes(actor.clientOrigin)) return
  const policy = await readApprovalPolicy(database, site_id)
  const isDestructive =
    change.isDestructive || (await restoresRegistration(database, site_id, change))
  if (!needsApproval(policy, actor.clientOrigin, isDestructive)) return
  if (!(await canExist(database, site_id, change))) return
  const { updated_at, ...content } = (await announcementOf(database, site_id, change)) ?? {}
  const given = JSON.stringify({ ...change.arguments, ...content })
  const digest = sha256(JSON.stringify([change.operation, given, updated_at]))
  const isApproved = (e: ExpressionBuilder<Schema, 'pending_change'>) =>
    e
      .and({ site_id, person_id, client_id, digest })
      .and('approved_at', 'is not', null)
      .and('expires_at', '>', now)
  const approval = change.keepsApproval
    ? database.kysely.selectFrom('pending_change').select('id').where(isApproved)
    : database.kysely.deleteFrom('pending_change').where(isApproved).returning('id')
  if (await approval.executeTakeFirst()) return updated_at
  const query = new URLSearchParams({ client: client_id })
  const page = `${baseUrl}${addressOf(pages.approvals, { site: site_id })}?${query}`
  // `changeSite` locks the site, so that parallel requests cannot exceed the limit.
  await changeSite(database, actor, async ({ trx }) => {
    const others = trx
      .selectFrom('pending_change')
      .where((e) => e.and({ site_id, person_id, client_id }))
      .where('digest', '<>', digest)
      .where('expires_at', '>', now)
    if ((await countRows(others)) >= PENDING_MAX) {
      throw limitReached(
        `the limit of ${PENDING_MAX} pending or approved changes is reached; repeat the approved requests, or ask the person to reject some at ${page}`,
      )
    }
    const renewed = { expires_at: now + APPROVAL_SECONDS * 1000, approved_at: null }
    await trx
      .insertInto('pending_change')
      .values({
        ...{ id: newId('pch'), site_id, person_id, client_id, digest, ...renewed },
        ...{ operation: change.operation, arguments: given },
      })
      .onConflict((conflict) =>
        conflict
          .columns(['site_id', 'person_id', 'client_id', 'digest'])
          .doUpdateSet({ ...renewed, id: newId('pch') })
          // Keep a row that has not expired, because the person may have approved it in the meantime.
          .where('pending_change.expires_at', '<=', now),
      )
      .execute()
  })
  throw approvalRequired(page)
}

/** Whether a change restores a cancelled registration. That needs an approval by default, unlike a new registration. */
async function restoresRegistration(
  { kysely }: Database,
  siteId: string,
  { operation, arguments: { eventId, personId } }: RequestedChange,
) {
  if (operation !== 'registerForEvent') return false
  const cancelled = kysely
    .selectFrom('event_registration')
    .innerJoin('event', 'event.id', 'event_registration.event_id')
    .where('event.site_id', '=', siteId)
    .where('event.id', '=', String(eventId))
    .where('person_id', '=', String(personId))
    .where('cancelled_at', 'is not', null)
  return (await countRows(cancelled)) > 0
}

/** Returns false if a change names an object that the site does not have. Such a change fails and needs no approval. */
async function canExist({ kysely }: Database, siteId: string, change: RequestedChange) {
  const { id } = change.arguments
  return typeof id !== 'string' || (await findNames(kysely, [id], siteId)).size > 0
}

/** Finds the announcement that a change would send. An approval covers its content, because sending is final. */
async function announcementOf(
  { kysely }: Database,
  siteId: string,
  { operation, arguments: { id } }: RequestedChange,
) {
  if (operation !== 'publishPost') return undefined
  return await kysely
    .selectFrom('post')
    .select(['topic', 'title', 'body', 'link', 'updated_at'])
    .where('site_id', '=', siteId)
    .where('id', '=', String(id))
    .where('removed_at', 'is', null)
    .executeTakeFirst()
}

export async function readApprovalPolicy({ kysely }: Pick<Database, 'kysely'>, siteId: string) {
  const {
    rows: [row],
  } = await runStatement(kysely, policyOf(kysely, { siteId }))
  return {
    covers: row?.covers ?? 'destructive',
    exemptsIntegrations: (row?.integrations_exempt_since ?? null) !== null,
  }
}

const policyOf = compiledOnce((kysely, value: Valued<{ siteId: string }>) =>
  kysely
    .selectFrom('site_approval')
    .select(['covers', 'integrations_exempt_since'])
    .where('site_id', '=', value('siteId')),
)

/** Sets the approval policy of the actor's site. */
export const setApprovalPolicy = siteChange(
  async ({ trx, actor, record }, { covers, exemptsIntegrations }: ApprovalPolicy) => {
    const { siteId: site_id, now } = actor
    const before = await readApprovalPolicy({ kysely: trx }, site_id)
    const integrations_exempt_since = exemptsIntegrations ? now : null
    await trx
      .insertInto('site_approval')
      .values({ site_id, covers, integrations_exempt_since })
      .onConflict((conflict) =>
        conflict.column('site_id').doUpdateSet({ covers, integrations_exempt_since }),
      )
      .execute()
    const after = { covers, exemptsIntegrations }
    record('site.approval', { kind: 'site', id: site_id }, { before, after })
  },
)

/** Lists a person's pending and approved changes at a site, in order of expiry. `clientId` filters by client. */
export async function listPendingChanges(
  database: Database,
  person: Pick<SiteActor, 'siteId' | 'personId' | 'now'>,
  clientId: string | undefined,
) {
  const { siteId, personId, now } = person
  const rows = await database.kysely
    .selectFrom('pending_change')
    .selectAll()
    .where('site_id', '=', siteId)
    .where('person_id', '=', personId)
    .where('expires_at', '>', now)
    .$if(clientId !== undefined, (query) => query.where('client_id', '=', clientId ?? ''))
    .orderBy('expires_at')
    .orderBy('id')
    .execute()
  const changes = rows.map((row) => {
    const given = Object.entries<unknown>(JSON.parse(row.arguments))
    return { ...row, given: given.filter(([name]) => name !== 'idempotencyKey') }
  })
  const values = changes.flatMap(({ given }) => given.map(([, value]) => value))
  const texts = values.filter((value) => typeof value === 'string')
  const names = await findNames(database.kysely, texts, siteId)
  return changes.map(({ id, client_id, operation, approved_at, expires_at, given }) => ({
    ...{ id, operation, clientId: client_id, expiresAt: expires_at },
    isApproved: approved_at !== null,
    given: given.map(([name, value]) => {
      const text = typeof value === 'string' ? value : JSON.stringify(value)
      return { name, value: text, named: text === value ? names.get(text) : undefined }
    }),
  }))
}

/**
 * Approves or rejects changes that clients requested for the actor. Rejecting an approved change revokes its approval.
 * Ignores ids of other changes. Records an audit event for each decision, and returns the number of decisions.
 */
export const decidePendingChanges = siteChange(
  async (
    { trx, actor: { siteId: site_id, personId: person_id, now }, record },
    { ids, isApproved }: { readonly ids: readonly string[]; readonly isApproved: boolean },
  ) => {
    if (ids.length === 0) return 0
    const approval = { approved_at: now, expires_at: now + APPROVAL_SECONDS * 1000 }
    const decided = await trx
      .updateTable('pending_change')
      .set(isApproved ? approval : { expires_at: 0 })
      .where('id', 'in', ids)
      .where((e) => e.and({ site_id, person_id }))
      .$if(isApproved, (query) => query.where('approved_at', 'is', null))
      .where('expires_at', '>', now)
      .returning(['operation', 'client_id', 'digest'])
      .execute()
    const action = isApproved ? 'change.approve' : 'change.reject'
    for (const { operation, client_id, digest } of decided) {
      record(action, { kind: 'client', id: client_id }, { after: { operation, digest } })
    }
    return decided.length
  },
)
