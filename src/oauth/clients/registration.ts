import type { Context } from 'koa'
import type Router from 'koa-router'
import { z } from 'zod'

import type { Config, Integration } from '../../config/config.ts'
import { decideScopes } from '../../directory/scopes/policy.ts'
import type { NoteEvent } from '../../platform/audit/record-audit-event.ts'
import { openCors } from '../../platform/http/cors.ts'
import {
  invalidClientMetadata,
  tooManyRequests,
  unregisteredRedirectUri,
  unsupportedBody,
} from '../../platform/http/errors.ts'
import { pages, paths } from '../../platform/http/paths.ts'
import {
  differInPortOnly,
  isLoopbackRedirect,
  isWebAddress,
  matchesPattern,
} from '../../platform/http/redirect-uri.ts'
import { decodeUtf8, readRequestBody } from '../../platform/http/request-body.ts'
import { callerOf, logFields } from '../../platform/http/request-log.ts'
import { makeRouter } from '../../platform/http/router.ts'
import { parseStrictObject } from '../../platform/http/strict-json.ts'
import { refuseTooMany } from '../../platform/limits/too-many-requests.ts'
import { describeShapeFault, grantTypesServed, readClientName } from './client.ts'
import type { Clients } from './find-client.ts'
import type { LoopbackRegistration } from './loopback-clients.ts'
import { admitsDocuments } from './metadata-document.ts'

interface RegistrationDependencies {
  readonly policy: RegistrationPolicy
  readonly clients: Clients
  readonly noteEvent: NoteEvent
}

const BODY_BYTES_MAX = 16_384
/** The value of the Retry-After header if too many callbacks of a platform are in use. */
const FULL_RETRY_SECONDS = 3600

/**
 * Creates the route POST /api/oauth/register (specification, Client registration; RFC 7591 §3). It replaces the
 * engine's route, which would issue secrets and create a client for every caller, even for known platforms (design 6).
 * Pages from any origin may call the route (design 28).
 */
export function registrationRoutes(dependencies: RegistrationDependencies): Router {
  const router = makeRouter()
  router.all(paths.registration, openCors(['POST']))
  router.post(paths.registration, async (ctx) => await answerRegistration(ctx, dependencies))
  return router
}

async function answerRegistration(
  ctx: Context,
  { policy, clients, noteEvent }: RegistrationDependencies,
): Promise<void> {
  refuseTooMany(ctx, await clients.countRegistration(ctx.ip))
  const decision = decideRegistration(await readMetadata(ctx), policy)
  const isPlatform = 'integration' in decision
  const record = isPlatform
    ? await registerIntegration(ctx, decision, clients)
    : await registerLoopback(ctx, decision, clients)
  const clientId = record.client_id
  logFields(ctx).client = clientId
  const reason = isPlatform ? 'a platform that this service knows' : 'a program on a computer'
  noteEvent({ action: 'client.registered', clientId, reason, ...callerOf(ctx) })
  ctx.status = 201
  ctx.set('Cache-Control', 'no-store')
  ctx.body = { ...record, response_types: ['code'], scope: decision.scope }
}

async function readMetadata(ctx: Context): Promise<Readonly<Record<string, unknown>>> {
  if (!ctx.is('application/json')) throw unsupportedBody('application/json')
  const text = decodeUtf8(await readRequestBody(ctx, BODY_BYTES_MAX))
  const read = text === undefined ? { problem: 'it is not UTF-8' } : parseStrictObject(text)
  if ('problem' in read) throw invalidClientMetadata(`the request body is invalid: ${read.problem}`)
  return read.value
}

/** Registers callbacks for a platform. Returns the response, which has no secret and no client_id_issued_at. */
async function registerIntegration(
  ctx: Context,
  { integration, redirectUris, byPattern }: Extract<Decision, { integration: unknown }>,
  clients: Clients,
) {
  // Reject a disabled platform at registration rather than at its first authorization.
  const client = await clients.find(integration.client_id)
  if (client?.state !== 'active')
    throw invalidClientMetadata(
      'this service has disabled the platform that client_name names: ask the operator of this service',
    )
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
  }
}

