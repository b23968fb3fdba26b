import { AsyncLocalStorage } from 'node:async_hooks'
import { type ParsedUrlQueryInput, parse, stringify } from 'node:querystring'

import { decodeJwt, type JSONWebKeySet } from 'jose'
import type { Context } from 'koa'
import { type Adapter, type Configuration, type KoaContextWithOIDC, Provider } from 'oidc-provider'

import type { Authentication } from '../../directory/people/authentication.ts'
import { hintNotValid } from '../../platform/http/errors.ts'
import { refuseTooMany } from '../../platform/limits/too-many-requests.ts'
import type { OutgoingInit } from '../../platform/outgoing/guarded-fetch.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import { isUnreviewed } from '../clients/client.ts'
import { type EngineClient, factsOfClient, toClientMetadata } from '../clients/client-metadata.ts'
import type { DocumentClients } from '../clients/document-clients.ts'
import { fetchBounds, makeFetchGovernor } from '../clients/fetch-governor.ts'
import { isLoopbackClientId } from '../clients/loopback-clients.ts'
import { preparedParameters } from './authorize-requests.ts'
import { renewSession } from './browser-session.ts'
import type { EngineDependencies } from './engine-dependencies.ts'
import { NOTICE_WITHIN_MS, type SendNotice, type SignOuts } from './sign-outs.ts'

/** The engine's name for the model of pushed requests. */
export const PUSHED_REQUEST = 'PushedAuthorizationRequest'

const PUSH_ROUTE = 'pushed_authorization_request'
const asksPerson: ReadonlySet<string> = new Set(['authorization', 'resume', PUSH_ROUTE])

/** Creates the engine's lookup of clients. Authorization and sign-out requests do not find a deleted client. */
export function clientFinder(dependencies: EngineDependencies): Adapter['find'] {
  const { clients, platform } = dependencies
  const findPushed = platform.state.adapterFor(PUSHED_REQUEST).find
  return async (clientId) => {
    const { ctx } = Provider
    const route = ctx?.oidc?.route ?? ''
    if (ctx && (route === 'token' || route === 'revocation')) {
      return await findCaller(ctx, clientId, dependencies)
    }
    if (ctx) preparePushed(ctx, clientId, dependencies)
    const returnsTo = ctx && (await requestedAddress(ctx, findPushed))
    const client = await clients.find(clientId, mayFetchDocument(), returnsTo)
    // A deleted client can still authenticate, and its refresh requests fail with invalid_grant. But browsers must not
    // be redirected to its URIs.
    const sendsPeople = asksPerson.has(route) || route.startsWith('end_session')
    if (client && !(client.state === 'deleted' && sendsPeople)) return toClientMetadata(client)
    if (ctx) refuseHint(ctx)
    return undefined
  }
}

/**
 * Prepares the parameters of a pushed request, as authorize-requests.ts does for browser requests (RFC 9126 §2.1). The
 * engine reads the parameters from the body only after it has authenticated the client. No-op for other requests.
 */
function preparePushed(
  { oidc }: KoaContextWithOIDC,
  clientId: string,
  dependencies: EngineDependencies,
): void {
  if (oidc?.route !== PUSH_ROUTE) return
  const text = stringify(oidc.body as ParsedUrlQueryInput)
  Object.assign(oidc, { body: parse(preparedParameters(text, dependencies, clientId)) })
}

/**
 * Reports an invalid id_token_hint at sign-out instead of an unknown client. The engine looks up the client before it
 * validates the hint. @throws hintNotValid
 */
function refuseHint({ oidc }: KoaContextWithOIDC): void {
  if (oidc?.route === 'end_session' && oidc.params?.['id_token_hint'] !== undefined) {
    throw hintNotValid()
  }
}

/**
 * Finds the client that authenticates at the token or revocation endpoint. Rejects a client that has sent too many
 * requests. At the token endpoint, the query for the code or token also reads the client's version for the cache.
 */
async function findCaller(
  ctx: KoaContextWithOIDC,
  clientId: string,
  { findKeptClient, readTokenRequest, platform }: EngineDependencies,
) {
  refuseTooMany(ctx, platform.requestLimits.exceeded('requestsOfClient', clientId))
  const request = ctx.oidc.route === 'token' ? readTokenRequest(ctx, clientId) : undefined
  // A loopback client has no version, so its lookup does not wait for the query.
  const [kept] = isLoopbackClientId(clientId)
    ? await Promise.all([findKeptClient(clientId), request])
    : [await findKeptClient(clientId, (await request)?.facts?.callerVersion)]
  if (kept?.client.authMethod !== 'none' || !kept.client.keys) return kept?.metadata
  const authMethod = ctx.oidc.body?.['client_assertion'] === undefined ? 'none' : 'private_key_jwt'
  return toClientMetadata({ ...kept.client, authMethod })
}

