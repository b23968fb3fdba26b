/**
 * Invitations to a site, for operators. An invitation is a one-time link that is sent to an e-mail address. No account
 * changes until the person accepts it (joining.ts). Operators do not learn whether the address has an account.
 */

import { type Kysely, sql, type Transaction } from 'kysely'
import { z } from 'zod'

import { queueMail } from '../../directory/mail/messages.ts'
import { sendRecovery } from '../../directory/people/link-requests.ts'
import { createLink } from '../../directory/people/one-time-links.ts'
import type { Database } from '../../platform/store/database.ts'
import { orderBy, pagedRows } from '../../platform/store/keyset.ts'
import { canonicalEmail } from '../../platform/store/mail-address.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { checkedChange, type SiteActor, type SiteWork, siteChange } from '../changes/change.ts'
import { line, mailAddress, NAME_LENGTH_MAX } from '../changes/input.ts'
import { limitReached, mustBeThere } from '../changes/refusals.ts'
import { mustBeAllowedToChangeOwners, mustHaveRoles, rolesSchema } from './site-roles.ts'

const INVITATION_SECONDS = 7 * 86_400
const DAY_MS = 86_400_000
/** The maximum number of recovery e-mails that a site can send to a member in 24 hours. */
const RECOVERIES_PER_DAY_MAX = 3

const newInvitation = z.strictObject({
  email: mailAddress,
  name: line(NAME_LENGTH_MAX).nullish(),
  roles: rolesSchema,
})

export type NewInvitation = z.input<typeof newInvitation>

/** The column `data` of an invitation's link: roles, suggested name and sender. */
export interface InvitationData {
  readonly roles: readonly SiteRole[]
  /** The name that the operator entered, as a suggestion for a new account. */
  readonly name: string | undefined
  /** The id of the operator who last sent the invitation. */
  readonly invitedBy: string
}

export type Invitations = ReturnType<typeof makeInvitations>

/**
 * Creates the functions that invite people and send recovery e-mails.
 *
 * @param perSiteAndDayMax the maximum number of invitations that a site can send in 24 hours
 */
export function makeInvitations(perSiteAndDayMax: number) {
  const mustBeAllowed = async (site: SiteWork, roles: readonly SiteRole[]) => {
    await mustBeAllowedToChangeOwners(site.trx, site.actor, roles)
    await mustBeWithinLimit(site, perSiteAndDayMax)
  }
  const send = async ({ trx, actor }: SiteWork, to: string, linkId: string) => {
    const { siteId, personId, now } = actor
    const person = trx.selectFrom('person').select('name').where('id', '=', personId)
    const { name: invitedBy } = await person.executeTakeFirstOrThrow()
    // When the e-mail is sent, mail.ts chooses its text. People who already have an account get a different text.
    await queueMail(trx, { kind: 'invitation', to, siteId, linkId, values: { invitedBy } }, now)
  }
  return {
    /**
     * Invites the person who has the given e-mail address. Replaces an earlier invitation to the site for that address.
     * Returns the id of the invitation. Throws ChangeRefused if a value is invalid, if a non-owner offers the role
     * `owner`, or if the site has reached its limit.
     */
    invite: checkedChange(newInvitation, async (site, { email: typed, name, roles }) => {
      await mustBeAllowed(site, roles)
      const { siteId, personId: invitedBy, now: nowMs } = site.actor
      const email = canonicalEmail(typed)
      await deleteInvitations(site.trx, siteId).where('email_canonical', '=', email).execute()
      const offer: InvitationData = { roles, name: name ?? undefined, invitedBy }
      const data = JSON.stringify(offer)
      const whose = { email, siteId, data, livesSeconds: INVITATION_SECONDS }
      const id = await createLink(site.trx, { kind: 'invitation', ...whose }, nowMs)
      await send(site, email, id)
      site.record('member.invite', { kind: 'invitation', id }, { after: { roles } })
      return id
    }),

    /**
     * Sends a pending invitation again and extends it to seven days from now. Throws ChangeRefused if no such
     * invitation is pending, if a non-owner offers the role `owner`, or if the site has reached its limit.
     */
    resend: siteChange(async (site, id: string) => {
      const { siteId, personId: invitedBy, now } = site.actor
      const found = await findInvitation(site.trx, { siteId, nowMs: now }, id)
      const { email, data } = mustBeThere(found, 'invitation')
      const offer = readOffer(data)
      await mustBeAllowed(site, offer.roles)
      await site.trx
        .updateTable('one_time_link')
        .set({ data: JSON.stringify({ ...offer, invitedBy }) })
        .set({ expires_at: now + INVITATION_SECONDS * 1000 })
        .where('id', '=', id)
        .execute()
      await send(site, email, id)
      const after = { roles: offer.roles }
      site.record('member.invite', { kind: 'invitation', id }, { before: after, after })
    }),
    withdraw,
    sendRecovery: sendMemberRecovery,
  }
}

