import {
  AuthorizationResponseError,
  type AuthorizationServer,
  allowInsecureRequests,
  authorizationCodeGrantRequest,
  type Client,
  calculatePKCECodeChallenge,
  discoveryRequest,
  dynamicClientRegistrationRequest,
  generateRandomCodeVerifier,
  generateRandomNonce,
  generateRandomState,
  getValidatedIdTokenClaims,
  None,
  processAuthorizationCodeResponse,
  processDiscoveryResponse,
  processDynamicClientRegistrationResponse,
  ResponseBodyError,
  validateApplicationLevelSignature,
  validateAuthResponse,
} from 'oauth4webapi'

/**
 * A public client on the command line. It reads all endpoints from discovery, authorizes with PKCE and verifies the
 * id_token, like a third-party application.
 */
export type RelyingParty = Awaited<ReturnType<typeof openRelyingParty>>

export type Tokens = Awaited<ReturnType<typeof redeem>>

export interface RelyingPartyOptions {
  readonly baseUrl: string
  /** Without a client_id, the client registers itself as a native application. */
  readonly clientId: string | undefined
  /** The redirect URI to register. */
  readonly redirectUri: string
  readonly scope: string
}

/** Allows http, because a local service has no TLS. */
const insecure = { [allowInsecureRequests]: true }

/** Discovers the service, and registers a client if necessary. @throws if it cannot be reached, or its issuer differs */
export async function openRelyingParty(options: RelyingPartyOptions) {
  const { baseUrl, scope } = options
  const server = await discover(baseUrl)
  const clientId = options.clientId ?? (await register(server, options.redirectUri))
  return {
    baseUrl,
    /** Creates an authorization request for a redirect URI. */
    async begin(redirectUri: string) {
      const verifier = generateRandomCodeVerifier()
      const [state, nonce] = [generateRandomState(), generateRandomNonce()]
      const start = new URL(server.authorization_endpoint ?? baseUrl)
      start.search = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope,
        resource: baseUrl,
        state,
        nonce,
        code_challenge: await calculatePKCECodeChallenge(verifier),
        code_challenge_method: 'S256',
      }).toString()
      const asked = { clientId, redirectUri, scope, verifier, state, nonce }
      /** Redeems the code in the authorization response, and verifies the id_token. */
      const finish = (callback: URL) => redeem(server, asked, callback)
      return { redirectUri, start, finish }
    },
  }
}

async function discover(baseUrl: string): Promise<AuthorizationServer> {
  let response: Response
  try {
    response = await discoveryRequest(new URL(baseUrl), insecure)
  } catch (cause) {
    const { code, message } = Object(Object(cause).cause)
    const advice = 'start a service with npm start, or check --base-url and NODE_EXTRA_CA_CERTS'
    throw new Error(`cannot reach ${baseUrl} (${code ?? message}); ${advice}`, { cause })
  }
  if (!response.ok)
    throw new Error(`discovery at ${baseUrl} failed with ${response.status}; check --base-url`)
  const { issuer } = (await response.clone().json()) as AuthorizationServer
  if (issuer !== baseUrl) {
    throw new Error(`the issuer of the service at ${baseUrl} is ${issuer}; use that URL`)
  }
  return await processDiscoveryResponse(new URL(baseUrl), response)
}

/** Registers a client (RFC 7591 §3), which the service deletes if it stays unused. */
async function register(server: AuthorizationServer, redirectUri: string): Promise<string> {
  const client = {
    client_name: 'npm run token',
    application_type: 'native',
    redirect_uris: [redirectUri],
    token_endpoint_auth_method: 'none',
  }
  const response = await dynamicClientRegistrationRequest(server, client, insecure)
  return (await processDynamicClientRegistrationResponse(response)).client_id
}

type Asked = Record<'clientId' | 'redirectUri' | 'scope' | 'verifier' | 'state' | 'nonce', string>

async function redeem(server: AuthorizationServer, asked: Asked, callback: URL) {
  const { clientId, redirectUri, scope, verifier, state, nonce } = asked
  const client: Client = { client_id: clientId, id_token_signed_response_alg: 'ES256' }
  try {
    const answer = validateAuthResponse(server, client, callback, state)
    const response = await authorizationCodeGrantRequest(
      server,
      client,
      None(),
      answer,
      redirectUri,
      verifier,
      { ...insecure, additionalParameters: { resource: server.issuer } },
    )
    const tokens = await processAuthorizationCodeResponse(server, client, response, {
      expectedNonce: nonce,
    })
    await validateApplicationLevelSignature(server, response, insecure)
    return {
      base_url: server.issuer,
      client_id: clientId,
      access_token: tokens.access_token,
      refresh_token: tokens.refresh_token,
      id_token: tokens.id_token,
      expires_in: tokens.expires_in,
      scope: tokens.scope ?? scope,
      claims: getValidatedIdTokenClaims(tokens),
    }
  } catch (error) {
    if (!(error instanceof AuthorizationResponseError || error instanceof ResponseBodyError))
      throw error
    const { error: code, error_description: why = 'no reason given' } = error
    throw new Error(`${code}: ${why}`, { cause: error })
  }
}
