import { MEMBER_READ, MEMBER_WRITE, scopeNames } from '../../directory/scopes/catalogue.ts'
import { paths } from '../../platform/http/paths.ts'
import { errorSchema, faults, header, limitHeaders, refusal, shared } from './openapi-answers.ts'
import {
  closed,
  json,
  list,
  named,
  open,
  type Parameter,
  publicRead,
  type Schema,
  text,
} from './openapi-shapes.ts'

const request = open({
  query: { type: 'string', description: 'a GraphQL document' },
  'operationName?': { type: ['string', 'null'] },
  'variables?': { type: ['object', 'null'] },
  'extensions?': { type: ['object', 'null'] },
})

const place = closed({ line: { type: 'integer' }, column: { type: 'integer' } })

const error = { message: text, 'locations?': list(place), 'extensions?': { type: 'object' } }
const errorInResult = { ...error, 'path?': list({ type: ['string', 'integer'] }) }

/** The components that the answers below name. */
export const graphqlSchemas = {
  GraphQLResult: closed({
    'data?': { type: ['object', 'null'] },
    'errors?': { ...list(closed(errorInResult)), minItems: 1 },
    'extensions?': closed({
      cost: { type: 'integer', description: 'what the operation costs, in fields' },
      limits: { type: 'object', additionalProperties: { type: 'integer' } },
    }),
  }),
  GraphQLRejection: closed({ errors: { ...list(closed(error)), minItems: 1 } }),
}

function graphql(schema: Schema) {
  return { 'application/graphql-response+json': { schema }, ...json(schema) }
}

interface GraphqlOperation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
  readonly tags: readonly string[]
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
}

const answers = {
  200: { description: 'The result.', content: graphql(named('GraphQLResult')) },
  400: {
    description: 'The body is not a request, or the document is not valid.',
    content: {
      ...graphql(named('GraphQLRejection')),
      ...json({ oneOf: [named('GraphQLRejection'), errorSchema()] }),
    },
  },
  401: shared('InvalidToken'),
  403: shared('InsufficientScope'),
  406: refusal('None of the media types asked for is offered.'),
}

const tooMany = {
  description: 'Too many requests, or too costly ones.',
  headers: limitHeaders,
  content: graphql(named('GraphQLRejection')),
}

/** A request in an address. */
const inAddress: readonly Parameter[] = [
  { name: 'query', in: 'query', required: true, description: 'a GraphQL query', schema: text },
  { name: 'operationName', in: 'query', description: 'which of its operations', schema: text },
  { name: 'variables', in: 'query', description: 'a JSON object', schema: text },
  { name: 'extensions', in: 'query', description: 'a JSON object', schema: text },
]

/** POST, and GET for queries, one operation at a time (GraphQL over HTTP). */
function graphqlOperations({ description, ...operation }: GraphqlOperation) {
  return {
    get: {
      ...operation,
      operationId: `${operation.operationId}ByAddress`,
      description: `${description} For queries only; a browser gets a page.`,
      parameters: inAddress,
      responses: {
        ...answers,
        405: refusal('The operation is a mutation.'),
        414: refusal('The address is too long.'),
        ...faults,
        429: tooMany,
      },
    },
    post: {
      ...operation,
      description,
      requestBody: { required: true, content: json(request) },
      responses: {
        ...answers,
        413: shared('TooLarge'),
        415: shared('UnsupportedMediaType'),
        ...faults,
        429: tooMany,
      },
    },
  }
}

function publishedSchema(api: string, operationId: string) {
  return publicRead(api, {
    operationId,
    summary: `The schema of the ${api}, with descriptions`,
    responses: {
      200: {
        description: 'The GraphQL schema definition.',
        headers: { 'Cache-Control': header('MaxAge') },
        content: { 'text/plain': { schema: text } },
      },
    },
  })
}

/** The two GraphQL APIs, each with its schema. */
export const graphqlPaths = {
  [paths.graphql]: graphqlOperations({
    operationId: 'queryMember',
    summary: "The signed-in member's own data (GraphQL)",
    description: `Queries need \`${MEMBER_READ}\`, mutations \`${MEMBER_WRITE}\`. There is no anonymous mode.`,
    tags: ['Member API'],
    security: [{ oauth: [MEMBER_READ] }, { oauth: [MEMBER_WRITE] }],
  }),
  [paths.memberSchema]: publishedSchema('Member API', 'getMemberSchema'),
  [paths.adminGraphql]: graphqlOperations({
    operationId: 'operateSite',
    summary: 'What an operator reads and changes of a site (GraphQL)',
    description:
      'Each field of the schema names the scopes that it needs; a document needs those of all its ' +
      'fields. There is no anonymous mode.',
    tags: ['Admin API'],
    security: scopeNames('operator').map((scope) => ({ oauth: [scope] })),
  }),
  [paths.adminSchema]: publishedSchema('Admin API', 'getAdminSchema'),
}
