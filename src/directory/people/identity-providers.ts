/** Lets people sign in with identity providers (OpenID Connect): discovery, requests, and checks of their responses. */

import { domainToASCII } from 'node:url'

import { LRUCache } from 'lru-cache'
import {
  type AuthorizationServer,
  allowInsecureRequests,
  type ClientAuth,
  ClientSecretBasic,
  ClientSecretPost,
  type CustomFetchOptions,
  clockSkew,
  clockTolerance,
  customFetch,
  discoveryRequest,
  generateRandomState,
  type IDToken,
  type JWKSCacheInput,
  jwksCache,
  processDiscoveryResponse,
  processUserInfoResponse,
  userInfoRequest,
} from 'oauth4webapi'

import { addressOf, pages } from '../../platform/http/paths.ts'
import type { SendOutgoing } from '../../platform/outgoing/guarded-fetch.ts'
import { readStart } from '../../platform/outgoing/read-start.ts'
import { isMailAddress } from '../../platform/store/mail-address.ts'
import { APPLE, appleSecret, type ClaimNames } from './provider-presets.ts'
import { beginCodeFlow, type KeptValues, redeemAnswer } from './relying-party.ts'

export interface IdentityProvider {
  readonly id: string
  readonly name: string
  readonly issuer: string
  readonly clientId: string
  readonly clientSecret: string
  readonly claims: ClaimNames
  /** The e-mail domains whose users sign in with this provider: verified by DNS, or configured by the platform. */
  readonly domains: readonly string[]
  /** Whether the provider's site accepts only its own providers. */
  readonly isOnlyWay?: boolean
  /** The only site at which the provider is trusted; undefined for a provider of the platform. */
  readonly siteId?: string | undefined
  /** The role that people receive at their first sign-in; only for a provider of a site. */
  readonly role?: 'student' | 'lecturer' | undefined
}

/** A provider of the platform, as configured. */
export type ConfiguredProvider = Omit<
  IdentityProvider,
  'clientSecret' | 'siteId' | 'role' | 'isOnlyWay'
>

/** Adds the client secrets from the environment to the platform's providers. */
export const withSecrets = (
  providers: readonly ConfiguredProvider[],
  secrets: Readonly<Record<string, string>>,
): IdentityProvider[] =>
  providers.map((provider) => ({ ...provider, clientSecret: secrets[provider.id] ?? '' }))

/** Finds the provider for the domain of an e-mail address; undefined if there is none. */
export const findRoute = (providers: readonly IdentityProvider[], login: string) =>
  providers.find(({ domains }) => domains.includes(domainOf(login)))

/** Returns the domain of an e-mail address, in ASCII. */
const domainOf = (login: string) =>
  domainToASCII(login.trim().slice(login.trim().lastIndexOf('@') + 1))

/** A person's identity according to an identity provider. Only issuer and subject identify the person. */
export interface ProvidedIdentity {
  readonly issuer: string
  readonly subject: string
  /** The e-mail address; undefined if it is missing or invalid. */
  readonly email: string | undefined
  /** Whether the provider states that it has verified the address. */
  readonly isVerified: boolean
  /** The name claim, which may have any type. */
  readonly name: unknown
}

/** Lists the identity providers for a site's applications or, if `siteId` is undefined, for those without a site. */
export type ListProviders = (siteId: string | undefined) => Promise<readonly IdentityProvider[]>

/** Thrown if an identity provider did not respond, or responded with a server error or too much data. */
export class ProviderUnreachable extends Error {}

/** A sign-in that waits for the provider's response, with the values for validating that response. */
export interface BegunSignIn extends KeptValues {
  readonly providerId: string
  /** When the person was sent to the provider, in epoch milliseconds. */
  readonly begunAt: number
  /** Whether the person must authenticate at the provider again. */
  readonly isAgain: boolean
}

interface ProviderPorts {
  readonly baseUrl: string
  readonly fetch: SendOutgoing
  readonly now: () => number
}

