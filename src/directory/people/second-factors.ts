/** Checks second factors, and stores authenticator apps (TOTP, RFC 6238) and recovery codes. */

import { randomBytes } from 'node:crypto'

import type { Kysely, Transaction } from 'kysely'

import {
  type Actor,
  type KnownActor,
  recordAuditEvent,
} from '../../platform/audit/record-audit-event.ts'
import { openOrNothing, type Seals } from '../../platform/http/kept-values.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { insertNew } from '../../platform/store/insert-new.ts'
import type { Schema } from '../../platform/store/schema.ts'
import { appLabel } from '../../platform/store/sealed-secrets.ts'
import { queueMail } from '../mail/messages.ts'
import { FACTOR_RESET } from '../sites/site-admin.ts'
import type { NotSignedIn } from './authenticate.ts'
import type { SecondMethod } from './authentication.ts'
import type { FactorPorts, Passkeys } from './passkeys.ts'

interface SecondFactorPorts {
  readonly passkeys: Pick<Passkeys, 'check'>
  readonly seals: Seals
  /** The name of the service, which authenticator apps show in their list. */
  readonly serviceName: string
}

/** A code, or a passkey's response in an interaction. */
type SentFactor = Readonly<Record<'code' | 'credential' | 'uid', string>>

/** The outcome of a second step. Wrong codes and codes that were already used have the same outcome. */
export type FactorCheck =
  | { readonly kind: 'accepted'; readonly method: SecondMethod }
  | Extract<NotSignedIn, { readonly kind: 'refused' | 'limited' }>

export type SecondFactors = ReturnType<typeof makeSecondFactors>

const LABEL = appLabel()
const STEP_SECONDS = 30

/** Imports otplib when the first code is needed, to keep start-up fast. */
const otplib = async () => await import('otplib')

/** Creates the functions that set up, check and remove second factors. */
export function makeSecondFactors(ports: FactorPorts, more: SecondFactorPorts) {
  const { database, now } = ports
  const { seals, serviceName } = more
  const { kysely } = database
  return {
    check: makeFactorCheck(ports, more),

    /** Finds the time at which a person set up an authenticator app, and the number of unused recovery codes. */
    async find(personId: string) {
      const row = await readAuthenticator(kysely, personId)
      return row && { since: row.confirmed_at, codesLeft: await countCodes(kysely, personId) }
    },

    /**
     * Creates a secret for an authenticator app. Nothing is stored until `confirm`.
     *
     * @param session binds the secret to a session
     * @param again the sealed secret of an earlier proposal in this session, to reuse that secret
     */
    async propose(label: string, session: string, again = '') {
      const { generateSecret, generateURI } = await otplib()
      const secret = openOrNothing(seals, again, LABEL + session) ?? generateSecret()
      const sealed = seals.seal(secret, LABEL + session)
      return { sealed, secret, uri: generateURI({ issuer: serviceName, label, secret }) }
    },

    /**
     * Stores a proposed secret if the code is correct. Does not replace an app that is already set up.
     *
     * @returns the recovery codes to show once; undefined if the code is wrong or an app is already set up
     */
    async confirm({ sealed, session, code }: Confirmation, actor: Actor) {
      const secret = openOrNothing(seals, sealed, LABEL + session)
      const last_step = secret && (await stepOf(secret, normalizeCode(code), now()))
      if (!secret || !last_step) return undefined
      return await kysely.transaction().execute(async (trx) => {
        const sealed_secret = seals.seal(secret, LABEL)
        const row = { person_id: actor.personId, sealed_secret, confirmed_at: actor.now, last_step }
        if (!(await insertNew(trx, 'totp', row))) return undefined
        return await replaceCodes(trx, actor, { action: 'second_factor.added' })
      })
    },

    /** Replaces the recovery codes. @returns the new codes; undefined if there is no authenticator app */
    renewCodes: async (actor: Actor) =>
      await kysely.transaction().execute(async (trx) => {
        const app = await readAuthenticator(trx, actor.personId)
        return app && (await replaceCodes(trx, actor, { action: 'second_factor.renewed' }))
      }),

    remove: async (actor: Actor) =>
      await kysely
        .transaction()
        .execute(async (trx) => await removeSecondFactors(trx, actor.personId, actor)),
  }
}

type Confirmation = Readonly<Record<'sealed' | 'session' | 'code', string>>

