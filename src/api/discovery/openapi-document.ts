import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import {
  catalogue,
  MEMBER_READ,
  MEMBER_WRITE,
  scopeNames,
  writeScope,
} from '../../directory/scopes/catalogue.ts'
import { proofAlgorithms } from '../../oauth/keys/proofs.ts'
import { paths, planPaths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './facts.ts'
import { catalogType, serverCardType } from './server-card.ts'
import { fillTemplate } from './template.ts'

/** The OpenAPI 3.1 description of every fixed address of the service: openapi.txt, filled and read. */
export function openApiDocument(facts: ServiceFacts) {
  const { baseUrl, service } = facts
  const template = readFileSync(join(import.meta.dirname, 'openapi.txt'), 'utf8')
  return {
    openapi: '3.1.0',
    info: {
      title: service.name,
      summary: 'OAuth 2.0 and OpenID Connect authorization, Member API, Admin API and tools',
      description: `Read ${baseUrl}${paths.authMd} for the walkthrough.`,
      version: '1.0.0',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    ...readNotation(fillTemplate(template, valuesOf(facts))),
  }
}

function valuesOf({ baseUrl, service, integrations }: ServiceFacts) {
  const { loopbackHosts, files, furtherPlans } = service
  return {
    ...paths,
    ...planPaths,
    upstream: paths.upstream.replace(/:(\w+)/, '{$1}'),
    base_url: baseUrl,
    server_card_type: serverCardType,
    catalog_type: catalogType,
    scopes: JSON.stringify(scopeNames()),
    scopes_in_words: scopeNames().join(' '),
    grants_of_scopes: JSON.stringify(
      Object.fromEntries(catalogue.map(({ name, grants }) => [name, grants])),
    ),
    by_operators: JSON.stringify(scopeNames('operator').map((scope) => ({ oauth: [scope] }))),
    member_read: MEMBER_READ,
    member_write: MEMBER_WRITE,
    storage_write: writeScope('storage'),
    proof_algorithms: JSON.stringify(proofAlgorithms),
    known_platforms: integrations.map(({ client_name }) => client_name).join(', '),
    loopback_hosts: loopbackHosts.join(', '),
    file_bytes_max: String(files.fileBytesMax),
    upload_seconds: String(files.uploadSeconds),
    pushed_requests: furtherPlans.pushedAuthorizationRequests,
    bound_tokens: furtherPlans.dpop,
    key_clients: furtherPlans.privateKeyJwt,
    sign_out_notices: furtherPlans.backChannelLogout,
  }
}

/** A part of the document; the test of the document has Redocly check the whole. */
type Part = { readonly [key: string]: unknown }
type Parts = Record<string, Part>

/** What the blocks of openapi.txt have defined so far, by name. */
class Notation {
  tag = ''
  readonly tags: { name: string; description: string }[] = []
  readonly paths: Record<string, Parts> = {}
  readonly components: Record<'headers' | 'responses' | 'schemas' | 'securitySchemes', Parts> = {
    headers: {},
    responses: {},
    schemas: {},
    securitySchemes: {},
  }
  readonly types: Parts = {}
  /** The members of objects; the name of an optional one ends with `?`. */
  readonly members: Record<string, Parts> = {}
  readonly headers: Parts = {}
  readonly answers: Record<string, Parts> = {}
}

/**
 * Reads the notation of openapi.txt: blocks, of which each begins with a word in the first column.
 *
 * @throws Error for a name that no block before has defined
 */
function readNotation(text: string): Pick<Notation, 'tags' | 'paths' | 'components'> {
  const known = new Notation()
  const told = text.replace(/^ *(\/\/.*)?\n/gm, '')
  for (const block of told.trimEnd().split(/\n(?! )/)) {
    const [head = '', ...lines] = block.split(/\n +/)
    const [kind, rest] = cut(head, ' ')
    named(readers, kind)(rest, lines, known)
  }
  return { tags: known.tags, paths: known.paths, components: known.components }
}

type ReadBlock = (rest: string, lines: readonly string[], known: Notation) => void

const readers: Readonly<Record<string, ReadBlock>> = {
  tag: (rest, _lines, { tags }) => {
    const [name, description] = cut(rest, ': ')
    tags.push({ name, description })
  },
  type: (rest, _lines, known) => {
    const [name, type] = cut(rest, ' ')
    known.types[name] = typeOf(type, known)
  },
  header: (rest, _lines, { components }) => readJson(rest, components.headers),
  scheme: (rest, _lines, { components }) => readJson(rest, components.securitySchemes),
  headers: (rest, _lines, { headers }) => readJson(rest, headers),
  open: (rest, lines, known) => readObject(rest, lines, known),
  closed: (rest, lines, known) => readObject(rest, lines, known, { additionalProperties: false }),
  component: (rest, lines, known) => {
    const [kind, said] = cut(rest, ' ')
    const [name] = cut(said, ' ')
    named(readers, kind)(said, lines, known)
    known.components.schemas[name] = named(known.types, name)
    known.types[name] = { $ref: `#/components/schemas/${name}` }
  },
  response: (rest, _lines, known) => {
    const [name, answer] = cut(rest, ' ')
    known.components.responses[name] = answerOf(answer, known)
  },
  answers: (name, lines, known) => {
    known.answers[name] = operationOf(lines, known).responses
  },
  operations: (tag, _lines, known) => {
    known.tag = tag
  },
  document: (rest, _lines, known) => {
    const [head, summary] = cut(rest, ': ')
    const [path, operationId, content] = head.split(' ')
    const lines = [`200 validated ${content}: ${summary}`, '304 NotModified']
    readOperation('get', `${path} ${operationId}: ${summary}`, lines, known)
  },
  get: (rest, lines, known) => readOperation('get', rest, lines, known),
  post: (rest, lines, known) => readOperation('post', rest, lines, known),
}

/** `closed Name: member: type; member?: type`, or with each member in a line of its own. */
function readObject(rest: string, lines: readonly string[], known: Notation, more: Part = {}) {
  const [, name = '', said, description] = /^(\w+)(?:: ?(.*?))?(?: -- (.*))?$/.exec(rest) ?? []
  const members: Parts = {}
  for (const line of said ? said.split('; ') : lines) {
    if (line.startsWith('...')) {
      Object.assign(members, named(known.members, line.slice(3)))
    } else {
      const [names, type] = cut(line, ': ')
      for (const each of names.split(' ')) members[each] = typeOf(type, known)
    }
  }
  const names = Object.keys(members)
  known.members[name] = members
  known.types[name] = {
    type: 'object',
    ...(description && { description }),
    properties: Object.fromEntries(names.map((each) => [each.replace('?', ''), members[each]])),
    required: names.filter((each) => !each.endsWith('?')),
    ...more,
  }
}

/** `type`, `type[]`, `type or type`, `"one"|"of"`, `true` or JSON, and after ` -- ` a description. */
function typeOf(said: string, known: Notation): Part {
  const [type, description] = cut(said, ' -- ')
  if (description) return { ...typeOf(type, known), description }
  if (type.startsWith('{')) return JSON.parse(type)
  const [, items, min] = /^(.*)\[(?:(\d)\+)?\]$/.exec(type) ?? []
  if (items !== undefined) {
    return { type: 'array', items: typeOf(items, known), ...(min && { minItems: Number(min) }) }
  }
  const kinds = type.split(' or ')
  if (kinds.length > 1) return { oneOf: kinds.map((kind) => typeOf(kind, known)) }
  if (!/^"|^(true|false)$/.test(type)) return named(known.types, type)
  const values = type.split('|').map((value) => JSON.parse(value))
  return values.length > 1 ? { enum: values } : { const: values[0] }
}

/**
 * `headers content: description`, or the name of a shared answer. What is neither a set of headers nor
 * a type is a code that the error may have (RFC 6749 §5.2).
 */
function answerOf(said: string, known: Notation): Part {
  if (/^\w+$/.test(said)) {
    named(known.components.responses, said)
    return { $ref: `#/components/responses/${said}` }
  }
  const [words, description] = cut(said, ': ')
  const each = words.split(' ').filter(Boolean)
  const sent = each.filter((word) => word in known.headers)
  const codes = each.filter((word) => /^[a-z]+(_[a-z]+)+$/.test(word))
  const types = each.filter((word) => !sent.includes(word) && !codes.includes(word))
  const error = {
    allOf: [known.types['OAuthError'], { properties: { error: { enum: codes } } }],
  }
  const content = {
    ...contentOf(types, known),
    ...(codes.length > 0 && { 'application/json': { schema: error } }),
  }
  return {
    description,
    ...(sent.length > 0 && {
      headers: Object.assign({}, ...sent.map((name) => known.headers[name])),
    }),
    ...(Object.keys(content).length > 0 && { content }),
  }
}

/** `media/type=type`, or a type in JSON. */
function contentOf(words: readonly string[], known: Notation): Part {
  const entries = words.map((word) => {
    const [type, media = 'application/json'] = word.split('=').reverse()
    return [media, { schema: typeOf(type ?? '', known) }]
  })
  return Object.fromEntries(entries)
}

function readOperation(method: string, head: string, lines: readonly string[], known: Notation) {
  const [called, summary] = cut(head, ': ')
  const [path, operationId] = cut(called, ' ')
  const operation = { operationId, summary, tags: [known.tag], security: [] }
  known.paths[path] = {
    ...known.paths[path],
    [method]: { ...operation, ...operationOf(lines, known) },
  }
}

/** The lines of an operation: its answers, and what is told and asked before. */
function operationOf(lines: readonly string[], known: Notation) {
  const responses: Parts = {}
  const parameters: Part[] = []
  const others: Record<string, unknown> = {}
  for (const line of lines) {
    const [word, rest] = cut(line, ' ')
    const key = word.replace(':', '')
    if (word.startsWith('...')) Object.assign(responses, named(known.answers, word.slice(3)))
    else if (/^\d/.test(word)) responses[word] = answerOf(rest, known)
    else if (key === 'query') parameters.push(...inQuery(named(known.members, rest)))
    else if (key === 'parameter') parameters.push(JSON.parse(rest))
    else Object.assign(others, named(details, key)(rest, known))
  }
  return { ...others, ...(parameters.length > 0 && { parameters }), responses }
}

const details: Readonly<Record<string, (rest: string, known: Notation) => Part>> = {
  description: (description) => ({ description }),
  security: (security) => ({ security: JSON.parse(security) }),
  body: (type, known) => ({ requestBody: { required: true, content: contentOf([type], known) } }),
  'body?': (type, known) => ({ requestBody: { content: contentOf([type], known) } }),
}

function inQuery(members: Parts): Part[] {
  return Object.entries(members).map(([name, { description, ...schema }]) => ({
    name: name.replace('?', ''),
    in: 'query',
    ...(!name.endsWith('?') && { required: true }),
    description,
    schema,
  }))
}

function readJson(rest: string, into: Parts): void {
  const [name, json] = cut(rest, ' ')
  into[name] = JSON.parse(json)
}

/** What stands before and after the first mark; nothing after it where there is none. */
function cut(text: string, mark: string): [before: string, after: string] {
  const at = text.indexOf(mark)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + mark.length)]
}

function named<Value>(table: Readonly<Record<string, Value>>, name: string): Value {
  const value = table[name]
  if (value === undefined) throw new Error(`openapi.txt has no ${name}`)
  return value
}
