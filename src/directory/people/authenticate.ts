import type { Logger } from 'pino'

import type { Html } from '../../../views/html.ts'
import { type TextId, text } from '../../../views/text.ts'
import { canonicalEmail } from '../../platform/store/mail-address.ts'
import type { Attempt, AttemptLimits } from './attempt-limits.ts'
import type { CredentialStore } from './credential-store.ts'
import type { KnownBrowsers, KnownSignIns } from './known-browsers.ts'
import type { PasskeyRefusal } from './passkeys.ts'
import { type Passwords, TooManyHashes } from './password.ts'
import { isOutdated } from './password-formats.ts'
import type { PasswordHook } from './password-hook.ts'
import { PASSWORD_LENGTH_MAX } from './password-rules.ts'

/** The outcome of a sign-in. Pages explain only some reasons for a refusal; the audit trail contains every reason. */
export type SignIn =
  | {
      readonly kind: 'signed-in'
      readonly personId: string
      /** Whether the sign-in still requires a second factor (people/second-factors.ts). */
      readonly needsSecondFactor: boolean
      /** The sign-ins that the browser must remember from now on. */
      readonly browser: KnownSignIns
      readonly isNewBrowser: boolean
    }
  | NotSignedIn

export type NotSignedIn =
  | {
      readonly kind: 'refused'
      readonly why:
        | 'no such account'
        | 'no password'
        | 'wrong password'
        | 'wrong second factor'
        | 'disabled account'
        | 'login or password too long'
        | 'wrong sign-in method'
        | PasskeyRefusal
      /** The person with this e-mail address or passkey, if any. */
      readonly personId?: string | undefined
    }
  | { readonly kind: 'limited'; readonly waitSeconds: number; readonly personId?: string }
  | { readonly kind: 'busy' }
  /** The platform did not check the password. */
  | { readonly kind: 'unavailable' }
  /** An identity provider failed. */
  | ({ readonly kind: 'provider' } & Explained)

/** The HTTP status and the sentence for the page that reports a failed sign-in, and the reason for the audit trail. */
export interface Explained {
  readonly status: number
  readonly problem: Html
  readonly reason: string
}

interface SignInAttempt extends Pick<Attempt, 'login' | 'address'> {
  readonly password: string
  /** The earlier sign-ins that the browser remembers. */
  readonly browser?: KnownSignIns | undefined
}

interface SignInPorts {
  readonly store: CredentialStore
  readonly passwords: Pick<Passwords, 'hash' | 'verify'>
  readonly limits: AttemptLimits
  readonly browsers: KnownBrowsers
  readonly logger: Logger
  /** Asks the platform about people without a password hash; undefined if this is not configured. */
  readonly hook?: PasswordHook | undefined
}

export type SignInService = (attempt: SignInAttempt) => Promise<SignIn>

// The maximum length of a login. Logins and passwords that are too long are rejected without hashing.
const LOGIN_LENGTH_MAX = 320

/**
 * Creates the function that checks and limits sign-ins. Refusals for unknown addresses, wrong passwords and disabled
 * accounts take about the same time, so the response does not reveal the reason.
 */
export function makeSignIn(ports: SignInPorts): SignInService {
  const { store, limits, browsers } = ports
  return async ({ login: typed, password, address, browser }) => {
    const login = canonicalEmail(typed)
    if (login.length > LOGIN_LENGTH_MAX || password.length > PASSWORD_LENGTH_MAX) {
      return { kind: 'refused', why: 'login or password too long' }
    }
    const known = browsers.find(browser, login)
    // If a person ends all sessions, all browsers that were known before become unknown.
    const { signedOutAt = 0 } = (known && (await store.findCredentials(login)).account) ?? {}
    const browserId = known && known.signedInAt > signedOutAt ? known.browserId : undefined
    const begun = await limits.begin({ login, address, browserId })
    if ('waitSeconds' in begun) return { kind: 'limited', waitSeconds: begun.waitSeconds }

    const outcome = await checkPassword({ login, password }, ports)
    // A refusal counts against the limits even if the platform did not respond. Otherwise, guesses would be unlimited
    // while the platform is down.
    const isFree = outcome.kind === 'signed-in' || outcome.kind === 'busy'
    if (isFree) await limits.giveBack(begun.taken)
    if (outcome.kind !== 'signed-in') return outcome
    limits.signedIn(login)
    const isNewBrowser = browserId === undefined
    return { ...outcome, isNewBrowser, browser: browsers.remember(browser, login) }
  }
}

type Typed = Pick<SignInAttempt, 'login' | 'password'>

type Checked =
  | Pick<Extract<SignIn, { readonly kind: 'signed-in' }>, 'kind' | 'personId' | 'needsSecondFactor'>
  | Exclude<NotSignedIn, { readonly kind: 'limited' | 'provider' }>

type CheckPorts = Omit<SignInPorts, 'limits' | 'browsers'>

