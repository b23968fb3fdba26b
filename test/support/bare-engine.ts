import { generateKeyPairSync } from 'node:crypto'
import { type EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

import type { Context, Middleware } from 'koa'
import {
  type Adapter,
  type AdapterPayload,
  type ClientMetadata,
  type Configuration,
  errors,
  Provider,
} from 'oidc-provider'

import { scopeNames } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { claude, notes, portal, resourceServer } from './gatehouse.ts'

/**
 * The engine as somebody would configure it who reads its documentation and our specification, and
 * nothing else: the same addresses, clients, scopes and resources, without one of our repairs. A
 * test that fails here and holds on the service shows that the repair is needed and works.
 */
export interface BareEngine extends AsyncDisposable {
  readonly url: string
  readonly provider: Provider
  readonly records: Records
}

/** What the engine stored, by model and id. */
export type Records = Map<string, AdapterPayload>

export interface BareSetup {
  readonly adapter?: Configuration['adapter']
}

export async function startBareEngine(setup: BareSetup = {}): Promise<BareEngine> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`
  const records: Records = new Map()
  for (const client of clients) records.set(`Client:${client.client_id}`, { ...client })
  const provider = new Provider(url, {
    ...configuration(url),
    adapter: setup.adapter ?? ((model) => slowAdapter(model, records)),
  })
  provider.use(agreeAtOnce(provider))
  // The types list each event as an overload of its own, and Koa's is not among them.
  const emitter: EventEmitter = provider
  emitter.on('error', () => {})
  server.on('request', provider.callback())
  return {
    url,
    provider,
    records,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

const clients: readonly ClientMetadata[] = [
  {
    client_id: notes.clientId,
    application_type: 'native',
    redirect_uris: [notes.redirectUri],
    token_endpoint_auth_method: 'none',
  },
  {
    client_id: portal.clientId,
    redirect_uris: [portal.redirectUri],
    client_secret: portal.clientSecret,
    token_endpoint_auth_method: 'client_secret_post',
  },
  {
    client_id: claude.clientId,
    redirect_uris: [claude.redirectUri],
    token_endpoint_auth_method: 'none',
  },
  {
    client_id: resourceServer.clientId,
    redirect_uris: [],
    response_types: [],
    grant_types: [],
    client_secret: resourceServer.clientSecret,
    token_endpoint_auth_method: 'client_secret_post',
  },
]

function configuration(url: string): Configuration {
  return {
    jwks: { keys: [signingKey()] },
    cookies: { keys: ['only-for-tests'] },
    clientDefaults: {
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      id_token_signed_response_alg: 'ES256',
      token_endpoint_auth_method: 'none',
    },
    enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
    clientAuthMethods: ['none', 'client_secret_post'],
    responseTypes: ['code'],
    scopes: scopeNames(),
    claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
    pkce: { required: () => true },
    routes: {
      authorization: paths.authorization,
      token: paths.token,
      userinfo: paths.userinfo,
      revocation: paths.revocation,
      introspection: paths.introspection,
      registration: paths.registration,
      jwks: paths.jwks,
      end_session: paths.endSession,
    },
    ttl: {
      AccessToken: 3600,
      AuthorizationCode: 60,
      IdToken: 600,
      Grant: 14 * 86_400,
      Interaction: 3600,
      RefreshToken: 30 * 86_400,
      Session: 14 * 86_400,
    },
    features: features(url),
    extraParams: {
      // Scope policy as the documentation suggests it; it runs after the resource was looked at.
      scope: (_ctx, value, client) => {
        const member = String(value ?? '').includes('account:')
        if (client?.clientId !== claude.clientId || !member) return
        throw new errors.InvalidScope('requested scope is not allowed', 'account')
      },
    },
    findAccount: (_ctx, id) => ({
      accountId: id,
      claims: () => ({ sub: id, name: 'Sam Student', email: 'sam@northlight.example' }),
    }),
    issueRefreshToken: () => true,
    expiresWithSession: () => false,
    rotateRefreshToken: true,
    clientBasedCORS: () => false,
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    renderError: (ctx, out) => {
      ctx.body = out
    },
  }
}

function features(url: string): Configuration['features'] {
  const accepted = [url, `${url}/`, `${url}/mcp`, `${url}/member/graphql`]
  return {
    devInteractions: { enabled: false },
    revocation: { enabled: true },
    introspection: {
      enabled: true,
      // The engine's own default, which would print a notice.
      allowedPolicy: (_ctx, client, token) =>
        client.clientAuthMethod !== 'none' || token.clientId === client.clientId,
    },
    registration: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: (ctx, _client, oneOf) => {
        if (oneOf) return oneOf[0] as string
        if (!String(ctx.oidc.params?.['scope']).includes('account:')) return undefined
        throw new errors.InvalidTarget('resource is required')
      },
      useGrantedResource: (_ctx, model) => model.kind === 'RefreshToken',
      getResourceServerInfo: (_ctx, resource) => {
        if (!accepted.includes(resource)) throw new errors.InvalidTarget('unknown resource')
        return { scope: scopeNames('member').join(' '), audience: url, accessTokenFormat: 'opaque' }
      },
    },
  }
}

function signingKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' }
}

/** What a network store takes; without a pause no race could show. */
const LATENCY_MS = 3

/** An adapter as the engine's documentation describes it: `consume` notes the time, nothing more. */
function slowAdapter(model: string, records: Records): Adapter {
  const keyOf = (id: string) => `${model}:${id}`
  const find = async (test: (payload: AdapterPayload, key: string) => boolean) => {
    await delay(LATENCY_MS)
    const found = [...records].find(([key, payload]) => test(payload, key))
    return found && structuredClone(found[1])
  }
  return {
    find: (id) => find((_payload, key) => key === keyOf(id)),
    findByUid: (uid) => find((payload, key) => key.startsWith('Session:') && payload.uid === uid),
    findByUserCode: async () => undefined,
    async upsert(id, payload) {
      await delay(LATENCY_MS)
      records.set(keyOf(id), structuredClone(payload))
    },
    async consume(id) {
      await delay(LATENCY_MS)
      const payload = records.get(keyOf(id))
      if (payload) payload['consumed'] = Math.floor(Date.now() / 1000)
    },
    async destroy(id) {
      await delay(LATENCY_MS)
      records.delete(keyOf(id))
    },
    async revokeByGrantId(grantId) {
      await delay(LATENCY_MS)
      for (const [key, payload] of records) {
        if (key.startsWith(`${model}:`) && payload.grantId === grantId) records.delete(key)
      }
    },
  }
}

/** Stands for the pages: the person is Sam and agrees to everything. */
function agreeAtOnce(provider: Provider): Middleware {
  return async (ctx: Context, next) => {
    if (!ctx.path.startsWith('/interaction/')) return await next()
    const { prompt, params, session, grantId } = await provider.interactionDetails(ctx.req, ctx.res)
    if (prompt.name === 'login') {
      const result = { login: { accountId: 'per_sam' } }
      ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result))
      return
    }
    const known = grantId ? await provider.Grant.find(grantId) : undefined
    const grant =
      known ??
      new provider.Grant({ accountId: session?.accountId, clientId: String(params['client_id']) })
    const missing = prompt.details as {
      missingOIDCScope?: string[]
      missingResourceScopes?: Record<string, string[]>
    }
    if (missing.missingOIDCScope) grant.addOIDCScope(missing.missingOIDCScope.join(' '))
    for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {})) {
      grant.addResourceScope(resource, scopes.join(' '))
    }
    const result = { consent: { grantId: await grant.save() } }
    const address = await provider.interactionResult(ctx.req, ctx.res, result, {
      mergeWithLastSubmission: true,
    })
    ctx.redirect(address)
  }
}
