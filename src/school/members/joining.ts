/** Lets people join a site by an invitation, by self sign-up, or by a first sign-in with an identity provider. */

import type { Insertable, Kysely, Transaction } from 'kysely'

import { addIdentity, type Newcomer } from '../../directory/people/linked-identities.ts'
import {
  type OneTimeLink,
  type OneTimeLinks,
  useLink,
} from '../../directory/people/one-time-links.ts'
import { accountOf, markVerified } from '../../directory/people/person-store.ts'
import { hasFeature, SELF_SIGN_UP } from '../../directory/sites/site-admin.ts'
import { operates } from '../../directory/sites/site-choice.ts'
import { recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import { canonicalEmail } from '../../platform/store/mail-address.ts'
import type { Schema, SiteRole } from '../../platform/store/schema.ts'
import { findRoles, lockSite, newId, type SiteActor } from '../changes/change.ts'
import { line, NAME_LENGTH_MAX } from '../changes/input.ts'
import { type InvitationData, readOffer } from './invitations.ts'
import { grantRoles, subscribe } from './site-roles.ts'

export interface JoiningPorts {
  readonly database: Database
  readonly links: Pick<OneTimeLinks, 'find'>
  readonly now: () => number
}

/** A valid link that lets the owner of an address join a site. */
export type Joining = NonNullable<Awaited<ReturnType<typeof readJoinLink>>>

/** The account that joins: an existing or a new account. */
export type Joiner =
  | { readonly personId: string }
  | { readonly name: string; readonly passwordHash: string }

export const personName = line(NAME_LENGTH_MAX)

export type JoiningFlows = ReturnType<typeof makeJoining>

export function makeJoining(ports: JoiningPorts) {
  const { database, links, now } = ports
  const { kysely } = database
  return {
    /** Finds a site with self sign-up, by slug or id. */
    findSignUpSite: async (name: string) =>
      await kysely
        .selectFrom('site')
        .innerJoin('site_feature as f', 'f.site_id', 'site.id')
        .select(['site.id', 'site.slug', 'site.name'])
        .where((e) => e.or([e('site.slug', '=', name), e('site.id', '=', name)]))
        .where('f.feature', '=', SELF_SIGN_UP)
        .executeTakeFirst(),

    /** Finds the site and roles of a link; undefined if the link no longer works. Does not use up the link. */
    async find(kind: 'invitation' | 'address', token: string): Promise<Joining | undefined> {
      const link = await links.find(kysely, kind, { token, nowMs: now() })
      return link && (await readJoinLink(kysely, link))
    },

    /**
     * Grants the roles that a link offers, and creates the account if it is new. Uses up the link if the person joins.
     *
     * @returns `joined`; `gone` if the link no longer works; `taken` if its address no longer belongs to `joiner`, for
     * example because an account with this address was created in the meantime
     */
    async accept({ link }: Joining, joiner: Joiner, caller: Caller): Promise<Outcome> {
      const nowMs = now()
      const joining = kysely.transaction().execute(async (trx) => {
        await lockSite(trx, database, link.siteId ?? '')
        const offered = await readJoinLink(trx, link)
        if (!offered) return 'gone'
        const { roles, site, accountId } = offered
        if (accountId !== ('personId' in joiner ? joiner.personId : undefined)) return 'taken'
        if (!(await useLink(trx, link, nowMs))) return 'gone'
        const personId = await verifiedPerson(trx, link, joiner, nowMs)
        await joinSite(trx, { ...caller, siteId: site.id, personId, now: nowMs }, roles)
        return 'joined'
      })
      return await joining.catch((error: unknown) => {
        if (error instanceof AddressTaken) return 'taken'
        throw error
      })
    },

    /** Declines an invitation and uses up its link. Operators only see that the invitation is no longer pending. */
    async decline({ link }: Joining): Promise<void> {
      await useLink(kysely, link, now())
    },
  }
}

type Caller = Pick<SiteActor, 'requestId' | 'address'>
type Outcome = 'joined' | 'gone' | 'taken'

/** Grants roles to a person who joins a site, subscribes the person to announcements, and records an audit event. */
export async function joinSite(
  trx: Transaction<Schema>,
  actor: Omit<SiteActor, 'clientId'>,
  roles: readonly SiteRole[],
): Promise<void> {
  const { siteId, personId } = actor
  const before = await findRoles(trx, siteId, personId)
  await grantRoles(trx, actor, personId, roles)
  await subscribe(trx, actor, personId)
  const after = { roles: [...new Set([...before, ...roles])].sort() }
  const subject = { kind: 'person', id: personId }
  const reportedAs = before.length > 0 ? ('member.roles' as const) : undefined
  const change = { subject, siteId, before: { roles: before }, after, reportedAs }
  await recordAuditEvent(trx, actor, { action: 'member.join', ...change })
}

/**
 * Reads a link's site, roles and suggested name for a new account, and the id of the account with its address, if any.
 * Returns undefined if the site is gone, or joining is no longer permitted.
 */
async function readJoinLink(kysely: Kysely<Schema>, link: OneTimeLink) {
  const site = await kysely
    .selectFrom('site')
    .select(['id', 'slug', 'name'])
    .where('id', '=', link.siteId ?? '')
    .executeTakeFirst()
  if (!site) return undefined
  const account = await accountOf(kysely, link.email).select('id').executeTakeFirst()
  const found = { link, site, accountId: account?.id }
  if (link.kind === 'address') {
    const roles: readonly SiteRole[] = ['student']
    const isOn = await hasFeature({ kysely }, site.id, SELF_SIGN_UP)
    return isOn ? { ...found, roles, name: undefined } : undefined
  }
  const offer = readOffer(link.data)
  const { roles, name } = offer
  return (await mayInvite(kysely, site.id, offer)) ? { ...found, roles, name } : undefined
}

/** Whether the operator who sent an invitation may still grant its roles. */
async function mayInvite(
  kysely: Kysely<Schema>,
  siteId: string,
  { invitedBy, roles }: InvitationData,
): Promise<boolean> {
  const held = await findRoles(kysely, siteId, invitedBy)
  const disabled = kysely
    .selectFrom('person')
    .select('id')
    .where('id', '=', invitedBy)
    .where('disabled_at', 'is not', null)
  if (!operates(held) || (await disabled.executeTakeFirst())) return false
  return held.includes('owner') || !roles.includes('owner')
}

/** Thrown if the address no longer belongs to the joiner. The transaction is rolled back, so the link stays usable. */
class AddressTaken extends Error {}

/** Creates the person, or marks the address of an existing person as verified. Returns the id. @throws AddressTaken */
async function verifiedPerson(
  trx: Transaction<Schema>,
  { email }: OneTimeLink,
  joiner: Joiner,
  nowMs: number,
): Promise<string> {
  if ('personId' in joiner) {
    const { personId } = joiner
    if (await markVerified(trx, personId, email, nowMs)) return personId
    throw new AddressTaken()
  }
  const { name, passwordHash: password_hash } = joiner
  const row = { email, email_verified_at: nowMs, name, password_hash, created_at: nowMs }
  const id = await insertPerson(trx, row)
  if (id === undefined) throw new AddressTaken()
  return id
}

/** Creates an account. @returns its id; undefined if the address has an account */
async function insertPerson(
  trx: Transaction<Schema>,
  row: Omit<Insertable<Schema['person']>, 'id' | 'email_canonical'>,
): Promise<string | undefined> {
  const id = newId('per')
  const person = { ...row, id, email_canonical: canonicalEmail(row.email) }
  return (await insertNew(trx, 'person', person)) ? id : undefined
}

/**
 * Creates the function that creates a newcomer's account. The provider must have verified the address. The function
 * returns false without `siteId`, or if the address has an account. For a provider of the platform, it also returns
 * false if the site does not allow self sign-up.
 */
export function makeNewcomers({ kysely }: Database, now: () => number) {
  return async (newcomer: Newcomer, caller: Caller): Promise<boolean> => {
    const { email, name, siteId, provider } = newcomer
    const { siteId: ofSite, role = 'student' } = provider
    if (siteId === undefined) return false
    if (ofSite === undefined && !(await hasFeature({ kysely }, siteId, SELF_SIGN_UP))) return false
    const nowMs = now()
    const row = {
      email,
      // A site's provider can verify an address only for its own site, so the account's address stays unverified.
      email_verified_at: ofSite === undefined ? nowMs : null,
      name: personName.safeParse(name).data ?? email.replace(/@.*/, ''),
      created_at: nowMs,
    }
    return await kysely.transaction().execute(async (trx) => {
      const personId = await insertPerson(trx, row)
      if (personId === undefined) return false
      const isAdded = await addIdentity(trx, newcomer, personId, nowMs)
      // The rollback also removes the account, which no person could sign in to.
      if (!isAdded) throw new Error('a parallel sign-in has linked the identity')
      await joinSite(trx, { ...caller, siteId, personId, now: nowMs }, [role])
      return true
    })
  }
}
