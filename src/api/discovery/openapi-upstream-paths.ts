import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { paths } from '../../platform/http/paths.ts'
import { faults, header, refusal, shared } from './openapi-answers.ts'
import { json, text } from './openapi-shapes.ts'

/** It is the platform that decides; other media types come out alike. */
const anything = json({})

interface Operation {
  readonly operationId: string
  readonly summary: string
  readonly description: string
}

function operation(described: Operation) {
  return {
    ...described,
    tags: ['Admin API'],
    security: scopeNames('operator').map((scope) => ({ oauth: [scope] })),
    parameters: [
      {
        name: 'path',
        in: 'path' as const,
        description: 'The name of a part of the platform, and what follows it there.',
        required: true,
        schema: text,
      },
    ],
    responses: {
      200: {
        description: "What the platform's own API answers; other 2xx and 4xx come out alike.",
        headers: { 'Cache-Control': header('NoStore') },
        content: anything,
      },
      400: refusal('The address is spelled in a way that could be read in several.'),
      401: shared('InvalidToken'),
      403: shared('InsufficientScope'),
      404: refusal('This deployment serves nothing at this address.'),
      405: refusal('Nothing is served here for this method.'),
      502: refusal("The platform's own API is away, failed, or answered with a redirect."),
      504: refusal("The platform's own API did not answer in time."),
      ...faults,
    },
  }
}

const change = {
  ...operation({
    operationId: 'changePlatform',
    summary: "A change by the platform's own API, as an operator",
    description: 'As GET. PUT, PATCH and DELETE are answered as POST is.',
  }),
  requestBody: { required: false, content: anything },
}

/** What is not served by this service itself; one part of a path stands for any number. */
export const upstreamPaths = {
  [paths.upstream.replace(/:(\w+)/, '{$1}')]: {
    get: operation({
      operationId: 'readPlatform',
      summary: "A part of the platform's own API, as an operator",
      description: 'Forwarded to the platform where this deployment maps the path, with its query.',
    }),
    post: { ...change, responses: { ...change.responses, 413: shared('TooLarge') } },
  },
}
