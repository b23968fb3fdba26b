import { z } from 'zod'

import type { ServicePolicy } from '../../config/config.ts'
import { readDocumentAddress } from '../../platform/http/client-addresses.ts'
import { keySet } from '../../platform/http/public-keys.ts'
import { isLoopbackRedirect, isUnderHost } from '../../platform/http/redirect-uri.ts'
import { parseStrictObject } from '../../platform/http/strict-json.ts'
import { sha256 } from '../../platform/store/digest.ts'
import { type Client, describeShapeFault, grantTypesServed, readClientName } from './client.ts'
import { assertionAlgorithms } from './proofs.ts'

/** The hosts and URLs of allowed metadata documents (draft-ietf-oauth-client-id-metadata-document-02). */
export type DocumentPolicy = ServicePolicy['metadataDocuments']

/** The properties of a document that are stored. All other members are dropped. */
export interface ClientDocument
  extends Pick<Client, 'name' | 'redirectUris' | 'postLogoutRedirectUris' | 'applicationType'>,
    Pick<Client, 'keys' | 'signingAlgorithm'> {
  readonly grantTypes: readonly string[]
  /** How the client may authenticate. If there are two methods, the client chooses one at each request. */
  readonly authMethods: readonly ('none' | 'private_key_jwt')[]
}

export type DocumentRules = Pick<ServicePolicy, 'loopbackHosts'> &
  Pick<ServicePolicy['furtherPlans'], 'privateKeyJwt'>

const REDIRECT_URIS_MAX = 20

/** Whether documents from at least one host or URL are allowed. */
export function admitsDocuments({ openRegistration, sources }: DocumentPolicy): boolean {
  return openRegistration || sources.length > 0
}

/** Whether documents at this URL are allowed (specification, Client registration 5). */
export function admitsDocument(clientId: string, policy: DocumentPolicy): boolean {
  const url = readDocumentAddress(clientId)
  if (url === undefined || policy.openRegistration) return url !== undefined
  return policy.sources.some((source) => source === url.hostname || source === clientId)
}

const texts = z.array(z.string())

const documentShape = z.object({
  client_id: z.string(),
  client_name: z.string(),
  redirect_uris: texts.max(REDIRECT_URIS_MAX),
  post_logout_redirect_uris: texts.max(REDIRECT_URIS_MAX).optional(),
  grant_types: texts.optional(),
  response_types: texts.optional(),
  token_endpoint_auth_method: z.string().optional(),
  token_endpoint_auth_methods_supported: texts.optional(),
  token_endpoint_auth_signing_alg: z.string().optional(),
  jwks: z.unknown().optional(),
  jwks_uri: z.string().optional(),
  client_secret: z.undefined('must not be in a public document').optional(),
  client_secret_expires_at: z.undefined('must not be in a public document').optional(),
})

/**
 * Validates the text of a document. Drops unsupported grant types, and redirect URIs on other hosts except loopback
 * URIs. So documents that were written for several servers work with this one (VS Code lists a second host). Rejects a
 * document that is malformed, has a client_id other than its URL, has no name, contains or needs a shared secret,
 * excludes the code flow, offers no supported authentication, or has no redirect URI left.
 */
export function judgeDocument(
  address: URL,
  text: string,
  { loopbackHosts, privateKeyJwt }: DocumentRules,
): ClientDocument | { readonly problem: string } {
  const read = parseStrictObject(text)
  if ('problem' in read) return read
  const parsed = documentShape.safeParse(read.value)
  if (!parsed.success) return { problem: describeShapeFault(parsed.error) }
  const body = parsed.data
  const name = readClientName(body.client_name)
  if ('problem' in name) return name

  const isLoopback = (uri: string) => isLoopbackRedirect(uri, loopbackHosts)
  const counts = (uri: string) => isLoopback(uri) || isUnderHost(uri, address)
  const redirectUris = body.redirect_uris.filter(counts)
  const postLogoutRedirectUris = (body.post_logout_redirect_uris ?? []).filter(counts)
  const grantTypes = grantTypesServed.filter((type) => body.grant_types?.includes(type) ?? true)
  const problem = problemOfDocument({ ...body, name: name.name, redirectUris, grantTypes }, address)
  if (problem !== undefined) return { problem }
  const authentication = readAuthentication(body, address, privateKeyJwt)
  if ('problem' in authentication) return authentication
  return {
    name: name.name ?? address.host,
    redirectUris: [...new Set(redirectUris)],
    postLogoutRedirectUris: [...new Set(postLogoutRedirectUris)],
    grantTypes,
    // Few documents state application_type. Only native clients may vary the port of a loopback URI (RFC 8252 §7.3).
    applicationType: redirectUris.some(isLoopback) ? 'native' : 'web',
    ...authentication,
  }
}

