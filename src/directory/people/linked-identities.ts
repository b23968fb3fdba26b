/** Stores the identities that people have at identity providers. Provider, issuer and subject identify a person. */

import type { ExpressionBuilder, Kysely, Transaction } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import type { Database } from '../../platform/store/database.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { queueMail } from '../mail/messages.ts'
import type { SignIn } from './authenticate.ts'
import type { IdentityProvider, ProvidedIdentity } from './identity-providers.ts'
import type { KnownBrowsers, KnownSignIns } from './known-browsers.ts'
import { accountOf } from './person-store.ts'

export type LinkedIdentities = ReturnType<typeof makeLinkedIdentities>

export interface NewIdentity extends Pick<ProvidedIdentity, 'issuer' | 'subject'> {
  readonly provider: Pick<IdentityProvider, 'id' | 'name' | 'siteId' | 'role'>
  readonly email: string
}

/** An identity that belongs to no account yet. */
export interface Newcomer extends NewIdentity, Pick<ProvidedIdentity, 'name'> {
  /** The site whose application the person wants to use, if any. */
  readonly siteId: string | undefined
}

/** A person whom a provider has authenticated. */
export type SignedInPerson = Omit<Extract<SignIn, { readonly kind: 'signed-in' }>, 'kind'>

interface IdentitiesPorts {
  readonly database: Database
  readonly browsers: Pick<KnownBrowsers, 'welcome'>
  readonly platformProviders: readonly Pick<IdentityProvider, 'id' | 'name'>[]
  readonly now: () => number
}

export type IdentityKey = Readonly<Record<'providerId' | 'issuer' | 'subject', string>>

type Caller = Pick<Actor, 'requestId' | 'address'>

export function makeLinkedIdentities(ports: IdentitiesPorts) {
  const { browsers, now } = ports
  const { kysely } = ports.database
  return {
    /** Finds the person to whom an identity is linked, records its use, and marks the browser as known. */
    async use(
      identity: IdentityKey,
      known: KnownSignIns | undefined,
    ): Promise<SignedInPerson | 'disabled' | undefined> {
      const row = await kysely
        .updateTable('linked_identity')
        .set({ last_used_at: now() })
        .where(isIdentity(identity))
        .returning('person_id')
        .executeTakeFirst()
      if (!row) return undefined
      const person = await kysely
        .selectFrom('person')
        .leftJoin('totp', 'totp.person_id', 'person.id')
        .select(['person.id as personId', 'email_canonical as login', 'disabled_at as disabledAt'])
        .select(['signed_out_at as signedOutAt', 'confirmed_at'])
        .where('person.id', '=', row.person_id)
        .executeTakeFirstOrThrow()
      const { personId, login, disabledAt, signedOutAt } = person
      if (disabledAt !== null) return 'disabled'
      const needsSecondFactor = person.confirmed_at !== null
      return { personId, needsSecondFactor, ...browsers.welcome(known, login, signedOutAt) }
    },

    hasAccount: async (email: string): Promise<boolean> =>
      (await accountOf(kysely, email).select('id').executeTakeFirst()) !== undefined,

    /** Links an identity to a person with the same address. @returns false if the addresses differ or a link exists */
    link: async (identity: NewIdentity, personId: string, caller: Caller): Promise<boolean> =>
      await kysely.transaction().execute(async (trx) => {
        const person = await accountOf(trx, identity.email).select('id').executeTakeFirst()
        if (person?.id !== personId || !(await addIdentity(trx, identity, personId, now())))
          return false
        const { id: provider, name, siteId } = identity.provider
        const actor = { ...caller, personId, now: now() }
        const subject = { kind: 'person', id: personId }
        const change = { action: 'identity.link', subject, siteId, after: { provider } } as const
        await recordAuditEvent(trx, actor, change)
        const values = { provider: name, change: 'linked' } as const
        await queueMail(trx, { kind: 'identity_changed', personId, siteId, values }, now())
        return true
      }),

    ...makeIdentityList(ports),
  }
}

