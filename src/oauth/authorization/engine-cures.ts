import { CLIENT_NOT_AUTHENTICATED } from '../clients/authenticate-client.ts'
import {
  BASIC_WITHOUT_SECRET,
  MALFORMED_HEADER,
  SEVERAL_MECHANISMS,
} from '../clients/client-credentials.ts'

/** What of a request chooses a sentence. */
export interface CureFacts {
  readonly grantType: unknown
  /** Whether the request has a `code_verifier`, whatever it is. */
  readonly hasVerifier: boolean
  /** Says which scopes the client may not have, and what to do. */
  readonly explainScopes: (() => string) | undefined
  /** Says why none of the scopes is known, where that is so. */
  readonly problemOfScopes: (() => string | undefined) | undefined
}

const UNDER_REFUSALS =
  'which of these it was stands under Refusals on the page of the application, for the operators of its site'

/** Who sent a wrong verifier, and who found a code, are told the same (RFC 6749 §5.2). */
const CODE_REFUSED =
  'grant request is invalid: the code was used, has expired or is of another client, or redirect_uri or ' +
  `code_verifier is not that of its authorization request; ${UNDER_REFUSALS}. Start the authorization ` +
  'again, keep the code_verifier of each request with its state, and send it with the same redirect_uri'

/** What a request lacks may be said, since it says nothing of the code. */
const VERIFIER_MISSING =
  'grant request is invalid: it has no code_verifier. Send the one whose challenge went into the ' +
  'authorization request, which has to be started again'

const REFRESH_REFUSED =
  'grant request is invalid: the refresh token was used or revoked, has expired or is of another client; ' +
  `${UNDER_REFUSALS}. Start the authorization again, and keep the new refresh token of each answer in ` +
  'the place of the one before'

const SEND_S256 =
  'send code_challenge_method=S256 and, as code_challenge, the base64url of the SHA-256 of your code_verifier'

/**
 * What the engine says is wrong, and what is said in its place where strangers looked for the cure in
 * vain. Only characters of RFC 6749 §4.1.2.1 and §5.2 come out, and nothing that was sent.
 */
const cures = new Map<string, string | ((facts: CureFacts) => string | undefined)>([
  ['client authentication failed', CLIENT_NOT_AUTHENTICATED],
  ['client_secret must be provided in the Authorization header', BASIC_WITHOUT_SECRET],
  [
    'grant request is invalid',
    ({ grantType, hasVerifier }) => {
      if (grantType === 'refresh_token') return REFRESH_REFUSED
      return hasVerifier ? CODE_REFUSED : VERIFIER_MISSING
    },
  ],
  ['client authentication must only be provided using one mechanism', SEVERAL_MECHANISMS],
  ['invalid authorization header value format', MALFORMED_HEADER],
  ...['acr_values', 'claims', 'id_token_hint', 'max_age', 'nonce'].map(
    (parameter) =>
      [
        `openid scope must be requested when using the ${parameter} parameter`,
        (facts: CureFacts) => openidMissing(parameter, facts),
      ] as const,
  ),
  ['requested scope is not allowed', ({ explainScopes }) => explainScopes?.()],
  [
    'not supported value of code_challenge_method',
    `only S256 is supported as code_challenge_method: ${SEND_S256}`,
  ],
  ['code_challenge_method must be provided', `code_challenge_method is missing: ${SEND_S256}`],
  [
    'Authorization Server policy requires PKCE to be used for this request',
    `PKCE is required of every client: ${SEND_S256}`,
  ],
  [
    'unsupported grant_type requested',
    'unsupported grant_type requested: send authorization_code or refresh_token; there is no token ' +
      'without a person who signs in',
  ],
  [
    'unsupported response_type requested',
    'unsupported response_type requested: send response_type=code',
  ],
])

/** The engine looks for `openid` before anybody asks whether it stands there, joined with others. */
function openidMissing(parameter: string, { problemOfScopes }: CureFacts): string {
  const cure = problemOfScopes?.() ?? `add openid to scope, or leave ${parameter} out`
  return `openid scope must be requested when using the ${parameter} parameter: ${cure}`
}

/** The sentence that goes out in place of one of the engine's; nothing where that says enough. */
export function curedSentence(sentence: string, facts: CureFacts): string | undefined {
  const cure = cures.get(sentence)
  return typeof cure === 'function' ? cure(facts) : cure
}