/** Whether the request may wait for a metadata document. Only authorization requests and pushed requests may wait. */
function mayFetchDocument(): boolean {
  const route = Provider.ctx?.oidc?.route
  return route === 'authorization' || route === PUSH_ROUTE
}

/** The prefix that the engine gives to the request_uri of a pushed request (RFC 9126 §2.2). */
const PUSHED_PREFIX = 'urn:ietf:params:oauth:request_uri:'

/**
 * Returns the redirect_uri of an authorization request, which may have been pushed earlier. The lookup of a platform's
 * client needs the URI before the engine has read it.
 */
async function requestedAddress(
  { oidc }: KoaContextWithOIDC,
  findPushed: StateAdapter['find'],
): Promise<string | undefined> {
  if (!asksPerson.has(oidc?.route)) return undefined
  const pushes = oidc.route === PUSH_ROUTE
  const { redirect_uri: address, request_uri: name } = (pushes ? oidc.body : oidc.params) ?? {}
  if (typeof address === 'string') return address
  if (typeof name !== 'string' || !name.startsWith(PUSHED_PREFIX)) return undefined
  const request = (await findPushed(name.slice(PUSHED_PREFIX.length)))?.request
  const pushed = request === undefined ? undefined : decodeJwt(request)['redirect_uri']
  return typeof pushed === 'string' ? pushed : undefined
}

/** Configures the engine's feature for metadata documents. */
export function documentFeature(documents: DocumentClients) {
  return {
    enabled: documents.enabled,
    ack: 'draft-02',
    allowFetch: async (_ctx: unknown, clientId: string) =>
      mayFetchDocument() && (await documents.admits(clientId)),
    allowClient: async (_ctx: unknown, { clientId }: { clientId: string }) =>
      await documents.admits(clientId),
    // Disable the engine's cache, which would not notice a document review.
    cacheDuration: { min: 0, max: 0 },
  } satisfies NonNullable<Configuration['features']>['clientIdMetadataDocument']
}

const KEY_SET_BYTES_MAX = 65_536
/** The maximum freshness lifetime of fetched client keys, even if the Cache-Control header allows more. */
const KEYS_FRESH_SECONDS_MAX = 600

/**
 * Limits for fetching client keys, per process. They are high, because fetches from failing hosts must not block other
 * clients. A URL that returns JSON is fetched at most once a minute, so only failing hosts can cause many requests.
 */
const keyBounds = { ...fetchBounds, runningMax: 64, perMinuteMax: 1200 }

/**
 * Configures the engine's requests for metadata documents, client keys and sign-out notices. No request follows
 * redirects. Only requests to `privateHosts` may connect to private addresses (platform/outgoing/guarded-fetch.ts).
 * Fetches of keys are limited, because unauthenticated callers can trigger them. Sign-out notices have a separate time
 * limit, and their queues limit the number of parallel requests (platform/outbox/outbox.ts).
 */
export function engineRequests({
  documents,
  furtherPlans,
  platform: { now, fetch },
}: EngineDependencies): Pick<Configuration, 'fetch' | 'fetchResponseBodyLimits'> {
  // Anyone can publish metadata documents on many hosts, so clients with unapproved documents have separate limits.
  const unapproved = makeFetchGovernor(now, keyBounds)
  const trusted = makeFetchGovernor(now, keyBounds)
  const ask = async (address: string, options: OutgoingInit) => {
    const privateAddress = furtherPlans.privateHosts.includes(new URL(address).host)
    return await fetch(address, { ...options, redirect: 'manual', privateAddress })
  }
  const askForKeys = async (client: EngineClient, address: string, options: OutgoingInit) => {
    const governor = isUnreviewed(factsOfClient(client)) ? unapproved : trusted
    const end = governor.begin(new URL(address).host)
    if (!end) throw new Error('too many requests for client keys: retry in a minute')
    try {
      return boundedFreshness(await ask(address, options))
    } finally {
      end()
    }
  }
  return {
    async fetch(input, options) {
      const address = String(input)
      // The engine uses POST only for sign-out notices.
      if (options?.method === 'POST') {
        const signal = AbortSignal.timeout(NOTICE_WITHIN_MS)
        return await withoutBody(await ask(address, { ...options, signal }))
      }
      const owner = clientOfKeys(address)
      if (owner) return await askForKeys(owner, address, options ?? {})
      // `options` include the engine's time limit.
      const client = await documents.resolve(address, async () => await fetch(address, options))
      return Response.json(toClientMetadata(client))
    },
    // document-clients.ts limits the size of a document. The client metadata made from it can be larger.
    fetchResponseBodyLimits: {
      'client_id metadata document': 65_536,
      jwks_uri: KEY_SET_BYTES_MAX,
    },
  }
}

