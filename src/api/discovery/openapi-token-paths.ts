import { paths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './facts.ts'
import { faults, header, privateAnswer, refusal, shared } from './openapi-answers.ts'
import {
  type Answer,
  closed,
  form,
  json,
  list,
  type Members,
  type Operation,
  open,
  type Schema,
  said,
  seconds,
  text,
  time,
  uri,
} from './openapi-shapes.ts'

const tags = ['Tokens']

/** How a client names itself in a form; HTTP Basic is accepted for confidential clients as well. */
export function clientFields({ service }: ServiceFacts): Members {
  return {
    'client_id?': text,
    'client_secret?': said('confidential clients only', { ...text, format: 'password' }),
    ...(service.furtherPlans.privateKeyJwt && {
      'client_assertion_type?': { const: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer' },
      'client_assertion?': said('a JWT that the client signed (RFC 7523)'),
    }),
  }
}

const atTheSite = {
  'org_id?': said('the site of the authorization'),
  'roles?': said('the roles that the person holds there now', list(text)),
}

const claims = closed({
  sub: text,
  'email?': { type: 'string', format: 'email' },
  'email_verified?': said('absent where nobody knows', { const: true }),
  'name?': text,
  'picture?': uri,
  'preferred_username?': text,
  'locale?': said('a language, BCP 47', text),
  'zoneinfo?': said('a time zone of the IANA database', text),
  'updated_at?': said('when the claims last changed', time),
  ...atTheSite,
})

function tokenAnswer({ service }: ServiceFacts) {
  return closed({
    access_token: text,
    token_type: tokenType(service),
    expires_in: seconds,
    'refresh_token?': text,
    'id_token?': said('JWT, ES256; never in the answer to a refresh'),
    'scope?': text,
  })
}

/** What a token may be (RFC 9449 §5), as far as it is on. */
function tokenType({ furtherPlans }: ServiceFacts['service']): Schema {
  return furtherPlans.dpop ? { enum: ['Bearer', 'DPoP'] } : { const: 'Bearer' }
}

function introspection({ service }: ServiceFacts) {
  const cnf = said('the key that the token is bound to', closed({ jkt: text }))
  return {
    oneOf: [
      closed({ active: { const: false } }),
      closed({
        active: { const: true },
        iss: uri,
        sub: text,
        'aud?': text,
        client_id: text,
        'scope?': text,
        'token_type?': tokenType(service),
        ...(service.furtherPlans.dpop && { 'cnf?': cnf }),
        exp: time,
        iat: time,
        ...atTheSite,
      }),
    ],
  }
}

/** The back channel of a client: tokens, and what can be asked about and done with them. */
export function tokenPaths(facts: ServiceFacts) {
  return {
    [paths.token]: { post: issueTokens(facts) },
    [paths.userinfo]: {
      get: userinfo(facts, ['getUserinfo', 'Who signed in']),
      post: {
        ...userinfo(
          facts,
          ['postUserinfo', 'The same by POST (OpenID Connect Core §5.3.1)'],
          unread,
        ),
        requestBody: { required: false, content: form(open({ 'access_token?': text })) },
      },
    },
    [paths.introspection]: {
      post: byClient({
        ...aboutToken(facts),
        operationId: 'introspect',
        summary: 'Says what a token is good for (RFC 7662)',
        description:
          'A registered resource server sees every token of this origin, a client its own; for all others a token is not active.',
        answer: privateAnswer('The token, or that it is not active.', introspection(facts)),
        refused: refusal('The request is malformed.', { errors: ['invalid_request'] }),
        others: unread,
      }),
    },
    [paths.forwardAuth]: { get: forwardAuth },
    [paths.revocation]: {
      post: byClient({
        ...aboutToken(facts),
        operationId: 'revoke',
        summary: 'Ends an access or refresh token (RFC 7009)',
        description:
          'The answer is the same for a token that is unknown, foreign or already revoked.',
        answer: { description: 'Done.', content: json(closed({})) },
      }),
    },
  }
}

function issueTokens(facts: ServiceFacts) {
  const { baseUrl, service } = facts
  const resource = { ...uri, examples: [baseUrl] }
  const byCode = open({
    grant_type: { const: 'authorization_code' },
    code: text,
    redirect_uri: uri,
    code_verifier: { type: 'string', pattern: '^[A-Za-z0-9._~-]{43,128}$' },
    'resource?': said('RFC 8707; required with member scopes', resource),
    ...clientFields(facts),
  })
  const byRefresh = open({
    grant_type: { const: 'refresh_token' },
    refresh_token: text,
    'scope?': said('fewer scopes than were granted'),
    'resource?': said('may be repeated', resource),
    ...clientFields(facts),
  })
  return byClient({
    operationId: 'issueTokens',
    summary: 'Exchanges a code, or refreshes',
    fields: { oneOf: [byCode, byRefresh] },
    answer: privateAnswer('The tokens.', tokenAnswer(facts)),
    refused: refusal('The request or the grant is refused.', {
      errors: [
        'invalid_request',
        'invalid_grant',
        'invalid_scope',
        'invalid_target',
        'invalid_client',
        'invalid_client_metadata',
        'unauthorized_client',
        'unsupported_grant_type',
        ...(service.furtherPlans.dpop ? ['invalid_dpop_proof', 'use_dpop_nonce'] : []),
      ],
      headers: { 'Cache-Control': header('NoStore') },
    }),
  })
}

const identityHeader = (description: string) => ({ description, required: true, schema: text })

/** Every other method is answered as GET is. */
const forwardAuth = {
  operationId: 'forwardAuth',
  summary: 'Whether a request may pass a proxy, and who it is from',
  description:
    'A proxy sends the Authorization header of its caller, and its own credentials as a resource server in X-Forward-Auth-Client. Values of the identity headers are percent-encoded, and empty where the token does not release them.',
  tags,
  security: [{ bearer: [], proxy: [] }],
  parameters: [
    {
      name: 'scope',
      in: 'query' as const,
      description: 'The scopes that the token must have, every one of them.',
      required: false,
      schema: text,
    },
    {
      name: 'X-Forward-Auth-Scope',
      in: 'header' as const,
      description: 'More of them, for proxies that cannot set the query.',
      required: false,
      schema: text,
    },
  ],
  responses: {
    200: {
      description: 'The request may pass.',
      headers: {
        'Cache-Control': header('NoStore'),
        'X-Auth-Subject': identityHeader('`sub`'),
        'X-Auth-Client': identityHeader('`client_id`'),
        'X-Auth-Scope': identityHeader('The scopes of the token.'),
        'X-Auth-Org': identityHeader('`org_id`, with `profile`.'),
        'X-Auth-Roles': identityHeader('`roles`, with `profile`.'),
        'X-Auth-Name': identityHeader('`name`, with `profile`.'),
        'X-Auth-Email': identityHeader('`email`, with `email`.'),
      },
    },
    400: refusal('The proxy did not authenticate, or names a scope that is not known.', {
      errors: ['invalid_client', 'invalid_scope'],
      headers: { 'Cache-Control': header('NoStore') },
    }),
    401: shared('InvalidToken'),
    403: shared('InsufficientScope'),
    ...faults,
  },
}

/** What our own two routes say of a body that they do not read. */
const unread = { 413: shared('TooLarge'), 415: shared('UnsupportedMediaType') }

function userinfo(
  { service }: ServiceFacts,
  [operationId, summary]: readonly [operationId: string, summary: string],
  others: Operation['responses'] = {},
) {
  return {
    operationId,
    summary,
    tags,
    security: [{ bearer: [] }, ...(service.furtherPlans.dpop ? [{ dpop: [] }] : [])],
    responses: {
      200: privateAnswer('The claims that the granted scopes release.', claims),
      400: refusal('The request is malformed.', {
        errors: ['invalid_request'],
        headers: { 'WWW-Authenticate': header('Challenge') },
      }),
      401: shared('InvalidToken'),
      403: shared('InsufficientScope'),
      ...others,
      ...faults,
    },
  }
}

/** A client asks about a token, or hands it back. */
function aboutToken(facts: ServiceFacts) {
  return {
    fields: open({
      token: text,
      'token_type_hint?': { enum: ['access_token', 'refresh_token'] },
      ...clientFields(facts),
    }),
    refused: refusal('The request is malformed.', {
      errors: ['invalid_request', 'invalid_client'],
    }),
  }
}

type Described = Pick<Operation, 'operationId' | 'summary' | 'description'>

/** A form that a client posts, and authenticates as it must. */
function byClient({
  fields,
  answer,
  refused,
  others = {},
  ...described
}: Described & {
  readonly fields: Schema
  readonly others?: Operation['responses']
} & Readonly<Record<'answer' | 'refused', Answer>>) {
  return {
    ...described,
    tags,
    security: [{}, { clientSecretBasic: [] }],
    requestBody: { required: true, content: form(fields) },
    responses: { 200: answer, 400: refused, 401: shared('InvalidClient'), ...others, ...faults },
  }
}
