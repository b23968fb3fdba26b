import { decodeJwt, UnsecuredJWT } from 'jose'
import {
  type Adapter,
  type AdapterFactory,
  type AdapterPayload,
  errors,
  Provider,
} from 'oidc-provider'

import { promptPages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import type { StateAdapter } from '../../platform/store/oauth-state.ts'
import type { FindGrant } from '../grants/access.ts'
import type { GrantStore } from '../grants/grant-store.ts'
import type { Resources } from '../token/resource-indicators.ts'
import { type ClientDependencies, clientFinder, PUSHED_REQUEST } from './engine-clients.ts'
import {
  accessTokenAdapter,
  codeAdapter,
  refreshTokenAdapter,
  type TokenAdapterDependencies,
} from './engine-tokens.ts'

export interface EngineAdapterDependencies extends TokenAdapterDependencies, ClientDependencies {
  readonly findGrant: FindGrant
  readonly grants: Pick<GrantStore, 'end'>
  readonly lifetimes: { readonly sessionSeconds: number }
  readonly resources: Resources
  /** Writes down that a session is over (directory/people/person-store.ts). */
  readonly signOutSession: (
    sessionId: string,
    times: { readonly nowMs: number; readonly keptUntilMs: number },
  ) => Promise<void>
}

/**
 * What the engine stores and finds, with rules of ours around it: clients come from the client store,
 * grants and tokens from the database, and the family that begins with a code consumes it. It reads the
 * running request through the documented `Provider.ctx` only.
 */
export function engineAdapter(dependencies: EngineAdapterDependencies): AdapterFactory {
  return (model) => ({
    ...dependencies.state.adapterFor(model),
    // Tokens end with their grant or their family, and are looked up by neither.
    revokeByGrantId: async () => {},
    // There is no device flow, so no record has a user code.
    findByUserCode: async () => undefined,
    consume: async () => {
      throw new Error(`a record of the model ${model} is not consumed`)
    },
    ...rulesOf(model, dependencies),
  })
}

function rulesOf(model: string, dependencies: EngineAdapterDependencies): Partial<Adapter> {
  const records = dependencies.state.adapterFor(model)
  switch (model) {
    case 'Client':
      return { find: clientFinder(dependencies) }
    case 'Grant':
      return grantAdapter(dependencies)
    case 'AccessToken':
      return accessTokenAdapter(dependencies)
    case 'AuthorizationCode':
      return codeAdapter(records, dependencies)
    case PUSHED_REQUEST:
      return pushedRequestAdapter(records, dependencies.resources)
    case 'Session':
      return sessionAdapter(records, dependencies)
    case 'RefreshToken':
      return refreshTokenAdapter(dependencies)
    default:
      return {}
  }
}

/** What the addresses of all prompts begin with. */
const [interactions = ''] = promptPages.login.split(':')

/**
 * The engine's Grant model, served from the row of a grant (oauth/grants/grant-store.ts). The engine never
 * writes one: consent saves a grant, with the site that the engine does not know.
 */
function grantAdapter({
  findGrant,
  grants,
}: EngineAdapterDependencies): Pick<Adapter, 'find' | 'upsert' | 'destroy'> {
  return {
    async find(id) {
      const grant = (await findGrant({ grantId: id }))?.grant
      // To continue an ended grant would bring its old tokens back to life. Where a token is used the
      // ended grant is found, so that the answer to the token's access, and the log, can say why it ended.
      if (!grant || (grant.endedBecause !== undefined && asksPerson())) return undefined
      return {
        ...(grant.allowed as AdapterPayload),
        kind: 'Grant',
        jti: grant.id,
        accountId: grant.personId,
        clientId: grant.clientId,
        iat: Math.floor(grant.grantedAt / 1000),
        exp: Math.floor(grant.expiresAt / 1000),
      }
    },
    upsert: async () => {
      throw new Error('the engine writes no grants')
    },
    async destroy(id) {
      const { ctx } = Provider
      // The engine ends a grant where a client revokes a token and where a code comes back.
      const isRevoked = ctx?.oidc?.route === 'revocation'
      const reason = isRevoked ? 'the client revoked it' : 'a code was used twice'
      await grants.end({ id }, reason, ctx && callerOf(ctx))
    },
  }
}

/** Whether the running request is a step of an authorization, and not the use of a token. */
function asksPerson(): boolean {
  const { ctx } = Provider
  const { route = '' } = ctx?.oidc ?? {}
  return (
    route === 'authorization' || route === 'resume' || ctx?.path.startsWith(interactions) === true
  )
}

/**
 * Pushed requests (RFC 9126): every accepted spelling of `resource` becomes the one audience, as in a
 * request from a browser (authorize-requests.ts), and each leads to one answer, however many browsers
 * bring it.
 */
function pushedRequestAdapter(
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
 * The engine's sessions of browsers. A sign-out is written to the database before the record goes, since an
 * older copy of Redis could bring the record back.
 */
function sessionAdapter(
  records: StateAdapter,
  { signOutSession, lifetimes, now }: EngineAdapterDependencies,
): Pick<Adapter, 'destroy'> {
  return {
    async destroy(id) {
      // A sign-in gives a session another id and replaces its record; only this route ends it.
      if (Provider.ctx?.oidc?.route === 'end_session_confirm') {
        const nowMs = now()
        await signOutSession(id, { nowMs, keptUntilMs: nowMs + lifetimes.sessionSeconds * 1000 })
      }
      await records.destroy(id)
    },
  }
}
