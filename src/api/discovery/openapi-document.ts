import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import {
  catalogue,
  MEMBER_READ,
  MEMBER_WRITE,
  scopeNames,
  writeScope,
} from '../../directory/scopes/catalogue.ts'
import { proofAlgorithms } from '../../oauth/clients/proofs.ts'
import { paths, planPaths } from '../../platform/http/paths.ts'
import type { ServiceFacts } from './protected-resource.ts'
import { catalogType, serverCardType } from './server-card.ts'
import { fillTemplate } from './template.ts'

/** Creates the OpenAPI 3.1 description of the endpoints for programs, from openapi.txt. */
export function openApiDocument(facts: ServiceFacts) {
  const { baseUrl, service } = facts
  const template = readFileSync(join(import.meta.dirname, 'openapi.txt'), 'utf8')
  return {
    openapi: '3.1.0',
    info: {
      title: service.name,
      summary: 'OAuth 2.0 and OpenID Connect authorization, Member API, Admin API and tools',
      description: `See ${baseUrl}${paths.authMd} for a walkthrough.`,
      version: '1.0.0',
      license: { name: 'MIT', identifier: 'MIT' },
    },
    servers: [{ url: baseUrl }],
    ...readNotation(fillTemplate(template, placeholderValues(facts))),
  }
}

function placeholderValues({ baseUrl, service, integrations }: ServiceFacts) {
  const { loopbackHosts, files, furtherPlans } = service
  const grants = catalogue.map(({ name, grants }) => [name, grants])
  return {
    ...paths,
    ...planPaths,
    upstream: paths.upstream.replace(/:(\w+)/, '{$1}'),
    base_url: baseUrl,
    server_card_type: serverCardType,
    catalog_type: catalogType,
    scopes: JSON.stringify(scopeNames()),
    scopes_in_words: scopeNames().join(' '),
    grants_of_scopes: JSON.stringify(Object.fromEntries(grants)),
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
    platform_records: service.platformKeys !== null,
    sign_out_notices: furtherPlans.backChannelLogout,
  }
}

/** A part of the document. Its type is loose, because a test validates the whole document. */
type Part = { readonly [key: string]: unknown }
type Parts = Record<string, Part>

/** The definitions read so far. */
class Notation {
  tag = ''
  readonly tags: { name: string; description: string }[] = []
  readonly paths: Record<string, Parts> = {}
  readonly responses: Parts = {}
  readonly schemas: Parts = {}
  readonly securitySchemes: Parts = {}
  readonly types: Parts = {}
  readonly headers: Parts = {}
  /** The lines of each object type and each `lines` block, by name. A line `...name` repeats the lines of `name`. */
  readonly lines: Record<string, readonly string[]> = {}
}

/** Converts the notation of openapi.txt to OpenAPI. @throws Error for a name that no earlier block defines */
function readNotation(text: string) {
  const known = new Notation()
  const blocks = text.replace(/^ *(\/\/.*)?\n/gm, '').trimEnd()
  for (const block of blocks.split(/\n(?! )/)) {
    const [head = '', ...lines] = block.split(/\n +/)
    const [kind, rest] = cut(head, ' ')
    lookUp(readers, kind)(
      rest,
      lines.flatMap((line) => repeated(line, known)),
      known,
    )
  }
  const { tags, responses, schemas, securitySchemes } = known
  return { tags, paths: known.paths, components: { responses, schemas, securitySchemes } }
}

function repeated(line: string, known: Notation): readonly string[] {
  return line.startsWith('...') ? lookUp(known.lines, line.slice(3)) : [line]
}

type ReadBlock = (rest: string, lines: readonly string[], known: Notation) => void

