import {
  changeActions,
  eventActions,
  unauthenticatedEvents,
} from '../../src/platform/audit/audit-actions.ts'
import { renderTable } from './markdown.ts'

const introduction = `Actions of the [audit trail](../how-to/operate.md#read-the-audit-trail). *With the change*: in the transaction of the change, so that neither exists
without the other. *Counted*: a few seconds later; equal events of a minute are two rows at most, and a process
distinguishes as many kinds a minute as the number says.`

/** docs/reference/audit-events.md, from the table of actions. */
export function renderAuditEvents(): string {
  const events = Object.entries(eventActions).map(([name, words]) => [
    `\`${name}\``,
    words,
    `counted, ${unauthenticatedEvents.has(name) ? '100' : '20 000'}`,
  ])
  const changes = Object.entries(changeActions).map(([name, words]) => [
    `\`${name}\``,
    words,
    'with the change',
  ])
  return [
    introduction,
    renderTable(['action', 'the actor …', 'written'], [...events, ...changes]),
  ].join('\n\n')
}
