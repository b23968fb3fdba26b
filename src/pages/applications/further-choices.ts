import type { FurtherPlans } from '../../oauth/clients/further-plans.ts'
import { readKeySet } from '../../oauth/clients/further-plans.ts'
import { problemOfServerAddress } from '../../platform/http/server-address.ts'
import type { ClientAuthMethod } from '../../platform/store/oauth-tables.ts'

/**
 * What an operator may choose for an application of the plans that this deployment has on, as rules
 * without a page or a table. What belongs to a plan that is off stays as it is.
 */
export interface FurtherChoices {
  /** A JWK set as text. */
  readonly jwks: string | undefined
  readonly jwksUri: string | undefined
  readonly pushesRequests: boolean
  readonly bindsTokens: boolean
  readonly logoutUri: string | undefined
  /** Whether each notice of a sign-out must name the session. */
  readonly logoutSessionRequired: boolean
}

export interface TypedChoices {
  /** A JWK set, or the address where it is. */
  readonly keys: string
  readonly logoutUri: string
  /** The boxes that are ticked, `pushed_requests`, `bound_tokens` and `logout_session`. */
  readonly demands: readonly string[]
}

/** What is wrong, in sentences that stand beside the field. */
export interface ChoiceProblems {
  readonly keys?: string
  readonly logoutUri?: string
}

export type CheckedChoices =
  | { readonly kind: 'good'; readonly choices: FurtherChoices }
  | { readonly kind: 'bad'; readonly problems: ChoiceProblems }

/** @param before what is stored, which a plan that is off leaves alone */
export function checkChoices(
  typed: TypedChoices,
  before: FurtherChoices & { readonly authMethod: ClientAuthMethod },
  plans: FurtherPlans,
): CheckedChoices {
  // A public application has no place for a private key either.
  const mayHaveKeys = plans.privateKeyJwt && before.authMethod !== 'none'
  const keys = mayHaveKeys ? readKeys(typed.keys.trim(), plans) : {}
  const logoutUri = plans.backChannelLogout ? typed.logoutUri.trim() : ''
  const logoutProblem =
    logoutUri === '' ? undefined : problemOfServerAddress(logoutUri, plans.privateHosts)
  if (keys.problem !== undefined || logoutProblem !== undefined) {
    const problems: ChoiceProblems = {
      ...(keys.problem !== undefined && { keys: keys.problem }),
      ...(logoutProblem !== undefined && { logoutUri: logoutProblem }),
    }
    return { kind: 'bad', problems }
  }
  const chosenKeys = mayHaveKeys ? { jwks: keys.jwks, jwksUri: keys.jwksUri } : keysOf(before)
  return {
    kind: 'good',
    choices: {
      ...chosenKeys,
      ...demandsOf(typed, before, plans),
      ...logoutOf({ ...typed, logoutUri }, before, plans),
    },
  }
}

function demandsOf({ demands: ticked }: TypedChoices, before: FurtherChoices, plans: FurtherPlans) {
  return {
    pushesRequests: plans.pushedAuthorizationRequests
      ? ticked.includes('pushed_requests')
      : before.pushesRequests,
    bindsTokens: plans.dpop ? ticked.includes('bound_tokens') : before.bindsTokens,
  }
}

function logoutOf(
  { logoutUri, demands: ticked }: TypedChoices,
  before: FurtherChoices,
  { backChannelLogout }: FurtherPlans,
) {
  if (!backChannelLogout) {
    return { logoutUri: before.logoutUri, logoutSessionRequired: before.logoutSessionRequired }
  }
  const logoutSessionRequired = logoutUri !== '' && ticked.includes('logout_session')
  return { logoutUri: logoutUri || undefined, logoutSessionRequired }
}

function keysOf({ jwks, jwksUri }: FurtherChoices) {
  return { jwks, jwksUri }
}

interface ReadKeys {
  readonly jwks?: string | undefined
  readonly jwksUri?: string | undefined
  readonly problem?: string | undefined
}

function readKeys(typed: string, { privateHosts }: FurtherPlans): ReadKeys {
  if (typed === '') return {}
  if (!typed.startsWith('{')) {
    const problem = problemOfServerAddress(typed, privateHosts)
    return problem === undefined ? { jwksUri: typed } : { problem }
  }
  const read = readKeySet(typed)
  return 'problem' in read
    ? { problem: `The set of keys cannot be used: ${read.problem}.` }
    : { jwks: JSON.stringify(read.jwks) }
}

/** As the columns of an application have them. */
interface ChoiceColumns {
  readonly jwks: string | null
  readonly jwks_uri: string | null
  readonly pushed_requests_required_at: number | null
  readonly bound_tokens_required_at: number | null
  readonly backchannel_logout_uri: string | null
  readonly backchannel_logout_session_required_at: number | null
}

export function choicesOf(row: ChoiceColumns): FurtherChoices {
  return {
    jwks: row.jwks ?? undefined,
    jwksUri: row.jwks_uri ?? undefined,
    pushesRequests: row.pushed_requests_required_at !== null,
    bindsTokens: row.bound_tokens_required_at !== null,
    logoutUri: row.backchannel_logout_uri ?? undefined,
    logoutSessionRequired: row.backchannel_logout_session_required_at !== null,
  }
}

export function columnsOf(choices: FurtherChoices, nowMs: number): ChoiceColumns {
  const since = (chosen: boolean) => (chosen ? nowMs : null)
  return {
    jwks: choices.jwks ?? null,
    jwks_uri: choices.jwksUri ?? null,
    pushed_requests_required_at: since(choices.pushesRequests),
    bound_tokens_required_at: since(choices.bindsTokens),
    backchannel_logout_uri: choices.logoutUri ?? null,
    backchannel_logout_session_required_at: since(choices.logoutSessionRequired),
  }
}

/** While an application has keys, they are what it authenticates with, and its secrets wait. */
export function authMethodWith(
  { jwks, jwksUri }: Pick<FurtherChoices, 'jwks' | 'jwksUri'>,
  before: ClientAuthMethod,
): ClientAuthMethod {
  if (before === 'none') return 'none'
  return jwks === undefined && jwksUri === undefined ? 'client_secret_post' : 'private_key_jwt'
}
