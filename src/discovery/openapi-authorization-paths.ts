import { paths } from '../http/paths.ts'
import { scopeNames } from '../scopes/catalogue.ts'
import type { ServiceFacts } from './facts.ts'
import { errorSchema, header } from './openapi-answers.ts'
import {
  type Answer,
  type Content,
  closed,
  form,
  json,
  type Operation,
  type Parameter,
  type Paths,
  page,
  type Schema,
  text,
  uri,
} from './openapi-shapes.ts'

const tags = ['Authorization']
const security = [] as const

type Field = Omit<Parameter, 'in'>

function authorizationFields({ baseUrl }: ServiceFacts): Field[] {
  return [
    { name: 'response_type', required: true, description: 'RFC 6749', schema: { const: 'code' } },
    { name: 'client_id', required: true, description: 'the client', schema: text },
    { name: 'redirect_uri', required: true, description: 'one that is registered', schema: uri },
    {
      name: 'scope',
      required: true,
      description: `scope names, separated by spaces: ${scopeNames().join(' ')}`,
      schema: text,
    },
    {
      name: 'resource',
      description: 'RFC 8707; required with member scopes',
      schema: { ...uri, examples: [baseUrl] },
    },
    {
      name: 'code_challenge',
      required: true,
      description: 'base64url of the SHA-256 digest of the verifier (RFC 7636)',
      schema: { type: 'string', pattern: '^[A-Za-z0-9_-]{43}$' },
    },
    {
      name: 'code_challenge_method',
      required: true,
      description: 'RFC 7636',
      schema: { const: 'S256' },
    },
    { name: 'state', description: 'a random value that comes back', schema: text },
    { name: 'nonce', description: 'a random value that comes back in the id_token', schema: text },
    {
      name: 'prompt',
      description: '`select_account` asks for the site again',
      schema: text,
    },
    {
      name: 'max_age',
      description: 'OpenID Connect, seconds',
      schema: { type: 'integer', minimum: 0 },
    },
    { name: 'login_hint', description: 'OpenID Connect', schema: text },
    { name: 'id_token_hint', description: 'OpenID Connect', schema: text },
    {
      name: 'response_mode',
      description: 'how the answer travels to `redirect_uri`',
      schema: { enum: ['query', 'fragment', 'form_post'] },
    },
  ]
}

const signOutFields: readonly Field[] = [
  { name: 'id_token_hint', description: 'an id_token of this service', schema: text },
  { name: 'client_id', description: 'the client', schema: text },
  { name: 'post_logout_redirect_uri', description: 'one that is registered', schema: uri },
  { name: 'state', description: 'a value that comes back', schema: text },
  { name: 'logout_hint', description: 'OpenID Connect', schema: text },
  { name: 'ui_locales', description: 'OpenID Connect', schema: text },
]

/** What a redirect says to a person whose browser does not follow it. */
const redirection: Content = { ...page, 'text/plain': { schema: text } }

const onwards: Answer = {
  description:
    'To the pages of sign-in and consent, or to `redirect_uri` with `code`, `state` and `iss` (RFC 9207), or with `error`.',
  headers: { Location: header('Location'), 'Cache-Control': header('NoStore') },
  content: redirection,
}

/** A browser gets a page, and a program that asks for JSON the shape of RFC 6749. */
const errorContent = { ...page, ...json(errorSchema()) }

const errorPage: Answer = {
  description: 'The client or its redirect address is in doubt, so that nothing is sent there.',
  content: errorContent,
}

const waiting = { 'Retry-After': header('RetryAfter') }
const faults: Operation['responses'] = {
  500: { description: 'A fault of the service.', content: errorContent },
  503: {
    description: 'The service cannot even learn who the client is at the moment.',
    headers: waiting,
    content: errorContent,
  },
}

/** What is wrong with a body before anything in it is looked at. */
const formFaults: Operation['responses'] = {
  413: { description: 'The body is larger than the service reads.', content: errorContent },
  415: { description: 'The body is of another media type.', content: errorContent },
}

/** The two addresses to which a browser is sent. */
export function authorizationPaths(facts: ServiceFacts): Paths {
  const fields = authorizationFields(facts)
  return {
    [paths.authorization]: { get: authorize(fields), post: authorizeByForm(fields) },
    [paths.endSession]: { get: signOut(), post: signOutByForm() },
  }
}

function authorize(fields: readonly Field[]): Operation {
  return {
    operationId: 'authorize',
    summary: 'Asks the person for access (authorization code with PKCE)',
    tags,
    security,
    parameters: inQuery(fields),
    responses: {
      200: {
        description: 'A page that posts the answer (`response_mode=form_post`).',
        content: page,
      },
      303: onwards,
      400: errorPage,
      ...faults,
    },
  }
}

function authorizeByForm(fields: readonly Field[]): Operation {
  return {
    operationId: 'authorizeByForm',
    summary: 'The same request as a form',
    tags,
    security,
    requestBody: { required: true, content: form(formOf(fields)) },
    responses: {
      303: { ...onwards, description: 'To the same address as GET with the same parameters.' },
      ...formFaults,
      ...faults,
    },
  }
}

function signOut(): Operation {
  return {
    operationId: 'signOut',
    summary: 'Ends the session of the browser (RP-initiated logout)',
    tags,
    security,
    parameters: inQuery(signOutFields),
    responses: {
      200: {
        description: 'A page that asks for confirmation; it goes on to `post_logout_redirect_uri`.',
        content: page,
      },
      400: errorPage,
      ...faults,
    },
  }
}

function signOutByForm(): Operation {
  return {
    operationId: 'signOutByForm',
    summary: 'The same request as a form',
    tags,
    security,
    requestBody: { required: false, content: form(formOf(signOutFields)) },
    responses: {
      303: { ...onwards, description: 'To the same address as GET with the same parameters.' },
      ...formFaults,
      ...faults,
    },
  }
}

function inQuery(fields: readonly Field[]): Parameter[] {
  return fields.map((field) => ({ ...field, in: 'query' }))
}

function formOf(fields: readonly Field[]): Schema {
  const required = fields.filter((field) => field.required).map((field) => field.name)
  const { additionalProperties: _, ...schema } = closed(
    Object.fromEntries(
      fields.map(({ name, description, schema }) => [name, { ...schema, description }]),
    ),
    required,
  )
  return schema
}
