import { paths } from '../http/paths.ts'
import { MEMBER_READ, MEMBER_WRITE } from '../scopes/catalogue.ts'
import { errorSchema, faults, header, refusal, shared } from './openapi-answers.ts'
import {
  type Answer,
  closed,
  json,
  list,
  type Operation,
  open,
  type Paths,
  text,
} from './openapi-shapes.ts'

const request = open(
  {
    query: { type: 'string', description: 'a GraphQL document' },
    operationName: { type: ['string', 'null'] },
    variables: { type: ['object', 'null'] },
    extensions: { type: ['object', 'null'] },
  },
  ['query'],
)

const place = closed({ line: { type: 'integer' }, column: { type: 'integer' } }, ['line', 'column'])

const result = closed(
  {
    data: { type: ['object', 'null'] },
    errors: {
      ...list(
        closed(
          {
            message: text,
            locations: list(place),
            path: list({ type: ['string', 'integer'] }),
            extensions: { type: 'object' },
          },
          ['message'],
        ),
      ),
      minItems: 1,
    },
    extensions: { type: 'object' },
  },
  [],
)

/** POST only, and one operation at a time (GraphQL over HTTP). */
export function memberPaths(): Paths {
  return { [paths.graphql]: { post: query() }, [paths.memberSchema]: { get: schema() } }
}

function schema(): Operation {
  return {
    operationId: 'getMemberSchema',
    summary: 'The schema of the Member API, with descriptions',
    tags: ['Member API'],
    security: [],
    responses: {
      200: {
        description: 'The GraphQL schema definition.',
        headers: { 'Cache-Control': header('MaxAge') },
        content: { 'text/plain': { schema: text } },
      },
    },
  }
}

function query(): Operation {
  return {
    operationId: 'queryMember',
    summary: "The signed-in member's own data (GraphQL)",
    description: `Queries need \`${MEMBER_READ}\`, mutations \`${MEMBER_WRITE}\`. There is no anonymous mode.`,
    tags: ['Member API'],
    security: [{ oauth: [MEMBER_READ] }, { oauth: [MEMBER_WRITE] }],
    requestBody: { required: true, content: json(request) },
    responses: {
      200: graphqlAnswer('The result.'),
      400: {
        description: 'The body is not a request, or the document is not valid.',
        content: {
          ...graphqlAnswer('').content,
          ...json({ oneOf: [{ ...result, minProperties: 1 }, errorSchema()] }),
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

function graphqlAnswer(description: string): Answer {
  return {
    description,
    content: { 'application/graphql-response+json': { schema: result }, ...json(result) },
  }
}
