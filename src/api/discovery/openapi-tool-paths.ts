import { MEMBER_READ } from '../../directory/scopes/catalogue.ts'
import { paths } from '../../platform/http/paths.ts'
import { errorSchema, faults, limitHeaders, shared } from './openapi-answers.ts'
import { closed, json, named, type Operation, open, text } from './openapi-shapes.ts'

const version = { const: '2.0' }
const id = { type: ['string', 'integer', 'null'] }

const request = open({
  jsonrpc: version,
  'id?': { type: ['string', 'integer'], description: 'absent in a notification' },
  method: text,
  'params?': { type: 'object' },
})

/** The components that the answers below name. */
export const toolSchemas = {
  ToolFailure: closed({
    jsonrpc: version,
    // As it came, and a request may be refused for what its id is.
    'id?': { type: ['string', 'number', 'null'] },
    error: closed({ code: { type: 'integer' }, message: text, 'data?': {} }),
  }),
}

const failure = named('ToolFailure')

const answer = {
  oneOf: [closed({ jsonrpc: version, id, result: { type: 'object' } }), failure],
}

/** Refused by the protocol of tools, or before it by that of tokens. */
const refusals = json({ anyOf: [failure, errorSchema()] })

const responses = {
  200: {
    description: 'The answer. A stream is the answer to `subscriptions/listen` only.',
    content: { ...json(answer), 'text/event-stream': { schema: text } },
  },
  202: { description: 'A notification was accepted. The body is empty.' },
  400: { description: 'The message is refused.', content: refusals },
  401: shared('InvalidToken'),
  403: {
    description: 'The token lacks the scope of the tool, or the Host or Origin is not admitted.',
    headers: {
      'WWW-Authenticate': {
        description: 'When a scope is missing (RFC 6750 §3).',
        schema: text,
      },
    },
    content: refusals,
  },
  404: { description: 'The method is unknown.', content: json(failure) },
  413: shared('TooLarge'),
  415: shared('UnsupportedMediaType'),
  ...faults,
  429: {
    description: 'Too many requests.',
    headers: limitHeaders,
    content: json(failure),
  },
}

/** One JSON-RPC message for each request; there are no sessions and no batches. */
function toolPath(operationId: string, description: string, security: Operation['security']) {
  return {
    post: {
      operationId,
      summary: 'The tool endpoint (Model Context Protocol, Streamable HTTP)',
      description,
      tags: ['Tools'],
      security,
      requestBody: { required: true, content: json(request) },
      responses,
    },
  }
}

const operatorToken = { oauth: [] }
const memberToken = { oauth: [MEMBER_READ] }

export const toolPaths = {
  [paths.mcp]: toolPath(
    'callTools',
    'A request without a token is served as anonymous and may use the public tools only.',
    [{}, operatorToken, memberToken],
  ),
  [paths.mcpMember]: toolPath(
    'callMemberTools',
    'The tools of members and the public ones. Every request needs a token with a scope of members.',
    [memberToken],
  ),
  [paths.mcpAdmin]: toolPath(
    'callOperatorTools',
    'The tools of operators and the public ones. Every request needs a token with a scope of operators.',
    [operatorToken],
  ),
}
