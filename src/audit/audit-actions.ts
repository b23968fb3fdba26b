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
} as const

export type AuditAction = keyof typeof auditActions

/** The words for an action; one that another version wrote is told as it is stored. */
export function auditWords(action: string): string {
  return Object.hasOwn(auditActions, action) ? auditActions[action as AuditAction] : action
}
