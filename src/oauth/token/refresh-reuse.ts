import type { KoaContextWithOIDC } from 'oidc-provider'

import { invalidGrant } from '../../platform/http/errors.ts'
import { callerOf, logFields } from '../../platform/http/request-log.ts'
import type { GrantStore } from '../grants/grant-store.ts'

export interface ReusePorts {
  readonly grants: Pick<GrantStore, 'end'>
}

/** RFC 9700 §4.14.2: a replaced token that comes back means that one of two holders is a thief. */
export async function reuse(
  ctx: KoaContextWithOIDC,
  grantId: string,
  grants: ReusePorts['grants'],
): Promise<Error> {
  logFields(ctx).outcome = 'reused'
  await grants.end({ id: grantId }, 'a used refresh token came back', callerOf(ctx))
  ctx.oidc.provider.emit('grant.revoked', ctx, grantId)
  return invalidGrant('the refresh token was used before: the grant has been ended')
}
