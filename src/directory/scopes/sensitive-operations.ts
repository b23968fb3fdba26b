/** Lists the operations that need two factors at every site that requires two factors (RFC 9470; docs/security.md). */

import { needsOperator } from './policy.ts'

/** The entry in `areas` that requires two factors for every operation by an operator. */
export const EVERYTHING = '*'

/** A site's requirements for sensitive operations, in addition to two factors. */
export interface AssuranceDemand {
  /** The areas of the scope catalogue in which all operations, including reads, are sensitive at this site. */
  readonly areas: readonly string[]
  /** The maximum time since the person authenticated; undefined for no limit. */
  readonly maxAgeSeconds?: number | undefined
}

/** Operations that are sensitive at every site that requires two factors. So are pages that need a recent sign-in. */
export const sensitiveOperations: ReadonlySet<string> = new Set([
  // Roles.
  ...['inviteMember', 'resendInvitation', 'setMemberRoles', 'removeMember'],
  // Deletion.
  ...['deleteSection', 'deleteLecture', 'deletePost', 'deleteFile'],
  ...['deleteCourse', 'deleteDigitalProduct', 'deleteEvent'],
  // Webhook endpoints, which receive data of the site, and their secrets.
  ...['createWebhookEndpoint', 'updateWebhookEndpoint', 'deleteWebhookEndpoint'],
  ...['rotateWebhookSecret', 'enableWebhookEndpoint', 'replayWebhookEvents'],
  // How people sign in.
  ...['setSelfSignUp', 'setFactorReset', 'sendPasswordRecovery'],
])

/** Whether any of these operations or scopes is sensitive under a site's requirements. */
export function isSensitive(
  { areas }: AssuranceDemand,
  scopes: readonly string[],
  operations: readonly string[],
): boolean {
  if (operations.some((name) => sensitiveOperations.has(name))) return true
  if (areas.includes(EVERYTHING)) return needsOperator(scopes)
  return scopes.some((scope) => areas.includes(scope.split(':')[0] ?? ''))
}
