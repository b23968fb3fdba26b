import { createHash, randomBytes } from 'node:crypto'

import { createRemoteJWKSet, type JWTPayload, jwtVerify } from 'jose'

import { MEMBER_READ, MEMBER_WRITE, OPENID } from '../scopes/catalogue.ts'

/**
 * A relying party of the command line: a public client that discovers the service, authorizes with
 * PKCE and verifies the id_token, as an application of somebody else would. It knows the service by
 * its documents only.
 */
export interface RelyingParty {
  readonly baseUrl: string
  /** Starts an authorization for this redirect address. */
  begin(redirectUri: string): Authorization
}

export interface Authorization {
  readonly redirectUri: string
  readonly start: URL
  /** Exchanges the code in the address that the browser came back to. */
  finish(callback: URL): Promise<Tokens>
}

export interface Tokens {
  readonly base_url: string
  readonly client_id: string
  readonly access_token: string
  readonly refresh_token: string | undefined
  readonly id_token: string | undefined
  readonly expires_in: number
  readonly scope: string
  /** The claims of the id_token, after its verification. */
  readonly claims: JWTPayload | undefined
}

export interface RelyingPartyOptions {
  readonly baseUrl: string
  readonly clientId: string
  readonly scope: string | undefined
}

interface Metadata {
  readonly issuer: string
  readonly authorization_endpoint: string
  readonly token_endpoint: string
  readonly jwks_uri: string
}

/** @throws with a sentence when nothing answers there, or another issuer does */
export async function openRelyingParty(options: RelyingPartyOptions): Promise<RelyingParty> {
  const { baseUrl, clientId } = options
  const metadata = await discover(baseUrl)
  const scope = options.scope ?? [OPENID, 'profile', 'email', MEMBER_READ, MEMBER_WRITE].join(' ')
  return {
    baseUrl,
    begin(redirectUri) {
      const [verifier, state, nonce] = [random(), random(), random()]
      const start = new URL(metadata.authorization_endpoint)
      start.search = new URLSearchParams({
        response_type: 'code',
        client_id: clientId,
        redirect_uri: redirectUri,
        scope,
        resource: baseUrl,
        state,
        nonce,
        code_challenge: createHash('sha256').update(verifier).digest('base64url'),
        code_challenge_method: 'S256',
      }).toString()
      return {
        redirectUri,
        start,
        async finish(callback) {
          const code = readCode(callback, { state, issuer: metadata.issuer })
          const answer = await exchange(metadata.token_endpoint, {
            grant_type: 'authorization_code',
            code,
            redirect_uri: redirectUri,
            client_id: clientId,
            code_verifier: verifier,
            resource: baseUrl,
          })
          const claims = await verify(answer.id_token, { metadata, clientId, nonce })
          return { base_url: baseUrl, client_id: clientId, ...answer, claims }
        },
      }
    },
  }
}

async function discover(baseUrl: string): Promise<Metadata> {
  let response: Response
  try {
    response = await fetch(`${baseUrl}/.well-known/openid-configuration`)
  } catch (cause) {
    throw new Error(`no service answers at ${baseUrl}: start one with npm start`, { cause })
  }
  if (!response.ok) throw new Error(`discovery at ${baseUrl} answered ${response.status}`)
  const metadata = (await response.json()) as Metadata
  if (metadata.issuer !== baseUrl) {
    throw new Error(`the service at ${baseUrl} calls itself ${metadata.issuer}: use that address`)
  }
  return metadata
}

/** RFC 6749 §4.1.2, and RFC 9207: the answer must carry our state and the issuer that we asked. */
function readCode(callback: URL, expected: { state: string; issuer: string }): string {
  const answer = callback.searchParams
  if (answer.get('state') !== expected.state || answer.get('iss') !== expected.issuer) {
    throw new Error('the answer is not the one to our request (state or iss differ)')
  }
  const code = answer.get('code')
  if (code) return code
  throw new Error(`${answer.get('error')}: ${answer.get('error_description') ?? 'no reason given'}`)
}

async function exchange(endpoint: string, parameters: Record<string, string>) {
  const response = await fetch(endpoint, { method: 'POST', body: new URLSearchParams(parameters) })
  const body = (await response.json()) as Omit<Tokens, 'base_url' | 'client_id' | 'claims'> & {
    error?: string
    error_description?: string
  }
  if (!response.ok) throw new Error(`${body.error}: ${body.error_description ?? 'no reason given'}`)
  const { access_token, refresh_token, id_token, expires_in, scope } = body
  return { access_token, refresh_token, id_token, expires_in, scope }
}

interface Expected {
  readonly metadata: Metadata
  readonly clientId: string
  readonly nonce: string
}

/** OpenID Connect Core §3.1.3.7, as the specification (Authentication 7) lists it. */
async function verify(
  idToken: string | undefined,
  { metadata, clientId, nonce }: Expected,
): Promise<JWTPayload | undefined> {
  if (idToken === undefined) return undefined
  const keys = createRemoteJWKSet(new URL(metadata.jwks_uri))
  const { payload } = await jwtVerify(idToken, keys, {
    issuer: metadata.issuer,
    audience: clientId,
    algorithms: ['ES256'],
    requiredClaims: ['exp', 'iat', 'sub'],
  })
  if (payload['nonce'] !== nonce) throw new Error('the id_token is not the one to our request')
  return payload
}

function random(): string {
  return randomBytes(32).toString('base64url')
}
