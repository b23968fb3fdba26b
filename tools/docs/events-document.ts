import { readScope } from '../../src/directory/scopes/catalogue.ts'
import { type EventType, eventTypes } from '../../src/platform/audit/event-types.ts'
import { exampleEvent } from '../../src/school/webhooks/webhook-event.ts'
import { code, renderTable } from '../../test/support/markdown.ts'
import english from '../../views/languages/en.json' with { type: 'json' }

/** Returns the English sentence that says when an event occurs. */
const whenOf = (name: string) => english[`event.${name}` as keyof typeof english]

/** Renders the table of event types. */
export function renderEvents(): string {
  const rows = [...eventTypes].map(([name, { version, kinds, area }]) => [
    ...[code(name), String(version), code(...kinds), code(readScope(area)), whenOf(name)],
  ])
  return renderTable(['type', 'version', '`data.kind`', 'scope', 'when'], rows)
}

/** Renders the AsyncAPI document of the webhooks, with the schema and an example of each type of event. */
export function renderAsyncApi(): string {
  const messages = [...eventTypes].map(([name, type]) => [
    name,
    {
      name,
      title: whenOf(name),
      payload: eventSchema(name, type),
      examples: [{ payload: exampleEvent(name) }],
    },
  ])
  const refs = messages.map(([name]) => ({ $ref: `#/channels/endpoint/messages/${name}` }))
  const document = {
    asyncapi: '3.0.0',
    info: { title: 'Gatehouse webhooks', version: '1' },
    defaultContentType: 'application/json',
    channels: { endpoint: { description: 'Your URL.', messages: Object.fromEntries(messages) } },
    operations: {
      receive: { action: 'receive', channel: { $ref: '#/channels/endpoint' }, messages: refs },
    },
  }
  return `${JSON.stringify(document, null, 2)}\n`
}

/** Returns the JSON Schema (2020-12) of a type of event. */
function eventSchema(name: string, type: EventType): object {
  const text = { type: 'string' }
  const values = { type: 'object', description: 'Changed values by name.' }
  return {
    type: 'object',
    description: whenOf(name),
    required: ['id', 'type', 'version', 'timestamp', 'site', 'data'],
    properties: {
      id: { ...text, format: 'uuid', description: 'Equal to the header webhook-id.' },
      type: { const: name },
      version: { const: type.version },
      timestamp: { ...text, format: 'date-time' },
      site: text,
      data: {
        type: 'object',
        required: ['id', 'kind'],
        properties: {
          ...{ id: text, kind: { enum: type.kinds }, personId: text, actorId: text },
          ...{ clientId: text, before: values, after: values },
        },
        additionalProperties: false,
      },
    },
    additionalProperties: false,
  }
}
