import { paths } from '../http/paths.ts'
import { MEMBER_READ, MEMBER_WRITE } from '../scopes/catalogue.ts'
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
export const memberSchemas = {
  GraphQLResult: closed({
    'data?': { type: ['object', 'null'] },
    'errors?': { ...list(closed(errorInResult)), minItems: 1 },
  }),
  GraphQLRejection: closed({ errors: { ...list(closed(error)), minItems: 1 } }),
}

function graphql(schema: Schema) {
  return { 'application/graphql-response+json': { schema }, ...json(schema) }
}

const query = {
  operationId: 'queryMember',
  summary: "The signed-in member's own data (GraphQL)",
  description: `Queries need \`${MEMBER_READ}\`, mutations \`${MEMBER_WRITE}\`. There is no anonymous mode.`,
  tags: ['Member API'],
  security: [{ oauth: [MEMBER_READ] }, { oauth: [MEMBER_WRITE] }],
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

/** POST only, and one operation at a time (GraphQL over HTTP). */
export const memberPaths = {
  [paths.graphql]: { post: query },
  [paths.memberSchema]: publicRead('Member API', {
    operationId: 'getMemberSchema',
    summary: 'The schema of the Member API, with descriptions',
    responses: {
      200: {
        description: 'The GraphQL schema definition.',
        headers: { 'Cache-Control': header('MaxAge') },
        content: { 'text/plain': { schema: text } },
      },
    },
  }),
}