type ReadDocument = z.infer<typeof documentShape> &
  Pick<ClientDocument, 'redirectUris' | 'grantTypes'> & { readonly name: string | undefined }

function problemOfDocument(read: ReadDocument, address: URL): string | undefined {
  if (read.client_id !== address.href) return 'its client_id differs from its URL'
  if (read.name === undefined) return 'its client_name is empty'
  if (!read.grantTypes.includes('authorization_code'))
    return 'its grant_types do not include authorization_code'
  if (read.response_types?.includes('code') === false)
    return 'its response_types do not include code'
  if (read.redirectUris.length === 0)
    return 'it has no redirect URI on its own host or on a loopback host'
  return undefined
}

const NO_METHOD =
  'token_endpoint_auth_methods_supported must include "none" or, if discovery lists it, "private_key_jwt" with public keys in jwks or at a jwks_uri on the host of this document'

/**
 * Returns the supported authentication methods that a document offers (SEP-3149), with the keys. A document that names
 * no method is for a public client. A `jwks_uri` must be on the document's host, so that we contact only allowed hosts.
 */
function readAuthentication(
  read: z.infer<typeof documentShape>,
  address: URL,
  privateKeyJwt: boolean,
): Pick<ClientDocument, 'authMethods' | 'keys' | 'signingAlgorithm'> | { problem: string } {
  const { token_endpoint_auth_method: preferred, token_endpoint_auth_signing_alg: named } = read
  if (preferred?.startsWith('client_secret')) return { problem: 'it requires a shared secret' }
  const offered = read.token_endpoint_auth_methods_supported ?? [preferred ?? 'none']
  const isPublic = offered.includes('none') || preferred === 'none'
  const hasKey = offered.includes('private_key_jwt') || preferred === 'private_key_jwt'
  const signingAlgorithm = assertionAlgorithms.find((name) => name === named)
  const keys = hasKey && named === signingAlgorithm && privateKeyJwt && readKeys(read, address)
  if (!keys) return isPublic ? { authMethods: ['none'] } : { problem: NO_METHOD }
  const authMethods = ['none', 'private_key_jwt'] as const
  return { authMethods: authMethods.slice(isPublic ? 0 : 1), keys, signingAlgorithm }
}

function readKeys({ jwks, jwks_uri: jwksUri }: z.infer<typeof documentShape>, address: URL) {
  const inline = keySet.safeParse(jwks).data
  if (inline) return { jwks: inline }
  return jwksUri !== undefined && isUnderHost(jwksUri, address) ? { jwksUri } : undefined
}

/** Returns a digest of the name and redirect URIs. Consents and approvals apply only to this digest. */
export function fingerprintOf({ name, redirectUris }: ClientDocument): string {
  return sha256(JSON.stringify([name, redirectUris.toSorted()])).slice(0, 22)
}

const FRESH_SECONDS_MIN = 60
const FRESH_SECONDS_MAX = 86_400

/** Returns the freshness lifetime of a document (RFC 9111 §4.2.1), within our own limits. */
export function freshSeconds(cacheControl: string | null): number {
  const directives = (cacheControl ?? '').toLowerCase()
  const [, seconds] =
    /(?:^|[\s,])s-maxage=(\d+)/.exec(directives) ??
    /(?:^|[\s,])max-age=(\d+)/.exec(directives) ??
    []
  const asked = /no-store|no-cache|private/.test(directives) ? 0 : Number(seconds ?? 0)
  return Math.min(FRESH_SECONDS_MAX, Math.max(FRESH_SECONDS_MIN, asked))
}
