/** The registration endpoint: who gets a client_id, and with what. Clients are stored elsewhere. */

import type { Context } from 'koa'
import type Router from 'koa-router'

import { grantTypesServed } from '../clients/client.ts'
import type { IntegrationRow } from '../clients/client-store.ts'
import type { Clients } from '../clients/find-client.ts'
import type { RegisteredClient } from '../clients/loopback-clients.ts'
import {
  invalidClientMetadata,
  methodNotAllowed,
  tooManyRequests,
  unregisteredRedirectUri,
  unsupportedBody,
} from '../http/errors.ts'
import { openCors } from '../http/open-cors.ts'
import { paths } from '../http/paths.ts'
import { decodeUtf8, readRequestBody } from '../http/request-body.ts'
import { logFields } from '../http/request-log.ts'
import { makeRouter } from '../http/router.ts'
import { parseStrictObject } from '../http/strict-json.ts'
import { decideRegistration, type RegistrationPolicy } from './registration.ts'

export interface RegistrationDependencies {
  readonly policy: RegistrationPolicy
  readonly clients: Clients
}

const BODY_BYTES_MAX = 16_384

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
  { policy, clients }: RegistrationDependencies,
): Promise<void> {
  const waitSeconds = await clients.countRegistration(ctx.ip)
  if (waitSeconds !== undefined) {
    ctx.set('Retry-After', String(waitSeconds))
    throw tooManyRequests()
  }
  const decision = decideRegistration(await readBody(ctx), policy)
  switch (decision.kind) {
    case 'refused':
      throw decision.error === 'invalid_redirect_uri'
        ? unregisteredRedirectUri(decision.description)
        : invalidClientMetadata(decision.description)
    case 'integration':
      await demandActive(decision.integration, clients)
      send(ctx, integrationRecord(decision.integration, decision.scope))
      return
    case 'loopback':
      send(ctx, loopbackRecord(await clients.loopback.register(decision.registration)))
      return
  }
}

async function readBody(ctx: Context): Promise<Readonly<Record<string, unknown>>> {
  if (!ctx.is('application/json')) throw unsupportedBody('application/json')
  const text = decodeUtf8(await readRequestBody(ctx, BODY_BYTES_MAX))
  if (text === undefined)
    throw invalidClientMetadata('the request body is refused: it is not UTF-8')
  const read = parseStrictObject(text)
  if ('problem' in read) {
    throw invalidClientMetadata(`the request body is refused: ${read.problem}`)
  }
  return read.value
}

/** An operator can switch a platform off; its client_id would lead to a refusal later. */
async function demandActive(integration: IntegrationRow, clients: Clients): Promise<void> {
  const client = await clients.find(integration.client_id)
  if (client?.state !== 'active') throw invalidClientMetadata('this platform has been switched off')
}

interface RegistrationRecord {
  readonly client_id: string
  readonly [member: string]: unknown
}

function send(ctx: Context, record: RegistrationRecord): void {
  logFields(ctx).client = record.client_id
  ctx.status = 201
  ctx.set('Cache-Control', 'no-store')
  ctx.body = record
}

/** Public members only. When the platform got its client_id is not known, and so not said. */
function integrationRecord(integration: IntegrationRow, scope: string): RegistrationRecord {
  return {
    client_id: integration.client_id,
    client_name: integration.client_name,
    redirect_uris: integration.redirect_uris,
    token_endpoint_auth_method: integration.token_endpoint_auth_method,
    grant_types: grantTypesServed,
    response_types: ['code'],
    scope,
  }
}

function loopbackRecord(client: RegisteredClient): RegistrationRecord {
  return {
    client_id: client.clientId,
    client_id_issued_at: client.issuedAtSeconds,
    ...(client.name !== undefined && { client_name: client.name }),
    application_type: 'native',
    redirect_uris: client.redirectUris,
    token_endpoint_auth_method: 'none',
    grant_types: client.grantTypes,
    response_types: ['code'],
    scope: client.scope,
  }
}
