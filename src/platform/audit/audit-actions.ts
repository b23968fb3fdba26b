/** Actions recorded in the transaction of a change. Each text follows the actor's name. */
export const changeActions = {
  'consent.given': 'allowed the application to access the account',
  'grant.revoked': "revoked a person's authorization of the application",
  'code.reused': "sent a code twice, which ended a person's authorization of the application",
  'refresh_token.reused':
    "sent an old refresh token, which ended a person's authorization of the application",
  'password.change': 'changed their password',
  'password.recover': 'set a new password with a recovery mail',
  'password.send_recovery': 'sent a recovery mail to the person',
  'account.deletion_scheduled': 'scheduled the deletion of the account',
  'account.deletion_cancelled': 'cancelled the deletion of the account',
  'account.deleted': 'deleted the account at the request of the person',
  'account.exported': 'downloaded the data of the account',
  'campus.exported': 'exported the campus',
  'feature.on': 'switched MCP connections on',
  'feature.off': 'switched MCP connections off',
  'sign_up.on': 'let people sign up to the site themselves',
  'sign_up.off': 'stopped people from signing up themselves',
  'application.create': 'created the application',
  'application.update': 'changed the application',
  'application.disable': 'disabled the application',
  'application.enable': 'enabled the application',
  'application.delete': 'deleted the application',
  'resource_server.create': 'registered the resource server',
  'resource_server.disable': 'disabled the resource server',
  'resource_server.enable': 'enabled the resource server',
  'resource_server.delete': 'deleted the resource server',
  'secret.add': 'created a secret for the application or resource server',
  'secret.remove': 'removed a secret from the application or resource server',
  'grant.remove': "removed the application's access to their own account",
  'grant.end': "ended a person's authorization of the application",
  'grants.end_all': 'ended all authorizations of the application',
  'grants.end_person': "ended all access to the person's account",
  'grants.end_everything': 'ended all authorizations and sessions, because a backup was restored',
  'document_client.approved': 'approved the self-declared client',
  'document_client.blocked': 'blocked the self-declared client',
  'platform_reviewer.add': 'made the person a platform reviewer',
  'platform_reviewer.remove': 'removed the person as a platform reviewer',
  'signing_key.rotated': 'rotated the signing key',
  'campus.imported': 'imported the campus',
  'backup.restored': 'restored a backup',
  'site.update': "changed the site's details",
  'course.create': 'created the course',
  'course.update': 'changed the course',
  'course.publish': 'published the course',
  'course.unpublish': 'turned the course back into a draft',
  'course.archive': 'archived the course',
  'course.restore': 'restored the course',
  'section.create': 'created the section',
  'section.update': 'changed the section',
  'section.delete': 'deleted the section',
  'lecture.create': 'created the lecture',
  'lecture.update': 'changed the lecture',
  'lecture.move': 'moved the lecture',
  'lecture.delete': 'deleted the lecture',
  'person.absent': 'disabled the account of a person missing from the import',
  'member.invite': 'sent an invitation to the site',
  'member.uninvite': 'withdrew an invitation to the site',
  'member.join': 'joined the site',
  'member.roles': "changed the person's roles",
  'member.remove': 'removed the person from the site',
  'enrolment.create': 'enrolled a person',
  'enrolment.update': 'changed the end date of an enrolment',
  'enrolment.end': 'ended an enrolment',
  'lecturer.assign': 'assigned a lecturer to the course',
  'lecturer.unassign': 'unassigned a lecturer from the course',
  'digital_product.create': 'created the digital product',
  'digital_product.update': 'changed the digital product',
  'digital_product.publish': 'published the digital product',
  'digital_product.unpublish': 'turned the digital product back into a draft',
  'digital_product.archive': 'archived the digital product',
  'digital_product.restore': 'restored the digital product',
  'event.create': 'created the event',
  'event.update': 'changed the event',
  'event.publish': 'published the event',
  'event.unpublish': 'turned the event back into a draft',
  'event.archive': 'archived the event',
  'event.restore': 'restored the event',
  'event.register': 'registered a person for an event',
  'event.cancel_registration': "cancelled a person's registration for an event",
  'post.create': 'wrote the announcement',
  'post.update': 'changed the announcement',
  'post.publish': 'published the announcement',
  'post.delete': 'deleted the announcement',
  'file.create': 'uploaded the file',
  'file.delete': 'deleted the file',
  'digital_product.file': 'replaced or removed the file of the digital product',
  'appearance.update': "changed the site's appearance",
} as const satisfies Record<string, string>

/** Actions recorded a few seconds after they happen, outside of transactions, so requests do not wait for them. */
export const eventActions = {
  'sign_in.success': 'signed in to the application',
  'sign_in.failure': 'failed to sign in to the application',
  'password.failure': 'failed to confirm the current password',
  'link.failure': 'entered a wrong code for a link in a mail',
  'sign_out.browser': 'signed out of a browser',
  'sign_out.everywhere': 'signed out of every browser',
  'sign_out.others': 'signed out of other browsers',
  'authorization.given': 'completed an authorization of the application',
  'consent.refused': 'denied the request of the application',
  'access_token.revoked': "revoked an access token of a person's authorization of the application",
  'client.refused': 'failed to authenticate as the application',
  'client.registered': 'registered itself as an application',
  'sign_out_notice.failure': 'did not accept a sign-out notice',
  'mail.failure': 'could not be sent a message',
  'audit.dropped': 'lost events, because they arrived faster than they could be stored',
} as const satisfies Record<string, string>

/** Actions that anyone can cause without a session. The trail keeps fewer rows per minute for them. */
export const unauthenticatedEvents: ReadonlySet<string> = new Set<EventAction>([
  'sign_in.failure',
  'link.failure',
  'consent.refused',
  'client.refused',
  'client.registered',
  'sign_out_notice.failure',
  'mail.failure',
  'audit.dropped',
])

/** Actions recorded with a site only if the person belongs to it. Operators must not see what other people do. */
export const memberEvents: ReadonlySet<string> = new Set<EventAction>([
  'sign_in.success',
  'sign_in.failure',
  'consent.refused',
])

export type ChangeAction = keyof typeof changeActions
export type EventAction = keyof typeof eventActions
export type AuditAction = ChangeAction | EventAction

export const auditActions: Readonly<Record<AuditAction, string>> = {
  ...eventActions,
  ...changeActions,
}

/** Describes an action. Falls back to its stored name if this version does not know it. */
export function describeAction(action: string): string {
  return Object.hasOwn(auditActions, action) ? auditActions[action as AuditAction] : action
}
