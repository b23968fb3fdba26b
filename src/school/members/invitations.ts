/**
 * Invitations to a site, for operators. An invitation is a one-time link to an e-mail address. Until the person accepts
 * it (joining.ts), no account is read or changed, so operators cannot learn who has one.
 */

import { type Kysely, sql, type Transaction } from 'kysely'
import { z } from 'zod'

import type { QueueMail } from '../../directory/mail/messages.ts'
import type { LinkRequests } from '../../directory/people/link-requests.ts'
import type { OneTimeLinks } from '../../directory/people/one-time-links.ts'
import { canonicalEmail } from '../../directory/people/person-store.ts'
import type { Database } from '../../platform/store/database.ts'
import { orderBy, pagedRows } from '../../platform/store/keyset.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { changeSite, type SiteActor } from '../changes/change.ts'
import { line, NAME_LENGTH_MAX, readInput } from '../changes/input.ts'
import { limitReached, mustBeThere } from '../changes/refusals.ts'
import { mustBeAllowedToChangeOwners, rolesSchema } from './change-members.ts'
import { mustHaveRoles } from './site-roles.ts'

/** How long an invitation works, in seconds. */
const INVITATION_SECONDS = 7 * 86_400
const DAY_MS = 86_400_000
/** How many recovery mails operators of a site can send to a member in 24 hours. */
const RECOVERIES_PER_DAY_MAX = 3

const newInvitation = z.strictObject({
  email: z.email('must be an e-mail address').max(254, 'must have at most 254 characters'),
  name: line(NAME_LENGTH_MAX).nullish(),
  roles: rolesSchema,
})

export type NewInvitation = z.input<typeof newInvitation>

/** What an invitation offers: the column `data` of its link. */
export interface InvitationData {
  readonly roles: readonly SiteRole[]
  /** The name that the operator entered, as a suggestion for a new account. */
  readonly name: string | undefined
  /** The operator who sent it last. */
  readonly invitedBy: string
}

export interface InvitationPorts {
  readonly links: Pick<OneTimeLinks, 'create'>
  readonly queueMail: QueueMail
  readonly linkRequests: Pick<LinkRequests, 'recoveryOf'>
}

type LimitedPorts = InvitationPorts & { readonly perSiteAndDayMax: number }

export type Invitations = ReturnType<typeof makeInvitations>

/**
 * Creates the functions with which operators invite people and send recovery mails.
 *
 * @param perSiteAndDayMax how many invitations a site can send in 24 hours
 */
export function makeInvitations(given: InvitationPorts, perSiteAndDayMax: number) {
  const ports = { ...given, perSiteAndDayMax }
  return {
    invite: async (database: Database, actor: SiteActor, input: NewInvitation) =>
      await invite(ports, database, actor, input),
    resend: async (database: Database, actor: SiteActor, id: string) =>
      await resend(ports, database, actor, id),
    withdraw,
    sendRecovery: async (database: Database, actor: SiteActor, personId: string) =>
      await sendRecovery(ports, database, actor, personId),
  }
}

/**
 * Invites the person with an e-mail address. Replaces an earlier invitation of that address to the site.
 *
 * @returns the id of the invitation
 * @throws ChangeRefused for an invalid value, if a non-owner invites an owner, or above the limit of the site
 */
async function invite(
  ports: LimitedPorts,
  database: Database,
  actor: SiteActor,
  input: NewInvitation,
): Promise<string> {
  const { email: typed, name, roles } = readInput(newInvitation, input)
  return await changeSite(database, actor, async (trx, record) => {
    await mustBeAllowedToChangeOwners(trx, actor, roles)
    await mustBeWithinLimit(trx, actor, ports.perSiteAndDayMax)
    const { siteId, personId: invitedBy, now: nowMs } = actor
    const email = canonicalEmail(typed)
    await ofSite(trx.deleteFrom('one_time_link'), siteId)
      .where('email_canonical', '=', email)
      .execute()
    const data: InvitationData = { roles, name: name ?? undefined, invitedBy }
    const link = { kind: 'invitation' as const, email, emailCanonical: email, siteId }
    const life = { nowMs, livesSeconds: INVITATION_SECONDS }
    const linkId = await ports.links.create(trx, { ...link, data: JSON.stringify(data) }, life)
    await send(trx, ports, actor, { to: email, linkId })
    await record('member.invite', { kind: 'invitation', id: linkId }, { after: { roles } })
    return linkId
  })
}

/**
 * Sends a pending invitation again, which then works for another seven days.
 *
 * @throws ChangeRefused if it is unknown, if a non-owner invites an owner, or above the limit of the site
 */
async function resend(
  ports: LimitedPorts,
  database: Database,
  actor: SiteActor,
  id: string,
): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const found = await pending(trx, actor.siteId, actor.now)
      .where('id', '=', id)
      .executeTakeFirst()
    const { email, data } = mustBeThere(found, 'invitation')
    const offer = readOffer(data)
    await mustBeAllowedToChangeOwners(trx, actor, offer.roles)
    await mustBeWithinLimit(trx, actor, ports.perSiteAndDayMax)
    await ofSite(trx.updateTable('one_time_link'), actor.siteId)
      .set({
        data: JSON.stringify({ ...offer, invitedBy: actor.personId }),
        expires_at: actor.now + INVITATION_SECONDS * 1000,
      })
      .where('id', '=', id)
      .execute()
    await send(trx, ports, actor, { to: email, linkId: id })
    const after = { roles: offer.roles }
    await record('member.invite', { kind: 'invitation', id }, { before: after, after })
  })
}

