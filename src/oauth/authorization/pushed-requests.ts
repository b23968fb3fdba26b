import { decodeJwt, UnsecuredJWT } from 'jose'
import { type Adapter, type AdapterPayload, errors, type KoaContextWithOIDC } from 'oidc-provider'

import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import type { Resources } from '../token/resource-indicators.ts'

/** What the engine calls them. */
export const PUSHED_REQUEST = 'PushedAuthorizationRequest'

/** What the name of a pushed request begins with (RFC 9126 §2.2); the engine has the same. */
const PUSHED = 'urn:ietf:params:oauth:request_uri:'

/**
 * Pushed requests as the engine is shown them (RFC 9126): every accepted spelling of `resource` becomes
 * the one audience, as in a request that a browser brings (authorize-requests.ts), and each leads to
 * one answer, however many browsers bring it.
 */
export function pushedRequestAdapter(
  records: StateAdapter,
  resources: Resources,
): Pick<Adapter, 'upsert' | 'consume'> {
  return {
    upsert: async (id, payload, ttlSeconds) =>
      await records.upsert(id, withOneAudience(payload, resources), ttlSeconds),
    async consume(id) {
      const consumption = await records.consumeOnce(id)
      if (consumption?.first === false) {
        throw new errors.InvalidRequestUri('the pushed request was used already')
      }
    },
  }
}

function withOneAudience(payload: AdapterPayload, resources: Resources): AdapterPayload {
  const { request } = payload
  if (request === undefined) return payload
  const { resource, ...said } = decodeJwt(request)
  const named = [resource ?? []].flat().map((one) => resources.canonical(String(one)) ?? one)
  const [first, ...more] = new Set(named)
  if (first === undefined) return payload
  const audience = more.length === 0 ? first : [first, ...more]
  return { ...payload, request: new UnsecuredJWT({ ...said, resource: audience }).encode() }
}

/**
 * Where a request wants to return, before the engine has read it: a platform whose callbacks a pattern
 * admits is found together with this one.
 */
export async function wantedAddress(
  { oidc }: KoaContextWithOIDC,
  findPushed: StateAdapter['find'],
): Promise<string | undefined> {
  const pushes = oidc.route === 'pushed_authorization_request'
  const { redirect_uri: address, request_uri: name } = (pushes ? oidc.body : oidc.params) ?? {}
  if (typeof address === 'string') return address
  if (typeof name !== 'string' || !name.startsWith(PUSHED)) return undefined
  const request = (await findPushed(name.slice(PUSHED.length)))?.request
  const pushed = request === undefined ? undefined : decodeJwt(request)['redirect_uri']
  return typeof pushed === 'string' ? pushed : undefined
}
