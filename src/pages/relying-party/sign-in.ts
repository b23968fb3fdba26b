import type { RequestListener } from 'node:http'

import type { Context } from 'koa'
import { allowInsecureRequests, clockSkew, clockTolerance, customFetch, None } from 'oauth4webapi'

import {
  beginCodeFlow,
  type KeptValues,
  redeemAnswer,
} from '../../directory/people/relying-party.ts'
import { OPENID } from '../../directory/scopes/catalogue.ts'
import { isRefusal, signInIncomplete, storageUnavailable } from '../../platform/http/errors.ts'
import { makeKeptValues, type Seals } from '../../platform/http/kept-values.ts'
import type { VisitorForms } from '../../platform/http/page-form.ts'
import { pages, paths } from '../../platform/http/paths.ts'

export const OWN_CLIENT_ID = 'gatehouse-pages'

/**
 * Returns the client record of our own pages (docs/decisions/0008-own-pages-are-a-client.md). The client is public,
 * because a secret would prove nothing: the code is sent to this origin, and this service redeems it with the PKCE
 * verifier. The access token is discarded.
 */
export function ownClient(baseUrl: string, serviceName: string) {
  return {
    clientId: OWN_CLIENT_ID,
    origin: 'first_party',
    name: serviceName,
    siteId: undefined,
    siteName: undefined,
    redirectUris: [baseUrl + pages.signedIn],
    postLogoutRedirectUris: [],
    authMethod: 'none',
    applicationType: 'web',
    secretDigests: [],
    chosenScopes: undefined,
    state: 'active',
  } as const
}

/**
 * Creates an authorization request, and the values for its callback, which redirects to the path `returnTo`.
 *
 * @param login who must authenticate now: an e-mail address, or empty for anyone; if undefined, a session suffices
 */
export async function beginSignIn(
  returnTo: string,
  baseUrl: string,
  { login, acr }: AskedSignIn = {},
) {
  const redirect_uri = baseUrl + pages.signedIn
  const { kept, query } = await beginCodeFlow({
    client_id: OWN_CLIENT_ID,
    redirect_uri,
    scope: OPENID,
  })
  query.set('claims', JSON.stringify({ id_token: { auth_time: { essential: true } } }))
  if (login !== undefined) {
    query.set('prompt', 'login')
    if (login !== '') query.set('login_hint', login)
  }
  if (acr !== undefined) query.set('acr_values', acr)
  const pending: PendingSignIn = { ...kept, returnTo }
  return { pending, address: `${paths.authorization}?${query}` }
}

export interface AskedSignIn {
  readonly login?: string | undefined
  /** The `acr` that the sign-in must reach. */
  readonly acr?: string | undefined
}

export interface CompletedSignIn {
  readonly personId: string
  readonly browserSessionId: string
  /** When the person authenticated, in epoch milliseconds, rounded up to the end of the second. */
  readonly authenticatedAt: number
}

/**
 * Creates a fetch function that sends requests to this service inside the process. They pass through all middleware,
 * like external requests. Behind a proxy, a service often cannot reach its own public URL.
 *
 * @param handler the request handler with the current signing keys
 * @param callerAddress IP address to charge in rate limits
 */
export function makeOwnFetch(handler: RequestListener, callerAddress: string) {
  return async (address: string, { method, headers, body }: OwnRequest): Promise<Response> => {
    // Load the module lazily, to keep start-up fast.
    const { inject } = await import('light-my-request')
    const response = await inject(handler, {
      method,
      url: new URL(address).pathname,
      headers,
      remoteAddress: callerAddress,
      ...(body !== undefined && { payload: String(body) }),
    })
    return new Response(new Uint8Array(response.rawPayload), {
      status: response.statusCode,
      headers: { 'content-type': String(response.headers['content-type']) },
    })
  }
}

interface OwnRequest {
  readonly method: 'GET' | 'POST'
  readonly headers: Record<string, string>
  readonly body?: unknown
}

interface SignInPorts {
  readonly baseUrl: string
  readonly ownFetch: ReturnType<typeof makeOwnFetch>
  readonly now: () => number
}

/**
 * Validates the authorization response, redeems the code and validates the id_token.
 *
 * @throws storageUnavailable if this service responds with 503; signInIncomplete if a step fails for another reason
 */
export async function completeSignIn(
  answer: URLSearchParams,
  pending: PendingSignIn,
  { baseUrl, ownFetch, now }: SignInPorts,
): Promise<CompletedSignIn> {
  const server = {
    issuer: baseUrl,
    token_endpoint: baseUrl + paths.token,
    jwks_uri: baseUrl + paths.jwks,
    authorization_response_iss_parameter_supported: true,
  }
  const skewMs = now() - Date.now()
  const client = {
    client_id: OWN_CLIENT_ID,
    id_token_signed_response_alg: 'ES256',
    [clockSkew]: Math.round(skewMs / 1000),
    [clockTolerance]: 0,
  }
  const fetchHere: typeof ownFetch = async (address, request) => {
    const response = await ownFetch(address, request)
    if (response.status === 503) throw storageUnavailable(await response.text())
    return response
  }
  const flow = {
    server,
    client,
    authentication: None(),
    redirectUri: baseUrl + pages.signedIn,
    // These requests never leave the process, so they need no TLS.
    options: { [customFetch]: fetchHere, [allowInsecureRequests]: true },
  }
  if (!answer.get('code')) throw signInIncomplete('the authorization response has no code')
  try {
    const { claims } = await redeemAnswer(answer, pending, flow)
    const { sid, auth_time: authTime, sub: personId } = claims
    if (typeof sid !== 'string' || authTime === undefined) {
      throw new Error('the id_token has no sid or auth_time')
    }
    return { personId, browserSessionId: sid, authenticatedAt: authTime * 1000 + 999 + skewMs }
  } catch (cause) {
    if (isRefusal(cause)) throw cause
    throw Object.assign(signInIncomplete('the response or its id_token is invalid'), { cause })
  }
}

export interface PendingPorts {
  readonly baseUrl: string
  readonly pending: ReturnType<typeof makePendingSignIns>
}

/** The values that the callback of a sign-in needs. */
type PendingSignIn = KeptValues & { readonly returnTo: string }

const KEPT_SECONDS = 3600

interface KeptPorts {
  readonly seals: Seals
  readonly visitors: Pick<VisitorForms, 'digestOf'>
  readonly now: () => number
}

/**
 * Creates the functions that keep a browser's pending sign-in in a cookie. Other hosts in the domain could set a cookie
 * with the same name and path, so the value is sealed for this browser.
 */
export function makePendingSignIns({ visitors, ...ports }: KeptPorts) {
  const path = () => pages.signedIn
  const kept = makeKeptValues<PendingSignIn>('gatehouse_sign_in', KEPT_SECONDS, ports, path)
  const keep = (ctx: Context, pending: PendingSignIn | undefined) =>
    kept.set(ctx, visitors.digestOf(ctx), pending)
  return {
    keep,
    /** Reads and removes the pending sign-in. */
    take(ctx: Context): PendingSignIn | undefined {
      const pending = kept.read(ctx, visitors.digestOf(ctx))
      keep(ctx, undefined)
      return pending
    },
  }
}
