/** Every action that the audit trail keeps, with the words that people read after somebody's name. */
export const auditActions = {
  'feature.on': 'switched MCP connections on',
  'feature.off': 'switched MCP connections off',
  'application.create': 'created the application',
  'application.update': 'changed the application',
  'application.disable': 'disabled the application',
  'application.enable': 'enabled the application',
  'application.delete': 'deleted the application',
  'secret.add': 'made a secret for the application',
  'secret.remove': 'removed a secret of the application',
  'grant.remove': 'removed the own access of the application',
  'grant.end': 'ended the access of a person by the application',
  'grants.end_all': 'ended the access of everybody by the application',
  'document_client.approved': 'approved the self-declared client',
  'document_client.blocked': 'blocked the self-declared client',
  'signing_key.rotated': 'let the next signing key sign',
  'campus.imported': 'imported the campus',
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
  'member.add': 'gave roles to the person',
  'member.roles': 'changed the roles of the person',
  'member.remove': 'removed the person from the site',
  'enrolment.create': 'enrolled a person',
  'enrolment.update': 'changed how long an enrolment lasts',
  'enrolment.end': 'ended an enrolment',
  'lecturer.assign': 'let a person teach the course',
  'lecturer.unassign': 'lets a person teach the course no more',
} as const

export type AuditAction = keyof typeof auditActions

/** The words for an action; one that another version wrote is told as it is stored. */
export function auditWords(action: string): string {
  return Object.hasOwn(auditActions, action) ? auditActions[action as AuditAction] : action
}