/** Creates the function that checks a code from the person's authenticator app, a recovery code or a passkey. */
function makeFactorCheck(
  { database, limits, now }: FactorPorts,
  { passkeys, seals }: SecondFactorPorts,
) {
  const { kysely } = database

  /** Accepts each code from the app only once, even if two requests send it at the same time (RFC 6238 §5.2). */
  const useAppCode = async (code: string, personId: string): Promise<boolean> => {
    const row = await readAuthenticator(kysely, personId)
    if (!row) return false
    const secret = openOrNothing(seals, row.sealed_secret, LABEL)
    const step = secret && (await stepOf(secret, code, now()))
    if (!secret || !step) return false
    const { numUpdatedRows } = await kysely
      .updateTable('totp')
      .set({ last_step: step })
      .where('person_id', '=', personId)
      .where('confirmed_at', '=', row.confirmed_at)
      .where('last_step', '<', step)
      .executeTakeFirstOrThrow()
    return numUpdatedRows > 0n
  }

  const useRecoveryCode = async (code: string, actor: Actor): Promise<boolean> =>
    await kysely.transaction().execute(async (trx) => {
      const { personId } = actor
      const { numDeletedRows } = await trx
        .deleteFrom('recovery_code')
        .where('person_id', '=', personId)
        .where('digest', '=', sha256(code))
        .executeTakeFirstOrThrow()
      if (numDeletedRows === 0n) return false
      const left = await countCodes(trx, personId)
      await record(trx, actor, { action: 'second_factor.used', personId, left })
      return true
    })

  const checkCode = async (typed: string, actor: Actor): Promise<FactorCheck> => {
    const { personId } = actor
    const code = normalizeCode(typed)
    const isOfApp = CODE.test(code)
    const isRight = await (isOfApp ? useAppCode(code, personId) : useRecoveryCode(code, actor))
    if (!isRight) return { kind: 'refused', why: 'wrong second factor', personId }
    return { kind: 'accepted', method: isOfApp ? 'totp' : 'recoveryCode' }
  }

  const checkPasskey = async ({ credential, uid }: SentFactor, actor: Actor) => {
    const checked = await passkeys.check(credential, { uid, owner: actor.personId }, actor)
    if (checked.kind !== 'accepted') return checked
    return { kind: 'accepted', method: 'passkey' } as const
  }

  /** Informs the person by e-mail, subject to a limit, that second factors are temporarily rejected. */
  const tell = async (personId: string) => {
    if (await limits.takeTogether('lockMailsOfPerson', personId)) return
    await queueMail(kysely, { kind: 'second_factor_locked', personId, values: {} }, now())
  }

  return async (sent: SentFactor, actor: Actor): Promise<FactorCheck> => {
    const { personId } = actor
    // Count before the check, so parallel guesses cannot bypass the limit.
    const exceeded = await limits.takeTogether('codesOfPerson', personId)
    if (exceeded) return { kind: 'limited', waitSeconds: exceeded.waitSeconds, personId }
    const checked = await (sent.credential
      ? checkPasskey(sent, actor)
      : checkCode(sent.code, actor))
    if (checked.kind === 'accepted') await limits.giveBack('codesOfPerson', personId)
    else if (limits.exceeded('codesOfPerson', personId)) await tell(personId)
    return checked
  }
}

const CODE = /^\d{6}$/
const normalizeCode = (typed: string) => typed.replace(/[\s-]/g, '').toUpperCase()

/** Returns the time step of a valid code: the previous, current or next step. */
async function stepOf(secret: string, token: string, nowMs: number): Promise<number | undefined> {
  if (!CODE.test(token)) return undefined
  const { verify } = await otplib()
  const when = { epoch: Math.floor(nowMs / 1000), epochTolerance: STEP_SECONDS }
  const result = await verify({ secret, token, ...when })
  return result.valid && 'timeStep' in result ? result.timeStep : undefined
}

/**
 * Removes the authenticator app and the recovery codes of a person. Also removes unused links that would let the person
 * remove the app.
 *
 * @returns whether there was an app
 */
export async function removeSecondFactors(
  trx: Transaction<Schema>,
  personId: string,
  actor: KnownActor,
  action: 'second_factor.removed' | 'second_factor.reset' = 'second_factor.removed',
): Promise<boolean> {
  await trx.deleteFrom('recovery_code').where('person_id', '=', personId).execute()
  const links = trx.deleteFrom('one_time_link').where('person_id', '=', personId)
  await links.where('kind', '=', 'second_factor').execute()
  const { numDeletedRows } = await trx
    .deleteFrom('totp')
    .where('person_id', '=', personId)
    .executeTakeFirstOrThrow()
  if (numDeletedRows === 0n) return false
  await record(trx, actor, { action, personId, left: 0 })
  return true
}

