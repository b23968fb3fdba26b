import type { ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'

import { serve } from '../support/serve.ts'

type Json = Record<string, unknown>

interface Protocol {
  readonly path: RegExp
  /** Returns the offered tools, each with its `name`. */
  offers(request: Json): readonly Json[]
  answered(request: Json): string | undefined
  call(tool: Json, values: Json): readonly Json[]
  say(text: string): readonly Json[]
}

export type ModelServer = Awaited<ReturnType<typeof startModelServer>>

/** The sentence in the service's instructions that says how to get the scopes for changes. */
const advice = /let the person connect to a URL that names these areas, such as \S+/

/** Starts a stub model that supports four protocols. It calls the chosen tool, and repeats its result and `advice`. */
export async function startModelServer() {
  let next = { tool: '', values: {} as Json }
  const served = await serve(async (request, response) => {
    const protocol = protocols.find(({ path }) => path.test(request.url ?? ''))
    if (request.method !== 'POST' || !protocol) return void response.writeHead(404).end()
    try {
      const read = await text(request)
      const asked = JSON.parse(read) as Json
      const tool = protocol.offers(asked).find(({ name }) => String(name).endsWith(next.tool))
      const answer = protocol.answered(asked)
      const says = [answer ?? 'There is no such tool.', ...(advice.exec(read) ?? [])].join('\n')
      const events =
        tool && answer === undefined ? protocol.call(tool, next.values) : protocol.say(says)
      sendEvents(response, events)
    } catch {
      response.destroy()
    }
  })
  return {
    ...served,
    /** Chooses the tool that the model calls from now on. */
    choose(tool: string, values: Json) {
      next = { tool, values }
    },
  }
}

function sendEvents(response: ServerResponse, events: readonly Json[]): void {
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  for (const event of events) {
    const type = event['type']
    const named = typeof type === 'string' ? `event: ${type}\n` : ''
    response.write(`${named}data: ${JSON.stringify(event)}\n\n`)
  }
  response.end()
}

const list = (value: unknown): Json[] => (Array.isArray(value) ? value : [])

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value)

const responses: Protocol = {
  path: /\/responses$/,
  offers: ({ tools }) =>
    list(tools).flatMap((tool) =>
      tool['type'] === 'namespace'
        ? list(tool['tools']).map(({ name }): Json => ({ name, namespace: tool['name'] }))
        : [tool],
    ),
  answered: ({ input }) => {
    const outputs = list(input).filter(({ type }) => type === 'function_call_output')
    return outputs.length > 0 ? textOf(outputs.at(-1)?.['output']) : undefined
  },
  call: ({ name, namespace }, values) =>
    response({
      ...{ type: 'function_call', call_id: 'call_1', name, namespace, id: 'item_1' },
      arguments: JSON.stringify(values),
    }),
  say: (text) =>
    response({
      type: 'message',
      role: 'assistant',
      id: 'item_2',
      content: [{ type: 'output_text', text, annotations: [] }],
    }),
}

function response(item: Json): Json[] {
  const usage = { input_tokens: 1, output_tokens: 1, total_tokens: 2 }
  const created = { id: 'response_1', status: 'in_progress' }
  const completed = { id: 'response_1', status: 'completed', output: [item], usage }
  return [
    { type: 'response.created', response: created },
    { type: 'response.output_item.done', output_index: 0, item },
    { type: 'response.completed', response: completed },
  ]
}

const chatCompletions: Protocol = {
  path: /\/chat\/completions$/,
  offers: ({ tools }) => list(tools).map((tool) => part(tool, 'function')),
  answered: ({ messages }) => {
    const found = list(messages).findLast(({ role }) => role === 'tool')
    return found && textOf(found['content'])
  },
  call: ({ name }, values) => {
    const called = { name, arguments: JSON.stringify(values) }
    const call = { index: 0, id: 'call_1', type: 'function', function: called }
    return chunks({ role: 'assistant', tool_calls: [call] }, 'tool_calls')
  },
  say: (content) => chunks({ role: 'assistant', content }, 'stop'),
}

function chunks(delta: Json, reason: string): Json[] {
  const of = (choice: Json) => ({
    id: 'chat_1',
    object: 'chat.completion.chunk',
    created: 0,
    model: 'stand-in',
    choices: [{ index: 0, ...choice }],
  })
  return [of({ delta, finish_reason: null }), of({ delta: {}, finish_reason: reason })]
}

const generateContent: Protocol = {
  path: /:(stream)?generateContent(\?|$)/i,
  offers: ({ tools }) => list(tools).flatMap((tool) => list(tool['functionDeclarations'])),
  answered: ({ contents }) => {
    const parts = list(contents).flatMap((content) => list(content['parts']))
    const found = parts.findLast((each) => each['functionResponse'] !== undefined)
    return found && textOf(part(found, 'functionResponse')['response'])
  },
  call: ({ name }, args) => candidate({ functionCall: { name, args, id: 'call_1' } }),
  say: (text) => candidate({ text }),
}

function candidate(part: Json): Json[] {
  const content = { role: 'model', parts: [part] }
  const usageMetadata = { promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2 }
  return [{ candidates: [{ content, finishReason: 'STOP', index: 0 }], usageMetadata }]
}

const messages: Protocol = {
  path: /\/messages(\?|$)/,
  offers: ({ tools }) => list(tools),
  answered: ({ messages: said }) => {
    const parts = list(said).flatMap(({ content }) => list(content))
    const found = parts.findLast(({ type }) => type === 'tool_result')
    return found && textOf(found['content'])
  },
  call: ({ name }, values) =>
    block(
      { type: 'tool_use', id: 'toolu_1', name, input: {} },
      { type: 'input_json_delta', partial_json: JSON.stringify(values) },
      'tool_use',
    ),
  say: (text) => block({ type: 'text', text: '' }, { type: 'text_delta', text }, 'end_turn'),
}

function block(content_block: Json, delta: Json, stop_reason: string): Json[] {
  const usage = { input_tokens: 1, output_tokens: 1 }
  const own = { id: 'msg_1', type: 'message', role: 'assistant', model: 'stand-in' }
  return [
    { type: 'message_start', message: { ...own, content: [], stop_reason: null, usage } },
    { type: 'content_block_start', index: 0, content_block },
    { type: 'content_block_delta', index: 0, delta },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason, stop_sequence: null }, usage },
    { type: 'message_stop' },
  ]
}

const part = (of: Json, name: string): Json => (of[name] ?? {}) as Json

const protocols: readonly Protocol[] = [responses, chatCompletions, generateContent, messages]