const SCOPE = 'openid email profile'
/** How long a provider's metadata and keys are cached. A failure to get the metadata is cached for `FAILED_MS`. */
const knownBounds = { max: 1000, ttl: 3_600_000, ttlResolution: 0 }
const FAILED_MS = 5000
const ANSWER_WITHIN_MS = 5000
const ANSWER_BYTES_MAX = 256 * 1024
const SKEW_SECONDS = 60

interface KnownServer {
  readonly found: Promise<AuthorizationServer>
  readonly keys: JWKSCacheInput
}

/** Creates the function that finds and caches the metadata and keys of a provider. */
function makeDiscover({ fetch, now }: ProviderPorts) {
  const servers = new LRUCache<string, KnownServer>({ ...knownBounds, perf: { now } })
  return (provider: IdentityProvider): KnownServer => {
    const key = `${provider.id} ${provider.issuer}`
    const known = servers.get(key)
    if (known) return known
    const found = requestMetadata(provider, fetch)
    const next = { found, keys: {} }
    servers.set(key, next)
    found.catch(() => servers.set(key, next, { ttl: FAILED_MS }))
    return next
  }
}

/** Creates the functions that send people to identity providers, and check the responses. */
export function makeProviderSignIn(ports: ProviderPorts, list: ListProviders) {
  const { baseUrl, fetch, now } = ports
  const discover = makeDiscover(ports)
  const redirectUriOf = ({ id }: IdentityProvider) =>
    baseUrl + addressOf(pages.providerCallback, { provider: id })

  return {
    list,

    /**
     * Creates an authorization request for the interaction `uid`, and the values for validating the response.
     *
     * @throws ProviderUnreachable; another error if the provider's metadata is invalid
     */
    async begin(provider: IdentityProvider, asked: Asked) {
      const server = await discover(provider).found
      const address = new URL(server.authorization_endpoint ?? '')
      // The state contains the interaction id, so the callback finds the interaction's pages without a cookie.
      const { kept, query } = await beginCodeFlow(
        { client_id: provider.clientId, redirect_uri: redirectUriOf(provider), scope: SCOPE },
        `${generateRandomState()}.${asked.uid}`,
      )
      for (const [name, value] of query) address.searchParams.set(name, value)
      // Apple requires `form_post` for requests with the scope `email`.
      if (provider.issuer === APPLE) address.searchParams.set('response_mode', 'form_post')
      if (asked.loginHint !== undefined) address.searchParams.set('login_hint', asked.loginHint)
      if (asked.isAgain) {
        address.searchParams.set('prompt', 'login')
        address.searchParams.set('max_age', '0')
      }
      const { isAgain } = asked
      const begun: BegunSignIn = { ...kept, providerId: provider.id, begunAt: now(), isAgain }
      return { begun, address: address.href }
    },

    /**
     * Checks the response of a provider, and returns the person's identity.
     *
     * @throws ProviderUnreachable; another error, without secrets in its message, if the response is invalid
     */
    async complete(
      provider: IdentityProvider,
      begun: BegunSignIn,
      answer: URLSearchParams,
    ): Promise<ProvidedIdentity> {
      const { found, keys } = discover(provider)
      const server = await found
      const skewMs = now() - Date.now()
      const client = {
        client_id: provider.clientId,
        [clockSkew]: Math.round(skewMs / 1000),
        [clockTolerance]: SKEW_SECONDS,
      }
      const options = { ...requestOptions(provider, fetch), [jwksCache]: keys }
      const { claims, accessToken } = await redeemAnswer(answer, begun, {
        ...{ server, client, options, redirectUri: redirectUriOf(provider) },
        authentication: await authenticationAt(server, provider, now()),
      })
      // Some providers ignore `max_age`, so anyone at an unlocked computer could otherwise continue without signing in.
      const latestAt = Number(claims.auth_time) * 1000 + SKEW_SECONDS * 1000
      if (begun.isAgain && !(latestAt >= begun.begunAt)) {
        throw new Error('the person did not authenticate again')
      }
      if (provider.claims.email in claims || !server.userinfo_endpoint)
        return providedIdentity(claims, provider)
      // Many providers return the e-mail address only at the UserInfo endpoint (OpenID Connect Core §5.4). The response
      // must have the same `sub`.
      const response = await userInfoRequest(server, client, accessToken, options)
      const more = await processUserInfoResponse(server, client, claims.sub, response)
      return providedIdentity({ ...more, ...claims }, provider)
    },

    /** Returns the URL that ends the session at a provider (RP-Initiated Logout §2), if it has one. */
    async signOut(provider: IdentityProvider): Promise<string | undefined> {
      const address = URL.parse((await discover(provider).found).end_session_endpoint ?? '')
      if (address?.protocol !== new URL(provider.issuer).protocol) return undefined
      address.searchParams.set('client_id', provider.clientId)
      address.searchParams.set('post_logout_redirect_uri', baseUrl + pages.providerSignedOut)
      return address.href
    },
  }
}