const readers: Readonly<Record<string, ReadBlock>> = {
  tag: (rest, _lines, { tags }) => {
    const [name, description] = cut(rest, ': ')
    tags.push({ name, description })
  },
  type: (rest, _lines, known) => {
    const [name, type] = cut(rest, ' ')
    known.types[name] = parseType(type, known)
  },
  scheme: (rest, _lines, { securitySchemes }) => addJson(rest, securitySchemes),
  headers: (rest, _lines, { headers }) => addJson(rest, headers),
  lines: (name, lines, known) => {
    known.lines[name] = lines
  },
  open: readObject,
  closed: (rest, lines, known) => readObject(rest, lines, known, { additionalProperties: false }),
  component: (rest, lines, known) => {
    const [kind, object] = cut(rest, ' ')
    const [name = ''] = /^\w+/.exec(object) ?? []
    lookUp(readers, kind)(object, lines, known)
    known.schemas[name] = lookUp(known.types, name)
    known.types[name] = { $ref: `#/components/schemas/${name}` }
  },
  response: (rest, _lines, known) => {
    const [name, response] = cut(rest, ' ')
    known.responses[name] = parseResponse(response, known)
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

/** Defines an object type, from `Name: member: type; member?: type` or from one line per member. */
function readObject(rest: string, lines: readonly string[], known: Notation, more: Part = {}) {
  const [, name = '', inline, description] = /^(\w+)(?:: ?(.*?))?(?: -- (.*))?$/.exec(rest) ?? []
  const all = inline ? inline.split('; ').flatMap((line) => repeated(line, known)) : lines
  const members = membersOf(all, known)
  known.lines[name] = all
  known.types[name] = {
    type: 'object',
    ...(description && { description }),
    properties: Object.fromEntries(
      members.map(([member, type]) => [member.replace('?', ''), type]),
    ),
    required: members.map(([member]) => member).filter((member) => !member.endsWith('?')),
    ...more,
  }
}

/** Parses the members of an object type, from lines such as `name other?: type`. */
function membersOf(lines: readonly string[], known: Notation): [name: string, type: Part][] {
  return lines.flatMap((line) => {
    const [names, type] = cut(line, ': ')
    return names.split(' ').map((name): [string, Part] => [name, parseType(type, known)])
  })
}

/** Parses `type`, `type[]`, `type[1+]`, `type or type`, `"one"|"of"`, `true` or JSON. ` -- ` starts a description. */
function parseType(text: string, known: Notation): Part {
  const [type, description] = cut(text, ' -- ')
  if (description) return { ...parseType(type, known), description }
  if (type.startsWith('{')) return JSON.parse(type)
  const [, items, min] = /^(.*)\[(?:(\d)\+)?\]$/.exec(type) ?? []
  if (items !== undefined) {
    return { type: 'array', items: parseType(items, known), ...(min && { minItems: Number(min) }) }
  }
  const kinds = type.split(' or ')
  if (kinds.length > 1) return { oneOf: kinds.map((kind) => parseType(kind, known)) }
  if (!/^"|^(true|false)$/.test(type)) return lookUp(known.types, type)
  const values = type.split('|').map((value) => JSON.parse(value))
  return values.length > 1 ? { enum: values } : { const: values[0] }
}

/** Parses `headers content codes: description`, or the name of a response. Words with an underscore are error codes. */
function parseResponse(text: string, known: Notation): Part {
  if (/^\w+$/.test(text)) {
    lookUp(known.responses, text)
    return { $ref: `#/components/responses/${text}` }
  }
  const [before, description] = cut(text, ': ')
  const words = before.split(' ').filter(Boolean)
  const headers = words.filter((word) => word in known.headers)
  const codes = words.filter((word) => /^[a-z]+(_[a-z]+)+$/.test(word))
  const types = words.filter((word) => !headers.includes(word) && !codes.includes(word))
  const error = {
    allOf: [known.types['OAuthError'], { properties: { error: { enum: codes } } }],
  }
  const content = {
    ...parseContent(types, known),
    ...(codes.length > 0 && { 'application/json': { schema: error } }),
  }
  return {
    description,
    ...(headers.length > 0 && {
      headers: Object.assign({}, ...headers.map((name) => known.headers[name])),
    }),
    ...(Object.keys(content).length > 0 && { content }),
  }
}

/** Parses words such as `media/type=type`. The media type defaults to JSON. */
function parseContent(words: readonly string[], known: Notation): Part {
  const entries = words.map((word) => {
    const [type = '', media = 'application/json'] = word.split('=').reverse()
    return [media, { schema: parseType(type, known) }]
  })
  return Object.fromEntries(entries)
}

/** Adds an operation, from `path operationId: summary` and the lines below it. */
function readOperation(method: string, head: string, lines: readonly string[], known: Notation) {
  const [called, summary] = cut(head, ': ')
  const [path, operationId] = cut(called, ' ')
  const responses: Parts = {}
  const parameters: Part[] = []
  const details: Record<string, unknown> = {}
  for (const line of lines) {
    const [word, rest] = cut(line, ' ')
    if (/^\d/.test(word)) responses[word] = parseResponse(rest, known)
    else if (word === 'query:') parameters.push(...inQuery(lookUp(known.lines, rest), known))
    else if (word === 'parameter:') parameters.push(JSON.parse(rest))
    else Object.assign(details, detailOf(word, rest, known))
  }
  const operation = {
    ...{ operationId, summary, tags: [known.tag], security: [] },
    ...details,
    ...(parameters.length > 0 && { parameters }),
    responses,
  }
  known.paths[path] = { ...known.paths[path], [method]: operation }
}

function detailOf(word: string, rest: string, known: Notation): Part {
  if (word === 'security:') return { security: JSON.parse(rest) }
  if (word === 'description:') return { description: rest }
  const content = parseContent([rest], known)
  return { requestBody: word === 'body?:' ? { content } : { required: true, content } }
}

function inQuery(lines: readonly string[], known: Notation): Part[] {
  return membersOf(lines, known).map(([name, { description, ...schema }]) => ({
    name: name.replace('?', ''),
    in: 'query',
    ...(!name.endsWith('?') && { required: true }),
    description,
    schema,
  }))
}

function addJson(rest: string, into: Parts): void {
  const [name, json] = cut(rest, ' ')
  into[name] = JSON.parse(json)
}

/** Splits a string at the first occurrence of a separator. Without a separator, the second part is empty. */
function cut(text: string, separator: string): [before: string, after: string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + separator.length)]
}

function lookUp<Value>(table: Readonly<Record<string, Value>>, name: string): Value {
  const value = table[name]
  if (value === undefined) throw new Error(`openapi.txt does not define ${name}`)
  return value
}
