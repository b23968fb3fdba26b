import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputType,
  type GraphQLOutputType,
  type GraphQLSchema,
  getNamedType,
  isCompositeType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
} from 'graphql'

import { paths } from '../../src/platform/http/paths.ts'
import { mostlyBearer } from './oauth-requests.ts'
import type { Chance } from './random.ts'
import { type FuzzRequest, place } from './request.ts'
import { damaged, encoded, oddText, opened, posted } from './texts.ts'

export type Schemas = Readonly<Record<'member' | 'admin', GraphQLSchema>>

export function graphqlRequest(chance: Chance, schemas: Schemas): FuzzRequest {
  const isMember = chance.is(0.5)
  const path = isMember ? paths.graphql : paths.adminGraphql
  const document = documentOf(chance, isMember ? schemas.member : schemas.admin)
  const headers = mostlyBearer(chance, place(isMember ? 'memberToken' : 'operatorToken'))
  if (chance.is(0.1)) {
    const query = `query=${encoded(chance, document)}&variables=${encoded(chance, oddText(chance))}`
    return opened(chance, `${path}?${query}`, headers)
  }
  return posted(chance, path, { json: bodyOf(chance, document), headers })
}

function bodyOf(chance: Chance, query: string): unknown {
  const text = oddText(chance)
  const odd = () => chance.pick<unknown>([text, 1, null, [], {}, { v: text }, { __proto__: 1 }])
  const body: Record<string, unknown> = { query: chance.is(0.97) ? query : odd() }
  if (chance.is(0.3)) body['variables'] = chance.is(0.7) ? { v: odd(), w: 5 } : odd()
  if (chance.is(0.1)) body['operationName'] = odd()
  if (chance.is(0.05)) body['extensions'] = odd()
  return chance.is(0.02) ? [body, body] : body
}

type Making = { readonly chance: Chance; readonly fragments: string[] }

function documentOf(chance: Chance, schema: GraphQLSchema): string {
  const isMutation = chance.is(0.25)
  const root = isMutation ? schema.getMutationType() : schema.getQueryType()
  if (!root) return '{ __typename }'
  const making: Making = { chance, fragments: [] }
  const variables = chance.is(0.2)
    ? `X($v: ${chance.pick(['String', 'ID!', 'Int = 5', '[String!]', 'Nothing'])}, $w: Int)`
    : ''
  const text = `${isMutation ? 'mutation' : 'query'} ${variables} ${selection(making, root, 0)} ${making.fragments.join(' ')}`
  return chance.is(0.1) ? damaged(chance, text) : text
}

const DEPTH_MAX = 9

function selection(making: Making, type: GraphQLOutputType, depth: number): string {
  const { chance } = making
  const named = getNamedType(type)
  if (!isObjectType(named) && !isInterfaceType(named))
    return isCompositeType(named) ? '{ __typename }' : ''
  const fields = Object.values(named.getFields())
  const count = 1 + chance.number(chance.is(0.02) ? 40 : 4)
  const parts = Array.from({ length: count }, () => part(making, chance.pick(fields), depth))
  if (chance.is(0.15)) parts.push('__typename')
  if (chance.is(0.03)) parts.push(chance.pick(oddNames))
  if (chance.is(0.05)) {
    making.fragments.push(
      `fragment f${making.fragments.length} on ${named.name} { __typename ${chance.is(0.2) ? '...f0' : ''} }`,
    )
    parts.push(`...f${making.fragments.length - 1}`)
  }
  return `{ ${parts.join(' ')} }`
}

function part(making: Making, field: GraphQLField<unknown, unknown>, depth: number): string {
  const { chance } = making
  const alias = chance.is(0.15) ? `a${chance.number(5)}: ` : ''
  const named = field.args.filter(({ type }) => isNonNullType(type) || chance.is(0.4))
  const list = named.map((argument) => `${argument.name}: ${argumentValue(making, argument)}`)
  const given = list.length > 0 && !chance.is(0.02) ? `(${list.join(', ')})` : ''
  const directive = chance.is(0.03)
    ? ` @${chance.pick(['include(if: true)', 'skip(if: $v)', 'nothing', 'include'])}`
    : ''
  const isDeep = isCompositeType(getNamedType(field.type))
  const inside = isDeep && depth < DEPTH_MAX ? selection(making, field.type, depth + 1) : ''
  return `${alias}${field.name}${given}${directive} ${inside}`
}

function argumentValue(making: Making, { name, type }: GraphQLArgument): string {
  const { chance } = making
  if (chance.is(0.06)) return chance.pick(['$v', '$w', 'null', '{}', '[]', '""', 'X', '1.5', '-1'])
  if (name === 'after' && chance.is(0.6)) return JSON.stringify(place('cursor'))
  return literal(making, type, 0)
}

function literal(making: Making, type: GraphQLInputType, depth: number): string {
  const { chance } = making
  if (isNonNullType(type)) return literal(making, type.ofType, depth)
  if (chance.is(0.05)) return 'null'
  if (isListType(type))
    return `[${chance.many(3, () => literal(making, type.ofType, depth + 1)).join(', ')}]`
  if (isEnumType(type)) return chance.pick(type.getValues()).name
  if (isInputObjectType(type)) {
    if (depth > 4) return '{}'
    const fields = Object.values(type.getFields()).filter(
      ({ type: of }) => isNonNullType(of) || chance.is(0.5),
    )
    return `{ ${fields.map((field) => `${field.name}: ${literal(making, field.type, depth + 1)}`).join(', ')} }`
  }
  return scalar(chance, type.name)
}

function scalar(chance: Chance, name: string): string {
  const [share, values] = scalars[name] ?? [0, []]
  return chance.is(share) ? chance.pick(values) : JSON.stringify(oddText(chance))
}

const ids = ['per_sam', 'per_olivia', 'per_marco', 'sit_northlight', 'crs_x', 'x', '', 'per_june']
const times = [
  ...['2026-03-01T09:30:00.000Z', '2026-02-30T00:00:00Z', '0000-01-01T00:00:00Z'],
  '+275760-09-13T00:00:00.000Z',
]

/** Literals of each scalar type, and the share of values that is chosen from them. All other values are odd texts. */
const scalars: Readonly<Record<string, readonly [share: number, values: readonly string[]]>> = {
  Int: [1, ['0', '1', '5', '20', '100', '101', '-1', '2147483647', '2147483648']],
  Float: [1, ['0', '1.5', '-1e308', '1e309']],
  Boolean: [1, ['true', 'false']],
  DateTime: [0.7, times.map((time) => JSON.stringify(time))],
  ID: [0.6, ids.map((id) => JSON.stringify(id))],
}

const oddNames = [
  ...['__proto__', 'constructor', '__schema { types { name fields { name } } }'],
  ...['nothing', '...', '... on Nothing { a }'],
]