async function registerLoopback(
  ctx: Context,
  { registration }: Exclude<Decision, { integration: unknown }>,
  { loopback }: Clients,
) {
  const { name, redirectUris, postLogoutRedirectUris = [], grantTypes } = registration
  const { clientId, issuedAtSeconds } = await loopback.register(registration, ctx.ip)
  return {
    client_id: clientId,
    client_id_issued_at: issuedAtSeconds,
    client_name: name,
    application_type: 'native',
    redirect_uris: redirectUris,
    // Only loopback post-logout URIs were kept, so list them for the client (RFC 7591 §3.2.1).
    ...(postLogoutRedirectUris.length > 0 && {
      post_logout_redirect_uris: postLogoutRedirectUris,
    }),
    token_endpoint_auth_method: 'none',
    grant_types: grantTypes,
  }
}

/** The rules of the registration endpoint (specification, Client registration; design 6). */
type RegistrationPolicy = Pick<Config, 'baseUrl' | 'integrations'> &
  Pick<Config['service'], 'loopbackHosts' | 'metadataDocuments'>

const REDIRECT_URIS_MAX = 10

/** The supported members of a registration. Other members are ignored (RFC 7591 §2). */
const bodyShape = z.object({
  client_name: z.string().optional(),
  redirect_uris: z.array(z.string()).max(REDIRECT_URIS_MAX).optional(),
  post_logout_redirect_uris: z.array(z.string()).max(REDIRECT_URIS_MAX).optional(),
  application_type: z.string().optional(),
  token_endpoint_auth_method: z.string().optional(),
  grant_types: z.array(z.string()).optional(),
  response_types: z.array(z.string()).optional(),
  scope: z.string().optional(),
})

type RegistrationBody = z.infer<typeof bodyShape>

type Decision = ReturnType<typeof decideRegistration>

/**
 * Recognizes a platform or loopback client in a registration, in the order given in design 6. Clients send the same
 * body to every server, so unsupported values are replaced where RFC 7591 §2 allows it. The kind of client determines
 * the authentication method and the application type. Unsupported grant types and scopes are dropped.
 *
 * @throws invalidClientMetadata or unregisteredRedirectUri, with the reason
 */
function decideRegistration(body: Readonly<Record<string, unknown>>, policy: RegistrationPolicy) {
  // Some clients send null for members without a value.
  const members = Object.entries(body).filter(([, value]) => value !== null)
  const parsed = bodyShape.safeParse(Object.fromEntries(members))
  if (!parsed.success) throw invalidClientMetadata(describeShapeFault(parsed.error))
  const read = readClientName(parsed.data.client_name ?? '')
  if ('problem' in read) throw invalidClientMetadata(read.problem)

  const { redirect_uris: redirectUris = [] } = parsed.data
  const integration = policy.integrations.find(
    ({ client_name, other_names }) =>
      read.name !== undefined && [client_name, ...other_names].includes(read.name),
  )
  const recognized = integration && recognize(redirectUris, integration)
  if (recognized) return { ...recognized, scope: narrowed(parsed.data, 'integration') }
  const isLoopback = (uri: string) => isLoopbackRedirect(uri, policy.loopbackHosts)
  if (redirectUris.length > 0 && redirectUris.every(isLoopback)) {
    const registration: LoopbackRegistration = {
      name: read.name,
      redirectUris: [...new Set(redirectUris)],
      postLogoutRedirectUris: parsed.data.post_logout_redirect_uris?.filter(isLoopback),
      grantTypes: readGrantTypes(parsed.data),
    }
    return { registration, scope: narrowed(parsed.data, 'loopback') }
  }
  const foreign = redirectUris.filter((uri) => isWebAddress(uri) && !isLoopback(uri))
  if (foreign.length > 0) throw unregisteredRedirectUri(whyForeign(foreign, policy))
  const why = whyUnknown(redirectUris.length > 0, integration !== undefined)
  throw invalidClientMetadata(`${why}. ${otherWays(policy)}`)
}