/** Withdraws an invitation, so its link no longer works. Throws ChangeRefused for an unknown invitation. */
const withdraw = siteChange(async ({ trx, actor, record }, id: string) => {
  const deletion = deleteInvitations(trx, actor.siteId).where('id', '=', id)
  const withdrawn = await deletion.returning('data').executeTakeFirst()
  const { roles } = readOffer(mustBeThere(withdrawn, 'invitation').data)
  record('member.uninvite', { kind: 'invitation', id }, { before: { roles } })
})

/**
 * Sends a recovery e-mail to a member. The response reveals nothing about the account. Throws ChangeRefused if the
 * member is unknown, or has received the maximum number of e-mails.
 */
const sendMemberRecovery = siteChange(async ({ trx, actor, record }, personId: string) => {
  const { siteId, now } = actor
  await mustHaveRoles(trx, siteId, personId)
  const sent = eventsOfDay(trx, actor).where('person_id', '=', personId)
  const { events } = await sent
    .where('action', '=', 'password.send_recovery')
    .executeTakeFirstOrThrow()
  const max = RECOVERIES_PER_DAY_MAX
  if (Number(events) >= max)
    throw limitReached(`a member can get ${max} recovery e-mails in 24 hours; try again later`)
  await sendRecovery(trx, { personId, siteId }, now)
  record('password.send_recovery', { kind: 'person', id: personId }, { personId })
})

type At = { readonly siteId: string; readonly nowMs: number }

/** Lists the pending invitations of a site, newest first. */
export function listInvitations({ kysely }: Database, { siteId, nowMs }: At) {
  return pagedRows(pending(kysely, siteId, nowMs), orderBy('createdAt', 'desc', 'created_at'))
}

/** Finds a pending invitation of a site. */
export async function findInvitation(kysely: Kysely<Schema>, { siteId, nowMs }: At, id: string) {
  return await pending(kysely, siteId, nowMs).where('id', '=', id).executeTakeFirst()
}

/** Parses the data of an invitation. */
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

const deleteInvitations = (trx: Transaction<Schema>, siteId: string) =>
  trx.deleteFrom('one_time_link').where('kind', '=', 'invitation').where('site_id', '=', siteId)

/** Counts audit events of the last 24 hours at the site. */
const eventsOfDay = (trx: Transaction<Schema>, { siteId, now }: SiteActor) =>
  trx
    .selectFrom('audit_event')
    .select(({ fn }) => [fn.countAll().as('events'), fn.min('occurred_at').as('first')])
    .where('occurred_at', '>', now - DAY_MS)
    .where('site_id', '=', siteId)

/** Throws ChangeRefused if the site has reached its limit. Counts audit events, so withdrawn invitations count, too. */
async function mustBeWithinLimit({ trx, actor }: SiteWork, max: number): Promise<void> {
  const { events, first } = await eventsOfDay(trx, actor)
    // Use a literal, because a parameter would not match the partial index for this action.
    .where(sql<boolean>`action = 'member.invite'`)
    .executeTakeFirstOrThrow()
  if (Number(events) < max) return
  const next = new Date(Number(first) + DAY_MS).toISOString()
  throw limitReached(`a site can send ${max} invitations in 24 hours; send more after ${next}`)
}
