import { z } from 'zod'

import { findScope, type ScopeAccess } from '../directory/scopes/catalogue.ts'
import { readDocumentAddress } from '../platform/http/client-addresses.ts'
import { isLoopbackUrl } from '../platform/http/loopback.ts'

const SEGMENTS = /^[A-Za-z0-9_-]+(\/[A-Za-z0-9_-]+)*$/

const operatorScope = (access: ScopeAccess) =>
  z.string().refine((name) => {
    const scope = findScope(name)
    return scope?.audience === 'operator' && scope.access === access
  }, `must be a scope of the catalogue by which an operator's client may ${access}`)

const upstream = z
  .strictObject({
    /** What follows /admin/api/. */
    path: z.string().max(200).regex(SEGMENTS, 'must be a path like coupons or shop/coupons'),
    readScope: operatorScope('read').optional(),
    writeScope: operatorScope('write').optional(),
    /** What stands in place of {base_url}/admin/api/{path}. */
    address: z
      .string()
      .refine(
        isUpstreamAddress,
        'must be an https address, or http on this machine, without a slash at its end, query and fragment',
      ),
    audience: z.string().refine(isAudience, 'must be an absolute URI without a fragment'),
    answerWithinSeconds: z.int().min(1).max(300).default(15),
    bodyBytesMax: z.int().min(1).max(1_073_741_824).default(1_048_576),
  })
  .refine(
    ({ readScope, writeScope }) => readScope !== undefined || writeScope !== undefined,
    'needs a readScope, a writeScope or both',
  )

/** The rows of `upstreams` in service.json. */
export const upstreams = z
  .array(upstream)
  .max(100)
  .superRefine((rows, context) => {
    for (const [position, { path }] of rows.entries()) {
      const other = rows.slice(0, position).find((row) => overlap(row.path, path))
      if (!other) continue
      const message = `${path} overlaps with ${other.path}`
      context.addIssue({ code: 'custom', path: [position, 'path'], message })
    }
  })

/**
 * What is wrong with the audiences of upstreams beside everything else. A signed token for one of them
 * would be an id_token for a client of that name, so that nothing that could be a client_id is admitted:
 * no issuer, no listed client, and no address at which a client could describe itself, whichever hosts
 * the configuration admits today.
 */
export function problemsOfAudiences(
  rows: readonly { readonly audience: string }[],
  { baseUrl, clientIds }: { readonly baseUrl: string; readonly clientIds: readonly string[] },
): string[] {
  return rows.flatMap(({ audience }, position) => {
    const name = `service.json: upstreams.${position}.audience`
    if (spelledOnce(audience) === spelledOnce(baseUrl)) return [`${name}: is the issuer`]
    if (clientIds.includes(audience)) return [`${name}: is a client_id`]
    return readDocumentAddress(audience)
      ? [`${name}: could be the client_id of a metadata document; use a urn: or leave its path out`]
      : []
  })
}

function isUpstreamAddress(address: string): boolean {
  const url = URL.parse(address)
  if (!url || url.origin + url.pathname.replace(/\/$/, '') !== address) return false
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopbackUrl(address))
}

/** RFC 3986 §4.3. */
function isAudience(audience: string): boolean {
  return (
    audience.length <= 500 &&
    /^[a-z][a-z0-9+.-]*:[!-"$-~]+$/.test(audience) &&
    URL.canParse(audience)
  )
}

function spelledOnce(uri: string): string {
  return new URL(uri).href.replace(/\/+$/, '')
}

function overlap(one: string, other: string): boolean {
  return `${one}/`.startsWith(`${other}/`) || `${other}/`.startsWith(`${one}/`)
}
