/** The registration endpoint: who gets a client_id, and with what. Clients are stored elsewhere. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import type { NoteEvent } from '../../platform/audit/event-rows.ts'
import { openCors } from '../../platform/http/cors.ts'
import {
  invalidClientMetadata,
  methodNotAllowed,
  tooManyRequests,
  unsupportedBody,
} from '../../platform/http/errors.ts'
import { paths } from '../../platform/http/paths.ts'
import { decodeUtf8, readRequestBody } from '../../platform/http/request-body.ts'
import { callerOf, logFields } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { parseStrictObject } from '../../platform/http/strict-json.ts'
import { refuseTooMany } from '../../platform/limits/limits.ts'
import { grantTypesServed, type LoopbackRegistration } from '../clients/client.ts'
import type { Clients } from '../clients/find-client.ts'
import {
  decideRegistration,
  type IntegrationDecision,
  type RegistrationPolicy,
} from './registration.ts'

export interface RegistrationDependencies {
  readonly policy: RegistrationPolicy
  readonly clients: Clients
  readonly noteEvent: NoteEvent
}

const BODY_BYTES_MAX = 16_384
/** When a platform has all the callbacks that it may have, and all are in use. */
const FULL_RETRY_SECONDS = 3600

/**
 * POST /api/oauth/register (specification, Client registration; RFC 7591 §3). A route of our own,
 * because the engine's registration would store a new client for everybody, vendors included, and
 * hand out secrets (design 6). Browser pages may call it (design 28).
 */
export function registrationRoutes(dependencies: RegistrationDependencies): Router {
  const router = makeRouter()
  router.all(paths.registration, openCors(['POST']))
  router.post(paths.registration, async (ctx) => await answerRegistration(ctx, dependencies))
  router.all(paths.registration, (ctx) => {
    ctx.set('Allow', 'POST, OPTIONS')
    throw methodNotAllowed('POST')
  })
  return router
}

async function answerRegistration(
  ctx: Context,
  { policy, clients, noteEvent }: RegistrationDependencies,
): Promise<void> {
  refuseTooMany(ctx, await clients.countRegistration(ctx.ip))
  const decision = decideRegistration(await readBody(ctx), policy)
  const isPlatform = decision.kind === 'integration'
  const record = isPlatform
    ? await registerIntegration(ctx, decision, clients)
    : await registerLoopback(ctx, decision.registration, clients)
  const clientId = record.client_id
  logFields(ctx).client = clientId
  const reason = isPlatform ? 'a platform of this service' : 'a program on a computer'
  noteEvent({ action: 'client.registered', clientId, reason, ...callerOf(ctx) })
  ctx.status = 201
  ctx.set('Cache-Control', 'no-store')
  ctx.body = record
}

async function readBody(ctx: Context): Promise<Readonly<Record<string, unknown>>> {
  if (!ctx.is('application/json')) throw unsupportedBody('application/json')
  const text = decodeUtf8(await readRequestBody(ctx, BODY_BYTES_MAX))
  const read = text === undefined ? { problem: 'it is not UTF-8' } : parseStrictObject(text)
  if ('problem' in read) throw invalidClientMetadata(`the request body is refused: ${read.problem}`)
  return read.value
}

/** Public members only, without the unknown time at which the platform got its client_id. */
async function registerIntegration(
  ctx: Context,
  { integration, redirectUris, byPattern, scope }: IntegrationDecision,
  clients: Clients,
) {
  // An operator can switch a platform off; its client_id would lead to a refusal later.
  const client = await clients.find(integration.client_id)
  if (client?.state !== 'active') throw invalidClientMetadata('this platform has been switched off')
  if (!(await clients.callbacks.keep(integration.client_id, byPattern))) {
    ctx.set('Retry-After', String(FULL_RETRY_SECONDS))
    throw tooManyRequests()
  }
  return {
    client_id: integration.client_id,
    client_name: integration.client_name,
    redirect_uris: redirectUris,
    token_endpoint_auth_method: integration.token_endpoint_auth_method,
    grant_types: grantTypesServed,
    response_types: ['code'],
    scope,
  }
}

async function registerLoopback(
  ctx: Context,
  registration: LoopbackRegistration,
  { loopback }: Clients,
) {
  const { name, redirectUris, postLogoutRedirectUris = [], grantTypes, scope } = registration
  const { clientId, issuedAtSeconds } = await loopback.register(registration, ctx.ip)
  return {
    client_id: clientId,
    client_id_issued_at: issuedAtSeconds,
    client_name: name,
    application_type: 'native',
    redirect_uris: redirectUris,
    // Addresses elsewhere were left out (RFC 7591 §3.2.1).
    ...(postLogoutRedirectUris.length > 0 && {
      post_logout_redirect_uris: postLogoutRedirectUris,
    }),
    token_endpoint_auth_method: 'none',
    grant_types: grantTypes,
    response_types: ['code'],
    scope,
  }
}
