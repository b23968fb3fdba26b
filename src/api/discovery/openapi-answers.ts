import {
  type Answer,
  type Content,
  closed,
  type Header,
  json,
  named,
  type Reference,
  type Schema,
  said,
  text,
} from './openapi-shapes.ts'

/** What several operations answer alike: refusals, faults, and the headers that go with them. */

const schemas: Readonly<Record<string, Schema>> = {
  OAuthError: {
    description: 'RFC 6749 §5.2',
    ...closed({
      error: text,
      error_description: text,
      'scope?': said('the scope that was refused or is missing'),
    }),
  },
}

const headers = {
  NoStore: {
    description: 'The answer must not be stored.',
    schema: { type: 'string', examples: ['no-store'] },
  },
  MaxAge: {
    description: 'How long the document may be kept.',
    schema: { type: 'string', examples: ['public, max-age=300'] },
  },
  ETag: { description: 'Names these bytes, for If-None-Match.', schema: text },
  RetryAfter: {
    description: 'After how many seconds to try again.',
    required: true,
    schema: { type: 'integer', minimum: 0 },
  },
  RateLimit: {
    description:
      'draft-ietf-httpapi-ratelimit-headers-10: the limit that is used up, what is left of it (`r`), and the seconds until it begins again (`t`).',
    schema: { type: 'string', examples: ['"tools-of-caller";r=0;t=23'] },
  },
  RateLimitPolicy: {
    description: 'The same draft: how much it allows (`q`) within how many seconds (`w`).',
    schema: { type: 'string', examples: ['"tools-of-caller";q=300;w=60'] },
  },
  Challenge: {
    description:
      'RFC 6750 §3. `resource_metadata` points to the protected-resource metadata, `scope` names what the operation needs.',
    required: true,
    schema: text,
  },
  BasicChallenge: {
    description: 'Present when the request carried an Authorization header.',
    schema: text,
  },
  Location: { description: 'Where the browser goes on.', required: true, schema: text },
} as const satisfies Readonly<Record<string, Header>>

/** When to come back, and what was used up. */
export const limitHeaders = {
  'Retry-After': header('RetryAfter'),
  RateLimit: header('RateLimit'),
  'RateLimit-Policy': header('RateLimitPolicy'),
}

const responses = {
  NotModified: {
    description: 'The caller already holds the document.',
    headers: { 'Cache-Control': header('MaxAge'), ETag: header('ETag') },
  },
  InvalidToken: refusal('No valid access token of this origin came with the request.', {
    errors: ['invalid_token', 'invalid_request'],
    headers: { 'WWW-Authenticate': header('Challenge') },
  }),
  InsufficientScope: refusal('The token is valid and lacks a scope.', {
    errors: ['insufficient_scope'],
    headers: { 'WWW-Authenticate': header('Challenge') },
  }),
  InvalidClient: refusal('The client is unknown or did not authenticate as it must.', {
    errors: ['invalid_client'],
    headers: { 'WWW-Authenticate': header('BasicChallenge'), 'Cache-Control': header('NoStore') },
  }),
  TooLarge: refusal('The body is larger than the service reads.'),
  UnsupportedMediaType: refusal('The body is of another media type.'),
  TooManyRequests: refusal('Too many requests.', {
    errors: ['too_many_requests'],
    headers: limitHeaders,
  }),
  ServerError: refusal('A fault of the service.', { errors: ['server_error'] }),
  ServiceUnavailable: refusal(
    'The service cannot reach a verdict at the moment. It says nothing about the token, carries no challenge, and the client retries.',
    {
      errors: ['temporarily_unavailable'],
      headers: { 'Retry-After': header('RetryAfter') },
    },
  ),
} as const satisfies Readonly<Record<string, Answer>>

/** `components`, without the security schemes. */
export const sharedComponents = { schemas, headers, responses } as const

export function header(name: keyof typeof headers): Reference {
  return { $ref: `#/components/headers/${name}` }
}

export function shared(name: keyof typeof responses): Reference {
  return { $ref: `#/components/responses/${name}` }
}

interface RefusalDetails {
  /** The only codes that `error` may have here; any, when left out. */
  readonly errors?: readonly string[]
  readonly headers?: Answer['headers']
}

/** An answer in the shape of RFC 6749 §5.2. */
export function refusal(description: string, details: RefusalDetails = {}): Answer {
  return {
    description,
    ...(details.headers && { headers: details.headers }),
    content: json(errorSchema(details.errors)),
  }
}

export function errorSchema(errors?: readonly string[]): Schema {
  const shape = named('OAuthError')
  return errors ? { allOf: [shape, { properties: { error: { enum: errors } } }] } : shape
}

/** What can happen at every endpoint, whatever was asked. */
export const faults = {
  429: shared('TooManyRequests'),
  500: shared('ServerError'),
  503: shared('ServiceUnavailable'),
} as const

/** A public document: it may be kept, and asked for again by its ETag. */
export function publicDocument(description: string, content: Content) {
  return {
    200: {
      description,
      headers: { 'Cache-Control': header('MaxAge'), ETag: header('ETag') },
      content,
    },
    304: shared('NotModified'),
  }
}

/** An answer that holds what nobody else may see. */
export function privateAnswer(description: string, schema: Schema): Answer {
  return { description, headers: { 'Cache-Control': header('NoStore') }, content: json(schema) }
}
