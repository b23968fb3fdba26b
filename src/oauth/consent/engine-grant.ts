import { randomBytes } from 'node:crypto'

import { type Adapter, type AdapterPayload, Provider } from 'oidc-provider'

import { promptPages } from '../../platform/http/paths.ts'
import { callerOf } from '../../platform/http/request-log.ts'
import type { FindGrant, Grant } from '../grants/access.ts'
import type { Allowed } from '../grants/allowed.ts'
import type { EndReason } from '../grants/end-grants.ts'
import type { FindAllowed } from '../grants/find-allowed.ts'
import type { GrantStore } from '../grants/grant-store.ts'

/** What the addresses of all prompts begin with. */
const [interactions = ''] = promptPages.login.split(':')

/**
 * The engine's Grant model, served from the row of a grant (oauth/grants/grant-store.ts). The engine never
 * writes one: a grant is saved where a person consented, with the site that the engine knows not of.
 */
export type EngineGrant = InstanceType<Provider['Grant']>

export function grantAdapter(
  findGrant: FindGrant,
  findAllowed: FindAllowed,
  grants: Pick<GrantStore, 'end'>,
): Pick<Adapter, 'find' | 'upsert' | 'destroy'> {
  return {
    async find(id) {
      const grant = (await findGrant({ grantId: id }))?.grant
      // To continue an ended grant would bring its old tokens back to life. Where a token is used it
      // is shown, so that the answer to the token's access, and the log, can say why it ended.
      if (!grant || (grant.endedBecause !== undefined && asksPerson())) return undefined
      const allowed = await findAllowed(grant)
      return allowed && payloadOf(grant, allowed)
    },
    upsert: async () => {
      throw new Error('the engine writes no grants')
    },
    async destroy(id) {
      const { ctx } = Provider
      await grants.end({ id }, endReason(), ctx && callerOf(ctx))
    },
  }
}

/** 256 bits in the form of the engine's own ids. */
export function newGrantId(): string {
  return randomBytes(32).toString('base64url')
}

function payloadOf(grant: Grant, allowed: Allowed): AdapterPayload {
  return {
    ...(allowed as AdapterPayload),
    kind: 'Grant',
    jti: grant.id,
    accountId: grant.personId,
    clientId: grant.clientId,
    iat: Math.floor(grant.grantedAt / 1000),
    exp: Math.floor(grant.expiresAt / 1000),
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

/** The engine ends a grant where a client revokes a token and where a code comes back. */
function endReason(): EndReason {
  return Provider.ctx?.oidc?.route === 'revocation'
    ? 'the client revoked it'
    : 'a code was used twice'
}