/** Creates the functions that list and remove the linked identities of a person. */
function makeIdentityList(ports: IdentitiesPorts) {
  const { now } = ports
  const { kysely } = ports.database
  const platformProviders = new Map(ports.platformProviders.map(({ id, name }) => [id, name]))
  const nameOf = ({ name, providerId, issuer }: IdentityKey & { readonly name: string | null }) =>
    name ?? platformProviders.get(providerId) ?? issuer
  return {
    /** Lists the identities that are linked to a person, the oldest first. */
    list: async (personId: string) => {
      const rows = await linkedTo(kysely, personId).execute()
      return rows.map((row) => ({ ...row, providerName: nameOf(row) }))
    },

    /**
     * Removes an identity from a person's account, unless the person could then sign in only at individual sites, or
     * not at all. Records an audit event, and mails the person.
     *
     * @returns true if the identity was kept for this reason
     */
    remove: async (identity: IdentityKey, actor: Actor) =>
      await kysely.transaction().execute(async (trx) => {
        const { personId } = actor
        const hasOtherWay = await lockWays(trx, personId)
        const linked = await linkedTo(trx, personId).execute()
        const { providerId, issuer, subject } = identity
        const isMeant = (row: IdentityKey) =>
          row.providerId === providerId && row.issuer === issuer && row.subject === subject
        const row = linked.find(isMeant)
        if (!row) return false
        const isWhole = (each: IdentityKey) => platformProviders.has(each.providerId)
        const isLast = !linked.some((each) => isWhole(each) && !isMeant(each))
        if (isLast && !hasOtherWay) return true
        await trx.deleteFrom('linked_identity').where(isIdentity(identity)).execute()
        const siteId = row.siteId ?? undefined
        const about = { kind: 'person', id: personId }
        const change = { action: 'identity.unlink', subject: about, siteId } as const
        await recordAuditEvent(trx, actor, { ...change, before: { provider: providerId } })
        const values = { provider: nameOf(row), change: 'removed' } as const
        await queueMail(trx, { kind: 'identity_changed', personId, siteId, values }, now())
        return false
      }),
  }
}

const isIdentity =
  ({ providerId: provider_id, issuer, subject }: IdentityKey) =>
  (eb: ExpressionBuilder<Schema, 'linked_identity'>) =>
    eb.and({ provider_id, issuer, subject })

function linkedTo(kysely: Kysely<Schema>, personId: string) {
  return kysely
    .selectFrom('linked_identity as l')
    .leftJoin('identity_provider as p', 'p.id', 'l.provider_id')
    .leftJoin('site as s', 's.id', 'p.site_id')
    .select(['l.provider_id as providerId', 'l.issuer', 'subject', 'linked_at as linkedAt'])
    .select(['last_used_at as usedAt', 'p.name', 'p.site_id as siteId', 's.name as siteName'])
    .where('l.person_id', '=', personId)
    .orderBy('linked_at')
}

/**
 * Returns whether a person has a password or a usable passkey. Locks the person's row (a no-op update locks in both
 * databases). Otherwise, two parallel removals could each rely on the identity that the other removes.
 */
async function lockWays(trx: Transaction<Schema>, personId: string): Promise<boolean> {
  const person = await trx
    .updateTable('person')
    .set((eb) => ({ name: eb.ref('name') }))
    .where('id', '=', personId)
    .returning('password_hash')
    .executeTakeFirst()
  const passkey = trx.selectFrom('passkey').select('id').where('person_id', '=', personId)
  const usable = await passkey.where('cloned_at', 'is', null).executeTakeFirst()
  return Boolean(person?.password_hash ?? usable)
}

/** Links an identity to a person. @returns false if the identity is already linked */
export async function addIdentity(
  trx: Kysely<Schema>,
  { provider, issuer, subject }: NewIdentity,
  personId: string,
  nowMs: number,
): Promise<boolean> {
  const identity = { provider_id: provider.id, issuer, subject, person_id: personId }
  const times = { linked_at: nowMs, last_used_at: nowMs }
  return await insertNew(trx, 'linked_identity', { ...identity, ...times })
}
