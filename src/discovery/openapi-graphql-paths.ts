import { paths } from '../http/paths.ts'
import { MEMBER_READ, MEMBER_WRITE, scopeNames } from '../scopes/catalogue.ts'
import { errorSchema, faults, header, refusal, shared } from './openapi-answers.ts'
import { closed, json, list, named, open, publicRead, type Schema, text } from './openapi-shapes.ts'

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

/** POST only, and one operation at a time (GraphQL over HTTP). */
function graphqlOperation(operation: GraphqlOperation) {
  return {
    ...operation,
    requestBody: { required: true, content: json(request) },
    responses: {
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
      413: shared('TooLarge'),
      415: shared('UnsupportedMediaType'),
      ...faults,
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
  [paths.graphql]: {
    post: graphqlOperation({
      operationId: 'queryMember',
      summary: "The signed-in member's own data (GraphQL)",
      description: `Queries need \`${MEMBER_READ}\`, mutations \`${MEMBER_WRITE}\`. There is no anonymous mode.`,
      tags: ['Member API'],
      security: [{ oauth: [MEMBER_READ] }, { oauth: [MEMBER_WRITE] }],
    }),
  },
  [paths.memberSchema]: publishedSchema('Member API', 'getMemberSchema'),
  [paths.adminGraphql]: {
    post: graphqlOperation({
      operationId: 'operateSite',
      summary: 'What an operator reads and changes of a site (GraphQL)',
      description:
        'Each field of the schema names the scopes that it needs; a document needs those of all its ' +
        'fields. There is no anonymous mode.',
      tags: ['Admin API'],
      security: scopeNames('operator').map((scope) => ({ oauth: [scope] })),
    }),
  },
  [paths.adminSchema]: publishedSchema('Admin API', 'getAdminSchema'),
}