/** Withdraws an invitation, so its link no longer works. @throws ChangeRefused if it is unknown */
async function withdraw(database: Database, actor: SiteActor, id: string): Promise<void> {
  await changeSite(database, actor, async (trx, record) => {
    const withdrawn = await ofSite(trx.deleteFrom('one_time_link'), actor.siteId)
      .where('id', '=', id)
      .returning('data')
      .executeTakeFirst()
    const { roles } = readOffer(mustBeThere(withdrawn, 'invitation').data)
    await record('member.uninvite', { kind: 'invitation', id }, { before: { roles } })
  })
}

/**
 * Sends a recovery mail to a member. The operator learns nothing about the account.
 *
 * @throws ChangeRefused for an unknown member, or above the limit of the member
 */
async function sendRecovery(
  ports: LimitedPorts,
  database: Database,
  actor: SiteActor,
  personId: string,
): Promise<void> {
  const { siteId } = actor
  await changeSite(database, actor, async (trx, record) => {
    await mustHaveRoles(trx, siteId, personId)
    const sent = countSince(trx, actor.now)
      .where('person_id', '=', personId)
      .where('site_id', '=', siteId)
      .where('action', '=', 'password.send_recovery')
    const { events } = await sent.executeTakeFirstOrThrow()
    if (Number(events) >= RECOVERIES_PER_DAY_MAX) {
      throw limitReached(
        `a member can be sent ${RECOVERIES_PER_DAY_MAX} recovery mails in 24 hours`,
      )
    }
    await ports.linkRequests.recoveryOf(trx, { personId, siteId }, actor.now)
    await record('password.send_recovery', { kind: 'person', id: personId }, { personId })
  })
}

async function send(
  trx: Transaction<Schema>,
  { queueMail }: InvitationPorts,
  { siteId, personId, now }: SiteActor,
  { to, linkId }: { readonly to: string; readonly linkId: string },
): Promise<void> {
  const { name: invitedBy } = await trx
    .selectFrom('person')
    .select('name')
    .where('id', '=', personId)
    .executeTakeFirstOrThrow()
  // The mail to a person with an account has another text (messages.ts), chosen when it is sent.
  await queueMail(trx, { kind: 'invitation', to, siteId, linkId, values: { invitedBy } }, now)
}

/** Lists the pending invitations of a site, newest first. */
export function listInvitations(
  { kysely }: Database,
  { siteId, nowMs }: { readonly siteId: string; readonly nowMs: number },
) {
  return pagedRows(pending(kysely, siteId, nowMs), orderBy('createdAt', 'desc', 'created_at'))
}

/** Finds a pending invitation of a site. */
export async function findInvitation(
  kysely: Kysely<Schema>,
  { siteId, nowMs }: { readonly siteId: string; readonly nowMs: number },
  id: string,
) {
  return await pending(kysely, siteId, nowMs).where('id', '=', id).executeTakeFirst()
}

/** Reads what an invitation offers. */
export function readOffer(data: string | null | undefined): InvitationData {
  return JSON.parse(data ?? '') as InvitationData
}

function pending(kysely: Kysely<Schema>, siteId: string, nowMs: number) {
  return kysely
    .selectFrom('one_time_link')
    .select(['id', 'email', 'data', 'created_at as createdAt', 'expires_at as expiresAt'])
    .where('site_id', '=', siteId)
    .where('kind', '=', 'invitation')
    .where('expires_at', '>', nowMs)
}

/** Restricts a statement on links to the invitations of a site. */
function ofSite<Query extends { where(condition: ReturnType<typeof sql<boolean>>): Query }>(
  query: Query,
  siteId: string,
): Query {
  return query.where(sql<boolean>`kind = 'invitation' and site_id = ${siteId}`)
}

function countSince(trx: Transaction<Schema>, nowMs: number) {
  return trx
    .selectFrom('audit_event')
    .select(({ fn }) => [fn.countAll().as('events'), fn.min('occurred_at').as('first')])
    .where('occurred_at', '>', nowMs - DAY_MS)
}

/** Throws ChangeRefused at the limit. Counts audit events, because withdrawing an invitation must not allow another. */
async function mustBeWithinLimit(
  trx: Transaction<Schema>,
  { siteId, now }: SiteActor,
  max: number,
): Promise<void> {
  const { events, first } = await countSince(trx, now)
    .where('site_id', '=', siteId)
    // A literal, so the databases use the index for this action.
    .where(sql<boolean>`action = 'member.invite'`)
    .executeTakeFirstOrThrow()
  if (Number(events) < max) return
  const next = new Date(Number(first) + DAY_MS).toISOString()
  throw limitReached(`a site can send ${max} invitations in 24 hours; send more after ${next}`)
}
