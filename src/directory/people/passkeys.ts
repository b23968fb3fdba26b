import { createHmac } from 'node:crypto'

import type { Transaction } from 'kysely'

import { type Actor, recordAuditEvent } from '../../platform/audit/record-audit-event.ts'
import { networkOf } from '../../platform/limits/client-network.ts'
import type { Limits } from '../../platform/limits/limits.ts'
import type { Database } from '../../platform/store/database.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { queueMail } from '../mail/messages.ts'
import type { KnownBrowsers, KnownSignIns } from './known-browsers.ts'
import type { Person } from './person-store.ts'
import * as webauthn from './webauthn.ts'

export interface FactorPorts {
  readonly database: Database
  readonly limits: Pick<Limits, 'takeTogether' | 'giveBack' | 'exceeded'>
  readonly now: () => number
}

interface PasskeyPorts {
  readonly browsers: Pick<KnownBrowsers, 'welcome'>
  readonly baseUrl: string
  readonly challengeKey: Buffer
}

export type Passkeys = ReturnType<typeof makePasskeys>

/** Creates the functions that check, add and manage passkeys, and return the options for browsers. */
export function makePasskeys(ports: FactorPorts, more: PasskeyPorts) {
  const { limits } = ports
  const { browsers, baseUrl, challengeKey } = more
  const party = webauthn.relyingPartyOf(baseUrl)
  const store = makePasskeyStore(ports)
  // Challenges are derived from the interaction or session, so they need not be stored.
  const keyed = (what: string) =>
    createHmac('sha256', challengeKey).update(`passkey ${what}`).digest('base64url')

  /** Checks a passkey's response in an interaction, and records the use. */
  const check = async (
    text: string,
    { uid, owner, needsTwo }: Checked,
    request: Partial<Actor>,
  ) => {
    const sent = webauthn.readCredential(text)
    const found = sent && (await store.find(sent.id))
    const personId = owner ?? found?.personId
    const refused = (why: PasskeyRefusal) => ({ kind: 'refused', why, personId }) as const
    if (!found || !party || found.personId !== personId) return refused('unknown passkey')
    const challenge = keyed(`in interaction ${uid}`)
    const info = await webauthn.verifyUse(sent, found.publicKey, { party, challenge })
    if (!info) return refused('invalid passkey response')
    const refusal = refusalOf(found, info.userVerified || owner !== undefined, needsTwo)
    if (refusal) return refused(refusal)
    const recorded = await store.use(sent.id, { ...info, challenge }, request)
    if (recorded !== 'used') return refused(`${recorded} passkey`)
    const method = info.userVerified ? 'verifiedPasskey' : 'passkey'
    return { ...found, kind: 'accepted', method } as const
  }

  /** Returns the options for using a passkey in an interaction; undefined if this host cannot have passkeys. */
  const requestOptions = (uid: string, userVerification = 'preferred') =>
    party && { challenge: keyed(`in interaction ${uid}`), rpId: party.id, userVerification }

  return {
    ...store,
    check,
    /** Whether browsers support passkeys for the host of the service. They do not support passkeys for IP addresses. */
    areAvailable: party !== undefined,
    /** Checks a passkey's response at sign-in, and marks the browser as known. */
    async signIn(text: string, { known, address, ...use }: PasskeyUse, request: Partial<Actor>) {
      const limit = ['attemptsOfAddress', networkOf(address)] as const
      const exceeded = await limits.takeTogether(...limit)
      if (exceeded) return { kind: 'limited', waitSeconds: exceeded.waitSeconds } as const
      const checked = await check(text, use, request)
      if (checked.kind === 'refused') return checked
      await limits.giveBack(...limit)
      return { ...checked, ...browsers.welcome(known, checked.login, checked.signedOutAt) }
    },
    requestOptions,
    /** Returns the options for using one of a person's passkeys; undefined if none is usable. */
    async optionsOf(personId: string, uid: string) {
      const live = (await store.list(personId)).filter(({ clonedAt }) => clonedAt === null)
      const allowCredentials = live.map(({ id }) => ({ type: 'public-key', id }))
      const options = requestOptions(uid)
      return options && live.length > 0 ? { ...options, allowCredentials } : undefined
    },
    /** Returns the options for adding a passkey in a session; undefined if this host cannot have passkeys. */
    creationOptions: ({ id, name, email }: Person, sessionId: string, existing: string[]) =>
      party && {
        rp: { id: party.id, name: party.id },
        // Authenticators may reveal this id to anyone, so it must not identify the person (WebAuthn §14.6.1).
        user: { id: keyed(`of ${id}`), name: email, displayName: name },
        challenge: keyed(`in session ${sessionId}`),
        pubKeyCredParams: webauthn.COSE_ALGORITHMS.map((alg) => ({ type: 'public-key', alg })),
        excludeCredentials: existing.map((each) => ({ type: 'public-key', id: each })),
        authenticatorSelection: { residentKey: 'required' },
      },
    /** Adds a passkey that was created in a session. Returns the reason for a failure, or undefined. */
    async add(text: string, sessionId: string, name: string, actor: Actor) {
      const sent = webauthn.readCredential(text)
      const challenge = keyed(`in session ${sessionId}`)
      const info = sent && party && (await webauthn.verifyNew(sent, { party, challenge }))
      return info ? await store.insert(info, name, actor) : 'invalid'
    },
  }
}