/**
 * Compares the requested redirect URIs with those of a platform. Returns undefined if an http or https URI is not the
 * platform's, or if URIs were requested and none is the platform's. Drops unlisted custom-scheme URIs (design 6).
 */
function recognize(redirectUris: readonly string[], row: Integration) {
  const isListed = (uri: string) =>
    row.redirect_uris.some((listed) => listed === uri || differInPortOnly(uri, listed))
  const listed = redirectUris.filter(isListed)
  const byPattern = [...new Set(redirectUris)].filter((uri) =>
    row.redirect_patterns.some((pattern) => matchesPattern(uri, pattern)),
  )
  const known = [...listed, ...byPattern]
  const isForeign = redirectUris.some((uri) => isWebAddress(uri) && !known.includes(uri))
  if (isForeign || (redirectUris.length > 0 && known.length === 0)) return undefined
  return {
    integration: row,
    /** The platform's redirect URIs, and the requested URIs that differ only in the port or match a pattern. */
    redirectUris: [...new Set([...row.redirect_uris, ...known])],
    /** The requested redirect URIs that match a pattern. They must be stored with the client. */
    byPattern,
  }
}

/** Returns the grant types of a loopback client. @throws invalidClientMetadata if the client excludes the code flow */
function readGrantTypes(body: RegistrationBody) {
  const grantTypes = grantTypesServed.filter((type) => body.grant_types?.includes(type) ?? true)
  if (!grantTypes.includes('authorization_code')) {
    throw invalidClientMetadata('grant_types must include authorization_code')
  }
  if (body.response_types && !body.response_types.includes('code')) {
    throw invalidClientMetadata('response_types must include code')
  }
  return grantTypes
}

/**
 * Returns the requested scopes that clients of this origin may have. If there are none, returns all scopes of the
 * origin. Clients may copy scopes from a challenge for another kind of client.
 */
function narrowed({ scope }: RegistrationBody, origin: 'integration' | 'loopback'): string {
  const open = decideScopes({ origin })
  const asked = new Set(scope?.split(' '))
  const kept = open.filter((name) => asked.has(name))
  return (kept.length > 0 ? kept : open).join(' ')
}

/**
 * Explains why http or https redirect URIs are rejected, and suggests a remedy. Written for people who connect an
 * assistant. Quotes nothing from the request, except a loopback URI without a path.
 */
function whyForeign(foreign: readonly string[], policy: RegistrationPolicy): string {
  const { loopbackHosts } = policy
  const hosts = new Intl.ListFormat('en-GB', { type: 'disjunction' }).format(loopbackHosts)
  const [pathless] = foreign.filter((uri) => isLoopbackRedirect(`${uri}/`, loopbackHosts))
  if (pathless !== undefined && foreign.length === 1) {
    return `a loopback redirect_uri needs a path: send ${pathless}/callback, for example`
  }
  return `the redirect_uris must all be listed for a known platform, or all be loopback URIs: http://<host>:<port>/<path> with the host ${hosts}. ${otherWays(policy)}`
}

/** Explains why a registration is neither a platform's nor a loopback client's. */
function whyUnknown(hasAddresses: boolean, isKnown: boolean): string {
  if (!hasAddresses)
    return 'client_name is not the name of a known platform, and redirect_uris is missing or empty'
  return isKnown
    ? 'none of the redirect_uris belongs to the platform that client_name names'
    : 'redirect_uris must contain only http loopback URIs'
}

function otherWays({ baseUrl, metadataDocuments }: RegistrationPolicy): string {
  const ask = `Ask an operator of the site for a client_id, as described at ${baseUrl}${pages.connectHome}`
  if (!admitsDocuments(metadataDocuments)) return `${ask}.`
  const where = metadataDocuments.openRegistration ? '' : ' on an allowed host'
  return `${ask}, or publish a client ID metadata document${where} (${baseUrl}${paths.authMd}).`
}
