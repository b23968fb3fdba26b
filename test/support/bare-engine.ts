import { generateKeyPairSync } from 'node:crypto'
import type { EventEmitter } from 'node:events'
import { createServer } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'

import type { Context } from 'koa'
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
import { asClaude, asPortal, asResourceServer } from './client.ts'
import { claude, notes } from './gatehouse.ts'
import { listen } from './listen.ts'

type Records = Map<string, AdapterPayload>

/** The engine without our repairs. A test that passes only on the service shows that a repair is needed. */
export async function startBareEngine(adapter?: Configuration['adapter']) {
  const server = createServer()
  const listening = await listen(server)
  const records: Records = new Map()
  for (const client of clients) records.set(`Client:${client.client_id}`, { ...client })
  const provider = new Provider(listening.url, {
    ...configuration(listening.url),
    adapter: adapter ?? ((model) => slowAdapter(model, records)),
  })
  provider.use((ctx, next) => agreeAtOnce(provider, ctx, next))
  // The types lack Koa's events.
  const emitter: EventEmitter = provider
  emitter.on('error', () => {})
  server.on('request', provider.callback())
  return { ...listening, provider, records }
}

const post = { token_endpoint_auth_method: 'client_secret_post' } as const
const clients: readonly ClientMetadata[] = [
  { client_id: notes.clientId, application_type: 'native', redirect_uris: [notes.redirectUri] },
  { ...post, ...asPortal, redirect_uris: [asPortal.redirect_uri] },
  { client_id: asClaude.client_id, redirect_uris: [asClaude.redirect_uri] },
  { ...post, ...asResourceServer, redirect_uris: [], response_types: [], grant_types: [] },
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
      // Scope policy as the documentation suggests it, which runs after the check of the resource.
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
      // The engine's default prints a notice.
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

/** Like a network store; without a pause there are no races. */
const LATENCY_MS = 3

/** An adapter by the engine's documentation: `consume` only notes the time. */
function slowAdapter(model: string, records: Records): Adapter {
  const keyOf = (id: string) => `${model}:${id}`
  const find = async (test: (payload: AdapterPayload, key: string) => boolean) => {
    await delay(LATENCY_MS)
    const found = [...records].find(([key, payload]) => test(payload, key))
    return found && structuredClone(found[1])
  }
  const change = async (work: () => unknown) => {
    await delay(LATENCY_MS)
    work()
  }
  return {
    find: (id) => find((_payload, key) => key === keyOf(id)),
    findByUid: (uid) => find((payload, key) => key.startsWith('Session:') && payload.uid === uid),
    findByUserCode: async () => undefined,
    upsert: (id, payload) => change(() => records.set(keyOf(id), structuredClone(payload))),
    consume: (id) =>
      change(() => {
        const payload = records.get(keyOf(id))
        if (payload) payload['consumed'] = Math.floor(Date.now() / 1000)
      }),
    destroy: (id) => change(() => records.delete(keyOf(id))),
    revokeByGrantId: (grantId) =>
      change(() => {
        for (const [key, payload] of records) {
          if (key.startsWith(`${model}:`) && payload.grantId === grantId) records.delete(key)
        }
      }),
  }
}

async function agreeAtOnce(provider: Provider, ctx: Context, next: () => Promise<void>) {
  if (!ctx.path.startsWith('/interaction/')) return await next()
  const { prompt, params, session, grantId } = await provider.interactionDetails(ctx.req, ctx.res)
  if (prompt.name === 'login') {
    const result = { login: { accountId: 'per_sam' } }
    return ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result))
  }
  const grant =
    (grantId ? await provider.Grant.find(grantId) : undefined) ??
    new provider.Grant({ accountId: session?.accountId, clientId: String(params['client_id']) })
  const missing = prompt.details as {
    missingOIDCScope?: string[]
    missingResourceScopes?: Record<string, string[]>
  }
  if (missing.missingOIDCScope) grant.addOIDCScope(missing.missingOIDCScope.join(' '))
  for (const [resource, scopes] of Object.entries(missing.missingResourceScopes ?? {}))
    grant.addResourceScope(resource, scopes.join(' '))
  const result = { consent: { grantId: await grant.save() } }
  const options = { mergeWithLastSubmission: true }
  ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result, options))
}