/** The reason for rejecting a passkey, for the audit trail. */
export type PasskeyRefusal =
  | `${'unknown' | 'unverified' | 'stale' | 'copied'} passkey`
  | 'invalid passkey response'
  | 'passkey of a disabled account'

function refusalOf(
  { disabledAt, appAddedAt }: { disabledAt: number | null; appAddedAt: number | null },
  hasTwoFactors: boolean,
  needsTwo = false,
): PasskeyRefusal | undefined {
  if (disabledAt !== null) return 'passkey of a disabled account'
  // A single factor must not replace the two factors that an account with an authenticator app needs.
  const isOneEnough = appAddedAt === null && !needsTwo
  return hasTwoFactors || isOneEnough ? undefined : 'unverified passkey'
}

interface Checked {
  readonly uid: string
  /** The person who has completed the first factor; undefined if the passkey is the first factor. */
  readonly owner?: string | undefined
  /** Whether the request needs two factors. */
  readonly needsTwo?: boolean | undefined
}

interface PasskeyUse extends Checked {
  /** The earlier sign-ins that the browser remembers. */
  readonly known: KnownSignIns | undefined
  /** The client IP address. */
  readonly address: string
}

const PASSKEYS_MAX = 20

const changes = {
  added: { action: 'passkey.add' },
  removed: { action: 'passkey.remove' },
  copied: { action: 'passkey.clone' },
} as const

