import type { FurtherPage } from '../../../views/admin-application-further.ts'
import type { Html } from '../../../views/html.ts'
import { inEnglish, text } from '../../../views/text.ts'
import type { OptionalProtocols } from '../../oauth/clients/optional-protocols.ts'
import { ADDRESS_LENGTH_MAX, problemOfServerAddress } from '../../platform/http/client-addresses.ts'
import { readKeySet } from '../../platform/http/public-keys.ts'
import type { ClientAuthMethod } from '../../platform/store/oauth-tables.ts'

/** The optional protocols that an operator chose for an application. The deployment may disable some of them. */
export interface ProtocolChoices {
  /** A JWK set as JSON. */
  readonly jwks: string | undefined
  readonly jwksUri: string | undefined
  readonly pushesRequests: boolean
  readonly bindsTokens: boolean
  readonly logoutUri: string | undefined
  /** Whether each sign-out notice must contain the session id. */
  readonly logoutSessionRequired: boolean
}

/** The choices as entered. `keys` is a JWK set or its URL; `demands` are the selected check boxes. */
export type TypedChoices = FurtherPage['typed']
/** The problems with each field, as sentences. */
export type ChoiceProblems = FurtherPage['problems']

/** Converts the stored choices to the values of the form. */
export function typedChoicesOf(choices: ProtocolChoices): TypedChoices {
  return {
    keys: choices.jwks ?? choices.jwksUri ?? '',
    logoutUri: choices.logoutUri ?? '',
    demands: [
      ...(choices.pushesRequests ? ['pushed_requests'] : []),
      ...(choices.bindsTokens ? ['bound_tokens'] : []),
      ...(choices.logoutSessionRequired ? ['logout_session'] : []),
    ],
  }
}

/** Validates the entered choices. Returns the choices to store, or problems. Keeps choices for disabled protocols. */
export function checkChoices(
  typed: TypedChoices,
  before: ProtocolChoices & {
    readonly authMethod: ClientAuthMethod
    readonly redirectUris: readonly string[]
  },
  plans: OptionalProtocols,
):
  | { readonly kind: 'good'; readonly choices: ProtocolChoices }
  | { readonly kind: 'bad'; readonly problems: ChoiceProblems } {
  const hasLogout = plans.backChannelLogout
  // A public application cannot keep a private key secret.
  const mayHaveKeys = plans.privateKeyJwt && before.authMethod !== 'none'
  const keys: ReadKeys = mayHaveKeys
    ? keysFrom(typed.keys.trim(), before.redirectUris, plans)
    : before
  const logoutUri = hasLogout ? typed.logoutUri.trim() || undefined : before.logoutUri
  const logoutProblem =
    hasLogout && logoutUri !== undefined
      ? addressProblem(logoutUri, before.redirectUris, plans)
      : undefined
  const problems: ChoiceProblems = { keys: keys.problem, logoutUri: logoutProblem }
  if (Object.values(problems).some(Boolean)) return { kind: 'bad', problems }
  const isTicked = (isOn: boolean, box: string, was: boolean) =>
    isOn ? typed.demands.includes(box) : was
  const wantsSession = isTicked(hasLogout, 'logout_session', before.logoutSessionRequired)
  return {
    kind: 'good',
    choices: {
      jwks: keys.jwks,
      jwksUri: keys.jwksUri,
      pushesRequests: isTicked(
        plans.pushedAuthorizationRequests,
        'pushed_requests',
        before.pushesRequests,
      ),
      bindsTokens: isTicked(plans.dpop, 'bound_tokens', before.bindsTokens),
      logoutUri,
      logoutSessionRequired: wantsSession && (logoutUri !== undefined || !hasLogout),
    },
  }
}

interface ReadKeys {
  readonly jwks?: string | undefined
  readonly jwksUri?: string | undefined
  readonly problem?: Html | undefined
}

function keysFrom(typed: string, callbacks: readonly string[], plans: OptionalProtocols): ReadKeys {
  if (typed === '') return {}
  if (!typed.startsWith('{')) {
    const problem = addressProblem(typed, callbacks, plans)
    return problem === undefined ? { jwksUri: typed } : { problem }
  }
  const read = readKeySet(typed)
  return 'problem' in read
    ? { problem: text('applications.wrong.keys', { problem: inEnglish(read.problem) }) }
    : { jwks: JSON.stringify(read.jwks) }
}

function addressProblem(
  address: string,
  callbacks: readonly string[],
  { privateHosts }: OptionalProtocols,
): Html | undefined {
  const problem = problemOfServerAddress(address, privateHosts, callbacks)
  return problem && text(`serverAddress.${problem}`, { max: ADDRESS_LENGTH_MAX })
}

export function choicesOf(row: ReturnType<typeof columnsOf>): ProtocolChoices {
  return {
    jwks: row.jwks ?? undefined,
    jwksUri: row.jwks_uri ?? undefined,
    pushesRequests: row.pushed_requests_required_at !== null,
    bindsTokens: row.bound_tokens_required_at !== null,
    logoutUri: row.backchannel_logout_uri ?? undefined,
    logoutSessionRequired: row.backchannel_logout_session_required_at !== null,
  }
}

export function columnsOf(choices: ProtocolChoices, nowMs: number) {
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

/** Returns `private_key_jwt` if keys are chosen, otherwise `client_secret_post`; `none` for a public application. */
export function authMethodWith(
  { jwks, jwksUri }: Pick<ProtocolChoices, 'jwks' | 'jwksUri'>,
  before: ClientAuthMethod,
): ClientAuthMethod {
  if (before === 'none') return 'none'
  return jwks === undefined && jwksUri === undefined ? 'client_secret_post' : 'private_key_jwt'
}
