import { plain } from '../../../views/html.ts'
import { actionText } from '../../../views/text.ts'

const releasedItemActions = [
  'create',
  'update',
  'publish',
  'unpublish',
  'archive',
  'delete',
  'restore',
] as const

/** Actions recorded in the same transaction as the change, by subject. Catalogues in views/ describe each action. */
const changes = {
  consent: ['given'],
  grant: ['revoked', 'remove', 'end'],
  code: ['reused'],
  refresh_token: ['reused'],
  password: ['change', 'recover', 'send_recovery'],
  passkey: ['add', 'remove', 'clone'],
  second_factor: ['added', 'renewed', 'used', 'removed', 'reset'],
  identity: ['link', 'unlink'],
  account: ['language', 'deletion_scheduled', 'deletion_cancelled', 'deleted', 'exported'],
  campus: ['exported', 'imported'],
  feature: ['on', 'off'],
  sign_up: ['on', 'off'],
  factor_reset: ['on', 'off'],
  site: ['approval', 'assurance', 'update'],
  change: ['approve', 'reject'],
  own_sign_in: ['on', 'off'],
  identity_provider: ['add', 'domains', 'remove'],
  application: ['create', 'update', 'disable', 'enable', 'delete'],
  resource_server: ['create', 'disable', 'enable', 'delete'],
  secret: ['add', 'remove'],
  grants: ['end_all', 'end_person', 'end_everything'],
  document_client: ['approved', 'blocked'],
  platform_reviewer: ['add', 'remove'],
  signing_key: ['rotated'],
  backup: ['restored'],
  course: releasedItemActions,
  section: ['create', 'update', 'delete'],
  lecture: ['create', 'update', 'move', 'delete'],
  person: ['absent'],
  member: ['invite', 'uninvite', 'join', 'roles', 'remove'],
  enrolment: ['create', 'update', 'end'],
  lecturer: ['assign', 'unassign'],
  digital_product: [...releasedItemActions, 'file'],
  event: [...releasedItemActions, 'register', 'cancel_registration'],
  order: ['create', 'refund'],
  product: ['purchase'],
  post: ['create', 'update', 'publish', 'delete'],
  file: ['create', 'delete'],
  upload_link: ['create'],
  appearance: ['update'],
  webhook: ['create', 'update', 'delete', 'enable', 'disable', 'rotate', 'test', 'replay'],
} as const satisfies Readonly<Record<string, readonly string[]>>

type Changes = typeof changes

export type ChangeAction = {
  [Subject in keyof Changes]: `${Subject}.${Changes[Subject][number]}`
}[keyof Changes]

export const changeActions = Object.entries(changes).flatMap(([subject, verbs]) =>
  verbs.map((verb) => `${subject}.${verb}` as ChangeAction),
)

/** Actions whose events are buffered, and recorded by a later flush. Requests do not wait for them. */
export const eventActions = [
  'sign_in.success',
  'sign_in.failure',
  'sign_in.failed_repeatedly',
  'password.failure',
  'link.failure',
  'sign_out.browser',
  'sign_out.everywhere',
  'sign_out.others',
  'authorization.given',
  'consent.refused',
  'access_token.revoked',
  'client.refused',
  'client.registered',
  'sign_out_notice.failure',
  'mail.failure',
  'audit.dropped',
] as const

/** Actions that anyone can trigger without a session. The trail writes fewer rows per minute for these actions. */
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

/** Actions whose events name a site only if the person is a member, so operators see only their own members' events. */
export const memberEvents: ReadonlySet<string> = new Set<EventAction>([
  'sign_in.success',
  'sign_in.failure',
  'consent.refused',
])

export type EventAction = (typeof eventActions)[number]
export type AuditAction = ChangeAction | EventAction

export const auditActions: readonly AuditAction[] = [...eventActions, ...changeActions]

/** Describes an action in English, for the command line. The text follows the actor's name. */
export function describeAction(action: string): string {
  return plain(actionText(action), { language: 'en', timeZone: 'UTC' })
}