/** Creates the functions that store passkeys. Changes and detected copies are audited, and the person is notified. */
function makePasskeyStore({ database: { kysely }, now }: FactorPorts) {
  /** Reports a change. If the first factor was a copied passkey, its user is unknown, so the event has no actor. */
  const report = async (
    trx: Transaction<Schema>,
    change: keyof typeof changes,
    { person_id: personId, name: passkey }: Pick<Schema['passkey'], 'person_id' | 'name'>,
    actor: Partial<Actor>,
  ) => {
    const subject = { kind: 'person', id: personId }
    const event = { ...changes[change], subject, siteId: undefined, after: { passkey } }
    await recordAuditEvent(trx, { ...actor, now: now() }, { ...event, personId })
    const values = { passkey, change }
    await queueMail(trx, { kind: 'passkey_changed', personId, values }, now())
  }
  return {
    /** Finds a passkey and its owner. */
    find: async (id: string) =>
      await kysely
        .selectFrom('passkey')
        .innerJoin('person', 'person.id', 'passkey.person_id')
        .leftJoin('totp', 'totp.person_id', 'person.id')
        .select(['person.id as personId', 'email_canonical as login', 'public_key as publicKey'])
        .select('totp.confirmed_at as appAddedAt')
        .select(['disabled_at as disabledAt', 'signed_out_at as signedOutAt'])
        .where('passkey.id', '=', id)
        .executeTakeFirst(),
    /** Lists the passkeys of a person, the oldest first. */
    list: async (personId: string) =>
      await kysely
        .selectFrom('passkey')
        .select(['id', 'name', 'created_at as addedAt', 'last_used_at as usedAt'])
        .select(['backed_up_at as backedUpAt', 'cloned_at as clonedAt'])
        .where('person_id', '=', personId)
        .orderBy('created_at')
        .execute(),
    insert: async (info: webauthn.NewInfo, name: string, actor: Actor) =>
      await kysely.transaction().execute(async (trx) => {
        const { personId: person_id } = actor
        // A no-op update locks the person, so parallel additions cannot exceed the maximum.
        const lock = trx.updateTable('person').set((e) => ({ id: e.ref('id') }))
        await lock.where('id', '=', person_id).execute()
        const own = trx.selectFrom('passkey').select('id').where('person_id', '=', person_id)
        if ((await own.execute()).length >= PASSKEYS_MAX) return 'tooMany'
        const { id, publicKey, counter } = info.credential
        const public_key = Buffer.from(publicKey).toString('base64url')
        const times = { created_at: now(), backed_up_at: info.credentialBackedUp ? now() : null }
        const row = { id, person_id, public_key, counter, name, ...times }
        if (!(await insertNew(trx, 'passkey', row))) return 'known'
        return await report(trx, 'added', row, actor)
      }),
    remove: async (id: string, actor: Actor) =>
      await kysely.transaction().execute(async (trx) => {
        const removal = trx.deleteFrom('passkey').where('id', '=', id).returningAll()
        const row = await removal.where('person_id', '=', actor.personId).executeTakeFirst()
        if (row) await report(trx, 'removed', row, actor)
      }),
    /** Records a use with `recordUse`, and reports a passkey that turns out to be copied. */
    use: async (id: string, use: Use, request: Partial<Actor>) =>
      await kysely.transaction().execute(async (trx) => {
        const recorded = await recordUse(trx, id, use, now())
        if (typeof recorded === 'string') return recorded
        await report(trx, 'copied', recorded, request)
        return 'copied'
      }),
  }
}

type Use = webauthn.UseInfo & { readonly challenge: string }

/**
 * Records a use. Marks the passkey as copied if the counter has not increased, unless both values are 0 (WebAuthn
 * §6.1.1) or the last response was sent again (`stale`). Neither the original nor the copy of a marked passkey works.
 * @returns the outcome, or the passkey if this call marked it as copied
 */
async function recordUse(trx: Transaction<Schema>, id: string, use: Use, nowMs: number) {
  const { newCounter: counter, challenge: last_challenge } = use
  const backed_up_at = use.credentialBackedUp ? nowMs : null
  const live = trx.updateTable('passkey').where('id', '=', id).where('cloned_at', 'is', null)
  const update = live.set({ counter, last_challenge, backed_up_at, last_used_at: nowMs })
  const increased = update.where('counter', counter === 0 ? '=' : '<', counter)
  if ((await increased.executeTakeFirstOrThrow()).numUpdatedRows > 0n) return 'used'
  const row = await trx.selectFrom('passkey').selectAll().where('id', '=', id).executeTakeFirst()
  if (!row || (row.counter === counter && row.last_challenge === last_challenge)) return 'stale'
  const marked = await live.set({ cloned_at: nowMs }).executeTakeFirstOrThrow()
  return marked.numUpdatedRows > 0n ? row : 'copied'
}