interface SecondFactorChange {
  readonly personId: string
  readonly action: `second_factor.${'added' | 'renewed' | 'used' | 'removed' | 'reset'}`
  /** The number of unused recovery codes. */
  readonly left: number
}

/** Records a change in the audit trail, and mails the person. */
async function record(
  trx: Transaction<Schema>,
  actor: KnownActor,
  { personId, action, left }: SecondFactorChange,
): Promise<void> {
  const subject = { kind: 'person', id: personId }
  await recordAuditEvent(trx, actor, { action, subject, siteId: undefined, personId })
  const values = { change: action.replace('second_factor.', ''), left }
  await queueMail(trx, { kind: 'second_factor', personId, values }, actor.now)
}

const readAuthenticator = async (kysely: Kysely<Schema>, personId: string) =>
  await kysely
    .selectFrom('totp')
    .select(['sealed_secret', 'confirmed_at'])
    .where('person_id', '=', personId)
    .executeTakeFirst()

async function countCodes(kysely: Kysely<Schema>, personId: string): Promise<number> {
  const codes = kysely.selectFrom('recovery_code').where('person_id', '=', personId)
  return (await codes.select('digest').execute()).length
}

const CODES = 10
/** The length of a recovery code: 80 random bits, so a digest in a copied database does not reveal the code. */
const CODE_CHARACTERS = 16
const ALPHABET = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

/** Replaces the recovery codes, reports the change, and returns the new codes. */
async function replaceCodes(
  trx: Transaction<Schema>,
  actor: Actor,
  change: Pick<SecondFactorChange, 'action'>,
): Promise<readonly string[]> {
  const { personId, now } = actor
  await record(trx, actor, { ...change, personId, left: CODES })
  const codes = Array.from({ length: CODES }, () =>
    Array.from(randomBytes(CODE_CHARACTERS), (byte) => ALPHABET[byte % ALPHABET.length]).join(''),
  )
  await trx.deleteFrom('recovery_code').where('person_id', '=', personId).execute()
  const common = { person_id: personId, created_at: now }
  const rows = codes.map((code) => ({ ...common, digest: sha256(code) }))
  await trx.insertInto('recovery_code').values(rows).execute()
  return codes.map((code) => code.replace(/.{4}(?=.)/g, '$&-'))
}

/** The period after a password is set by e-mail in which the authenticator app cannot be removed by e-mail. */
const HOLD_MS = 7 * 86_400_000

/**
 * Returns the earliest time at which a person may remove the authenticator app by e-mail, in epoch milliseconds.
 * Returns undefined if the person has no app, has no role, reviews clients for the platform, or has a role at a site
 * that does not allow the removal.
 */
export async function findResetTime(
  kysely: Kysely<Schema>,
  personId: string,
): Promise<number | undefined> {
  const rows = await kysely
    .selectFrom('totp')
    .innerJoin('site_role as r', 'r.person_id', 'totp.person_id')
    .leftJoin('site_feature as f', (join) =>
      join.onRef('f.site_id', '=', 'r.site_id').on('f.feature', '=', FACTOR_RESET),
    )
    .leftJoin('platform_reviewer as p', 'p.person_id', 'totp.person_id')
    .select(['totp.no_reset_before', 'f.enabled_at', 'p.granted_at as reviewerSince'])
    .where('totp.person_id', '=', personId)
    .execute()
  const [row] = rows
  const isAllowed = rows.every((each) => each.enabled_at !== null && each.reviewerSince === null)
  return row && isAllowed ? (row.no_reset_before ?? 0) : undefined
}

/**
 * Starts the period (`HOLD_MS`) in which the app cannot be removed by e-mail, because a password has just been set by
 * e-mail. Otherwise, access to the mailbox would be enough to replace both factors.
 */
export async function holdFactorReset(
  trx: Kysely<Schema>,
  personId: string,
  nowMs: number,
): Promise<void> {
  await trx
    .updateTable('totp')
    .set({ no_reset_before: nowMs + HOLD_MS })
    .where('person_id', '=', personId)
    .execute()
}