/** Discards the body of a response. Only the status matters. */
async function withoutBody({ body, status }: Response): Promise<Response> {
  await body?.cancel()
  return new Response(null, { status })
}

/** Limits max-age, because a client may change its keys before the cached keys expire. */
function boundedFreshness(response: Response): Response {
  const [, said = '0'] = /max-age=(\d+)/.exec(response.headers.get('cache-control') ?? '') ?? []
  const headers = { 'cache-control': `max-age=${Math.min(Number(said), KEYS_FRESH_SECONDS_MAX)}` }
  return new Response(response.body, { status: response.status, headers })
}

/** The client whose keys `keysOfClient` is fetching. */
const keyRequest = new AsyncLocalStorage<EngineClient>()

/** The engine's store of one client's keys. */
interface KeyStore extends Iterable<JSONWebKeySet['keys'][number]> {
  refresh(): Promise<void>
}

/** Returns the stored public keys of a client, or fetches them from its jwks_uri. Empty if the client has no keys. */
async function keysOfClient(provider: Provider, clientId: string): Promise<JSONWebKeySet> {
  const client = await provider.Client.find(clientId)
  const keys = client?.['asymmetricKeyStore'] as KeyStore | undefined
  if (!client || !keys) return { keys: [] }
  await keyRequest.run(client, async () => await keys.refresh())
  return { keys: [...keys] }
}

/** Returns the client whose keys the engine is fetching; undefined if the URL is that of a metadata document. */
function clientOfKeys(address: string): EngineClient | undefined {
  const client = keyRequest.getStore() ?? Provider.ctx?.oidc?.client
  return client?.jwksUri === address ? client : undefined
}

/** Gives other parts of the service access to the engine with the current keys. */
export function makeCurrentEngine(dependencies: EngineDependencies) {
  let current: { readonly engine: Provider; readonly send: SendNotice } | undefined
  return {
    follow(engine: Provider): void {
      current = { engine, send: queueSignOuts(engine, dependencies.signOuts) }
    },
    async renewSession(ctx: Context, renewed: Authentication, from: string) {
      if (!current) throw new Error('sessions cannot be renewed before the signing keys are loaded')
      return await renewSession(current.engine, ctx, { ...renewed, from }, dependencies)
    },
    findClientKeys: async (clientId: string): Promise<JSONWebKeySet> =>
      current ? await keysOfClient(current.engine, clientId) : { keys: [] },
    sendSignOut: (async (notice) => await current?.send(notice)) satisfies SendNotice,
  }
}

/** Methods of the engine's client that are missing from its types. */
interface Notifying {
  backchannelLogout(this: EngineClient, personId: string, sid?: string): Promise<void>
  includeSid(this: EngineClient): boolean
}

/**
 * Makes the engine queue sign-out notices, so the person does not wait for them. Also makes the engine include `sid` in
 * every id_token of a notified client.
 *
 * @returns the function that sends a notice with the engine: a logout token signed with the current key
 */
function queueSignOuts(provider: Provider, signOuts: SignOuts | undefined): SendNotice {
  const notifying = provider.Client.prototype as unknown as Notifying
  const { backchannelLogout } = notifying
  notifying.includeSid = function includeSid() {
    return this.backchannelLogoutUri !== undefined
  }
  notifying.backchannelLogout = async function queue(sub, sid) {
    await signOuts?.signedOut({ clientId: this.clientId, sub, sid })
  }
  return async ({ clientId, sub, sid }) => {
    const client = await provider.Client.find(clientId)
    if (client?.backchannelLogoutUri === undefined) return
    // A session that began before the client registered its logout URI has no `sid`, which this client requires.
    if (client.backchannelLogoutSessionRequired && sid === undefined) return
    const asked = { backchannelLogoutSessionRequired: { value: sid !== undefined } }
    await backchannelLogout.call(Object.create(client, asked), sub, sid)
  }
}
