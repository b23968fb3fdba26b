/** Every change, recorded in its transaction, with the words that follow the actor's name. */
export const changeActions = {
  'consent.given': 'allowed access to the application',
  'grant.revoked': 'gave back the access of a person by the application',
  'code.reused': 'used a code twice, which ended the access of a person by the application',
  'refresh_token.reused':
    'used an old refresh token, which ended the access of a person by the application',
  'campus.exported': 'exported the campus',
  'feature.on': 'switched MCP connections on',
  'feature.off': 'switched MCP connections off',
  'application.create': 'created the application',
  'application.update': 'changed the application',
  'application.disable': 'disabled the application',
  'application.enable': 'enabled the application',
  'application.delete': 'deleted the application',
  'resource_server.create': 'registered the resource server',
  'resource_server.disable': 'disabled the resource server',
  'resource_server.enable': 'enabled the resource server',
  'resource_server.delete': 'deleted the resource server',
  'secret.add': 'made a secret for the application or resource server',
  'secret.remove': 'removed a secret of the application or resource server',
  'grant.remove': 'removed the own access of the application',
  'grant.end': 'ended the access of a person by the application',
  'grants.end_all': 'ended all access by the application',
  'grants.end_person': 'ended all access to the account of the person',
  'grants.end_everything': 'ended all access and all sessions, because a backup was restored',
  'document_client.approved': 'approved the self-declared client',
  'document_client.blocked': 'blocked the self-declared client',
  'platform_reviewer.add': 'gave the role of the platform to the person',
  'platform_reviewer.remove': 'took the role of the platform from the person',
  'signing_key.rotated': 'let the next signing key sign',
  'campus.imported': 'imported the campus',
  'backup.restored': 'restored a backup',
  'site.update': 'changed the record of the site',
  'course.create': 'made the course',
  'course.update': 'changed the course',
  'course.publish': 'published the course',
  'course.unpublish': 'made the course a draft again',
  'course.archive': 'archived the course',
  'course.restore': 'brought the course back',
  'section.create': 'made the section',
  'section.update': 'changed the section',
  'section.delete': 'removed the section',
  'lecture.create': 'made the lecture',
  'lecture.update': 'changed the lecture',
  'lecture.move': 'moved the lecture',
  'lecture.delete': 'removed the lecture',
  'person.adopted': 'gave the person the id of the platform',
  'person.absent': 'disabled the account of a person whom the import lacks',
  'member.add': 'gave roles to the person',
  'member.roles': 'changed the roles of the person',
  'member.remove': 'removed the person from the site',
  'enrolment.create': 'enrolled a person',
  'enrolment.update': 'changed how long an enrolment lasts',
  'enrolment.end': 'ended an enrolment',
  'lecturer.assign': 'let a person teach the course',
  'lecturer.unassign': 'lets a person teach the course no more',
  'digital_product.create': 'made the digital product',
  'digital_product.update': 'changed the digital product',
  'digital_product.publish': 'published the digital product',
  'digital_product.unpublish': 'made the digital product a draft again',
  'digital_product.archive': 'archived the digital product',
  'digital_product.restore': 'brought the digital product back',
  'event.create': 'made the event',
  'event.update': 'changed the event',
  'event.publish': 'published the event',
  'event.unpublish': 'made the event a draft again',
  'event.archive': 'archived the event',
  'event.restore': 'brought the event back',
  'event.register': 'registered a person for an event',
  'event.cancel_registration': 'cancelled the registration of a person for an event',
  'post.create': 'wrote the announcement',
  'post.update': 'changed the announcement',
  'post.publish': 'published the announcement',
  'post.delete': 'removed the announcement',
  'file.create': 'kept the file',
  'file.delete': 'removed the file',
  'digital_product.file': 'changed the file of the digital product',
  'appearance.update': 'changed the appearance of the site',
} as const satisfies Record<string, string>

/** All other events. They are written a few seconds later, so requests do not wait for them. */
export const eventActions = {
  'sign_in.success': 'signed in for the application',
  'sign_in.failure': 'could not sign in for the application',
  'sign_out.browser': 'signed out of a browser',
  'sign_out.everywhere': 'signed out of every browser',
  'authorization.given': 'was signed in at the application',
  'consent.refused': 'refused the request of the application',
  'access_token.revoked': 'gave back one sign-in of a person by the application',
  'client.refused': 'could not prove which application it is',
  'client.registered': 'registered itself as an application',
  'sign_out_notice.failure': 'did not take the notice of a sign-out',
  'audit.dropped': 'events were lost, because they came faster than they could be stored',
} as const satisfies Record<string, string>

/** Events that callers can cause without a session. The trail distinguishes fewer kinds of them. */
export const unauthenticatedEvents: ReadonlySet<string> = new Set<EventAction>([
  'sign_in.failure',
  'consent.refused',
  'client.refused',
  'client.registered',
  'sign_out_notice.failure',
  'audit.dropped',
])

/**
 * Events that name a site only if the person belongs to it. A site's operators must not see what other people
 * do, or which unknown address was tried.
 */
export const memberEvents: ReadonlySet<string> = new Set<EventAction>([
  'sign_in.success',
  'sign_in.failure',
  'consent.refused',
])

export type ChangeAction = keyof typeof changeActions
export type EventAction = keyof typeof eventActions
export type AuditAction = ChangeAction | EventAction

/** The words of every action. */
export const auditActions: Readonly<Record<AuditAction, string>> = {
  ...eventActions,
  ...changeActions,
}

/** Returns the words of an action, or the stored name of an action of another version. */
export function auditWords(action: string): string {
  return Object.hasOwn(auditActions, action) ? auditActions[action as AuditAction] : action
}