/** Returns the client authentication for a provider: Basic, unless the provider supports client_secret_post. */
async function authenticationAt(
  { token_endpoint_auth_methods_supported: methods }: AuthorizationServer,
  provider: IdentityProvider,
  nowMs: number,
): Promise<ClientAuth> {
  const isApple = provider.issuer === APPLE
  const secret = isApple ? await appleSecret(provider, nowMs) : provider.clientSecret
  return (methods?.includes('client_secret_post') ? ClientSecretPost : ClientSecretBasic)(secret)
}

interface Asked extends Pick<BegunSignIn, 'isAgain'> {
  /** The id of the interaction. */
  readonly uid: string
  readonly loginHint: string | undefined
}

async function requestMetadata(provider: IdentityProvider, fetch: SendOutgoing) {
  const url = new URL(provider.issuer)
  const options = { algorithm: 'oidc', ...requestOptions(provider, fetch) } as const
  const response = await discoveryRequest(url, options)
  // This also checks that the metadata names this issuer.
  const server = await processDiscoveryResponse(url, response)
  if (URL.parse(server.authorization_endpoint ?? '')?.protocol !== url.protocol) {
    throw new Error('the authorization endpoint of the provider must be an https URL')
  }
  return server
}

type Sent = CustomFetchOptions<string, URLSearchParams | undefined>

/**
 * Returns the options for requests to a provider. They allow http, because `fetch` itself enforces https. Only the
 * configured host of a platform provider may have a private address.
 */
function requestOptions({ issuer, siteId }: IdentityProvider, fetch: SendOutgoing) {
  const send = async (address: string, { method, headers, body }: Sent) => {
    const isConfigured = siteId === undefined && new URL(address).host === new URL(issuer).host
    try {
      const response = await fetch(address, {
        ...{ method, headers, body: body ?? null, privateAddress: isConfigured },
        ...{ purpose: 'identity', signal: AbortSignal.timeout(ANSWER_WITHIN_MS) },
      })
      const { bytes, isLonger } = await readStart(response, ANSWER_BYTES_MAX)
      if (isLonger) throw new Error(`the response is longer than ${ANSWER_BYTES_MAX} bytes`)
      if (response.status >= 500) throw new Error(`the provider responded with ${response.status}`)
      return new Response(bytes, response)
    } catch (cause) {
      const detail = cause instanceof Error ? cause.message : String(cause)
      throw new ProviderUnreachable(`a request to the provider failed: ${detail}`, { cause })
    }
  }
  return { [customFetch]: send, [allowInsecureRequests]: true }
}

/** Reads the claims about a person. @throws an error if `sub` is not usable (OpenID Connect Core §2) */
function providedIdentity(claims: IDToken, { claims: names }: IdentityProvider): ProvidedIdentity {
  const { sub, [names.email]: email, [names.name]: name, [names.emailVerified]: verified } = claims
  if (!/^[\x20-\x7e]{1,255}$/.test(sub)) throw new Error('the `sub` of the id_token is invalid')
  const address = typeof email === 'string' && isMailAddress(email) ? email : undefined
  // Some providers send strings or numbers instead of booleans.
  const isVerified = verified === true || verified === 'true' || verified === 1 || verified === '1'
  return { issuer: claims.iss, subject: sub, email: address, isVerified, name }
}
