/**
 * Runs the engine alone, for comparison with the service. CLIENTS contains its clients as JSON. One person approves every
 * request, and no log is written. It uses the service's signing algorithm and paths, and rotates refresh tokens.
 * It imports only a table of paths from the service, because every import would lengthen the measured start.
 */

import { generateKeyPairSync } from 'node:crypto'
import { type EventEmitter, once } from 'node:events'
import { createServer } from 'node:http'

import { Redis } from 'ioredis'
import type { Middleware } from 'koa'
import { type Configuration, Provider } from 'oidc-provider'

import { paths } from '../src/platform/http/paths.ts'
import { bareAdapter } from './bare-adapter.ts'

const { PORT = '', REDIS_URL = '', CLIENTS = '' } = process.env

const configuration: Configuration = {
  adapter: bareAdapter(new Redis(REDIS_URL)),
  clients: JSON.parse(CLIENTS),
  jwks: { keys: [signingKey()] },
  cookies: { keys: ['only-for-the-bench'] },
  clientDefaults: { id_token_signed_response_alg: 'ES256' },
  enabledJWA: { idTokenSigningAlgValues: ['ES256'] },
  responseTypes: ['code'],
  scopes: ['openid', 'profile', 'email'],
  claims: { openid: ['sub'], profile: ['name'], email: ['email'] },
  pkce: { required: () => true },
  routes: {
    authorization: paths.authorization,
    token: paths.token,
    userinfo: paths.userinfo,
    introspection: paths.introspection,
    jwks: paths.jwks,
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
  features: {
    devInteractions: { enabled: false },
    introspection: { enabled: true, allowedPolicy: () => true },
    resourceIndicators: { enabled: false },
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
}

function signingKey() {
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { ...privateKey.export({ format: 'jwk' }), kid: 'one', alg: 'ES256', use: 'sig' }
}

/** Replaces the pages for sign-in and consent: approves every request at once. */
function agreeAtOnce(provider: Provider): Middleware {
  return async (ctx, next) => {
    if (ctx.path === paths.health) {
      ctx.body = 'ok'
      return
    }
    if (!ctx.path.startsWith('/interaction/')) return await next()
    const { prompt, params, session } = await provider.interactionDetails(ctx.req, ctx.res)
    if (prompt.name === 'login') {
      const result = { login: { accountId: 'per_sam' } }
      return ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result))
    }
    const clientId = String(params['client_id'])
    const grant = new provider.Grant({ accountId: session?.accountId, clientId })
    grant.addOIDCScope(String(params['scope']))
    const result = { consent: { grantId: await grant.save() } }
    const more = { mergeWithLastSubmission: true }
    ctx.redirect(await provider.interactionResult(ctx.req, ctx.res, result, more))
  }
}

const provider = new Provider(`http://127.0.0.1:${PORT}`, configuration)
provider.use(agreeAtOnce(provider))
// The types of the engine do not include Koa's `error` event.
const emitter: EventEmitter = provider
emitter.on('error', () => {})
const server = createServer(provider.callback()).listen(Number(PORT), '127.0.0.1')
await once(server, 'listening')
await once(process, 'SIGTERM')
process.exit(0)
