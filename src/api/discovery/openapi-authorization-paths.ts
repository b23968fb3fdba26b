import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { paths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './facts.ts'
import { errorSchema, header, limitHeaders } from './openapi-answers.ts'
import {
  form,
  json,
  type Members,
  type Operation,
  open,
  page,
  said,
  text,
  uri,
} from './openapi-shapes.ts'

/** What an authorization request may say. */
export function authorizationFields({ baseUrl }: ServiceFacts) {
  return {
    response_type: said('RFC 6749', { const: 'code' }),
    client_id: said('the client'),
    redirect_uri: said('one that is registered', uri),
    scope: said(`scope names, separated by spaces: ${scopeNames().join(' ')}`),
    'resource?': said('RFC 8707; required with member scopes', { ...uri, examples: [baseUrl] }),
    code_challenge: said('base64url of the SHA-256 digest of the verifier (RFC 7636)', {
      type: 'string',
      pattern: '^[A-Za-z0-9_-]{43}$',
    }),
    code_challenge_method: said('RFC 7636', { const: 'S256' }),
    'state?': said('a random value that comes back'),
    'nonce?': said('a random value that comes back in the id_token'),
    'prompt?': said('`select_account` asks for the site again'),
    'max_age?': said('OpenID Connect, seconds', { type: 'integer', minimum: 0 }),
    'login_hint?': said('OpenID Connect'),
    'id_token_hint?': said('OpenID Connect'),
    'response_mode?': said('how the answer travels to `redirect_uri`', {
      enum: ['query', 'fragment', 'form_post'],
    }),
  }
}

const signOutFields = {
  'id_token_hint?': said('an id_token of this service'),
  'client_id?': said('the client'),
  'post_logout_redirect_uri?': said('one that is registered', uri),
  'state?': said('a value that comes back'),
  'logout_hint?': said('OpenID Connect'),
  'ui_locales?': said('OpenID Connect'),
}

/** A redirect also says where it leads to a person whose browser does not follow it. */
function onwards(description: string) {
  return {
    description,
    headers: { Location: header('Location'), 'Cache-Control': header('NoStore') },
    content: { ...page, 'text/plain': { schema: text } },
  }
}

/** A browser gets a page, and a program that asks for JSON the shape of RFC 6749. */
const pageOrJson = { ...page, ...json(errorSchema()) }

/** Whoever asks is shown a page, and sent nowhere. */
const tooMany = { description: 'Too many requests.', headers: limitHeaders, content: page }

function faults(content: typeof page) {
  return {
    400: {
      description: 'The client or its redirect address is in doubt, so that nothing is sent there.',
      content,
    },
    429: tooMany,
    500: { description: 'A fault of the service.', content },
    503: {
      description: 'The service cannot even learn who the client is at the moment.',
      headers: { 'Retry-After': header('RetryAfter') },
      content,
    },
  }
}

/** The two addresses to which a browser is sent. */
export function authorizationPaths(facts: ServiceFacts) {
  return {
    [paths.authorization]: byEitherMethod(authorizationFields(facts), {
      operationId: 'authorize',
      summary: 'Asks the person for access (authorization code with PKCE)',
      responses: {
        200: {
          description: 'A page that posts the answer (`response_mode=form_post`).',
          content: page,
        },
        303: onwards(
          'To the pages of sign-in and consent, or to `redirect_uri` with `code`, `state` and `iss` (RFC 9207), or with `error`.',
        ),
        ...faults(page),
      },
    }),
    [paths.endSession]: byEitherMethod(signOutFields, {
      operationId: 'signOut',
      summary: 'Ends the session of the browser (RP-initiated logout)',
      responses: {
        200: {
          description:
            'A page that asks for confirmation; it goes on to `post_logout_redirect_uri`.',
          content: page,
        },
        ...faults(pageOrJson),
      },
    }),
  }
}

/** GET with these fields in the query, and POST with the same as a form, which leads to the GET. */
function byEitherMethod(
  fields: Members,
  get: Pick<Operation, 'operationId' | 'summary' | 'responses'>,
) {
  const common = { tags: ['Authorization'], security: [] }
  const schema = open(fields)
  return {
    get: { ...get, ...common, parameters: inQuery(fields) },
    post: {
      operationId: `${get.operationId}ByForm`,
      summary: 'The same request as a form',
      ...common,
      requestBody: { required: schema['required'].length > 0, content: form(schema) },
      responses: {
        303: onwards('To the same address as GET with the same parameters.'),
        413: { description: 'The body is larger than the service reads.', content: pageOrJson },
        415: { description: 'The body is of another media type.', content: pageOrJson },
        429: tooMany,
      },
    },
  }
}

function inQuery(fields: Members) {
  return Object.entries(fields).map(([field, { description, ...schema }]) => ({
    name: field.replace('?', ''),
    in: 'query' as const,
    ...(!field.endsWith('?') && { required: true }),
    description: String(description),
    schema,
  }))
}