/** Checks a password against the stored hash. If that fails and a hook is configured, asks the platform. */
async function checkPassword(typed: Typed, ports: CheckPorts): Promise<Checked> {
  try {
    const outcome = await checkHash(typed, ports)
    if (outcome.kind !== 'refused' || !ports.hook) return outcome
    return await askPlatform(typed, outcome, { ...ports, hook: ports.hook })
  } catch (error) {
    if (error instanceof TooManyHashes) return { kind: 'busy' }
    throw error
  }
}

/**
 * Asks the platform about a person without a password hash, and stores the hash of a valid password. In all other
 * cases, asks about an invented address, so all refusals take the same time.
 */
async function askPlatform(
  { login, password }: Typed,
  refused: Extract<NotSignedIn, { readonly kind: 'refused' }>,
  ports: CheckPorts & { readonly hook: PasswordHook },
): Promise<Checked> {
  const { hook, store, passwords } = ports
  const { why, personId } = refused
  const isAsked = why === 'no password'
  const { answer, refusalTime } = await hook(isAsked ? { email: login, password } : undefined)
  if (answer === 'valid' && isAsked && personId !== undefined) {
    // If a parallel sign-in has stored another hash, that hash decides.
    await store.replaceHash(personId, undefined, await passwords.hash(password))
    const outcome = await checkHash({ login, password }, ports)
    if (outcome.kind === 'signed-in') return outcome
  }
  await refusalTime
  return answer === 'unavailable' ? { kind: 'unavailable' } : refused
}

/** The maximum number of repeated checks per sign-in. A check is repeated if the hash was replaced in the meantime. */
const RECHECKS_MAX = 3

/** Checks a password against the stored hash. @throws {TooManyHashes} if the queue is full */
async function checkHash({ login, password }: Typed, ports: CheckPorts): Promise<Checked> {
  const { store, passwords } = ports
  let { account, standIn } = await store.findCredentials(login)
  let matches = await passwords.verify(account?.passwordHash, password, standIn)
  // The check may have waited for seconds, so check again if the hash has been replaced. A changed password ends all
  // sessions, so the old one must not open a new session. A parallel sign-in may also have renewed the hash.
  for (let recheck = 0; matches && !account?.disabled; recheck += 1) {
    const checked = account?.passwordHash
    account = (await store.findCredentials(login)).account
    if (account?.passwordHash === checked) break
    const next = account?.passwordHash
    matches = recheck < RECHECKS_MAX && (await passwords.verify(next, password, standIn))
  }
  if (!account) return { kind: 'refused', why: 'no such account' }
  const { personId, disabled } = account
  if (!matches) {
    const why = account.passwordHash === undefined ? 'no password' : 'wrong password'
    return { kind: 'refused', why, personId }
  }
  if (disabled) return { kind: 'refused', why: 'disabled account', personId }
  const { passwordHash } = account
  if (passwordHash !== undefined && isOutdated(passwordHash)) {
    void renewHash(personId, passwordHash, password, ports)
  }
  return { kind: 'signed-in', personId, needsSecondFactor: account.hasSecondFactor === true }
}

/**
 * After a sign-in, replaces an outdated hash with an Argon2id hash in the background. Does not overwrite a password
 * that was changed in the meantime. If the queue of hashes is full, the next sign-in tries again.
 */
async function renewHash(
  personId: string,
  from: string,
  password: string,
  { store, passwords, logger }: CheckPorts,
): Promise<void> {
  try {
    await store.replaceHash(personId, from, await passwords.hash(password))
  } catch (error) {
    if (error instanceof TooManyHashes) return
    logger.warn({ person: personId, err: error }, 'a password hash could not be renewed')
  }
}

/** Explains a failed sign-in, for the page that reports it and for the audit trail. */
export function explainFailure(outcome: NotSignedIn): Explained {
  if (outcome.kind === 'provider') return outcome
  if (outcome.kind === 'refused') {
    const { why: reason } = outcome
    const usual = reason.includes('passkey') ? 'failure.passkey' : 'failure.password'
    return { status: 401, problem: text(problems[reason] ?? usual), reason }
  }
  if (outcome.kind !== 'limited') {
    return { status: 503, problem: text(`failure.${outcome.kind}`), reason: faults[outcome.kind] }
  }
  const minutes = Math.ceil(outcome.waitSeconds / 60)
  const problem = text('failure.limited', { minutes })
  return { status: 429, problem, reason: 'too many attempts' }
}

/** Explanations of refusals. Other refusals are explained as a wrong password or passkey. */
const problems: Readonly<Record<string, TextId>> = {
  'wrong second factor': 'failure.code',
  'wrong sign-in method': 'failure.otherWay',
  'copied passkey': 'failure.copied',
  'unverified passkey': 'failure.unverified',
}

const faults = {
  busy: 'too many sign-ins at once',
  unavailable: 'the platform did not check the password',
}
