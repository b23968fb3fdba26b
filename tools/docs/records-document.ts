import type { z } from 'zod'

import { passwordFormats } from '../../src/directory/people/password-formats.ts'
import { languageTag, time, timeZone } from '../../src/ops/import/field-schemas.ts'
import { kindNames, kindOf } from '../../src/ops/import/record-kinds.ts'
import { pageAddress } from '../../src/school/changes/input.ts'
import { code, page, renderTable, type Tables } from '../../test/support/markdown.ts'

/** Tables of docs/reference: the fields of each kind of record, and formats of password hashes. */
export const recordTables: Tables = {
  records: () => page(...kindNames.map(renderKind)),
  'password-hashes': renderPasswordHashes,
}

function renderPasswordHashes(): string {
  const rows = passwordFormats.map(({ name, examples, from, limit }) => [
    ...[name, code(...examples), from, limit],
  ])
  return renderTable(['format', 'examples', 'written by', 'limit'], rows)
}

function renderKind(name: (typeof kindNames)[number]): string {
  const { schema, key = ['id'], deletable } = kindOf(name)
  const fields = Object.entries((schema as z.ZodObject).shape).map(([field, type]) => {
    const { isRequired, words } = describeField(type as z.ZodType)
    return [code(field), isRequired ? 'required' : '', words]
  })
  return page(
    `## ${name}`,
    `Identified by ${key.map((part) => code(part)).join(' and ')}.${deletable ? ' Deletable.' : ''}`,
    renderTable(['field', '', 'format'], fields),
  )
}

function describeField(type: z.ZodType): { isRequired: boolean; words: string } {
  const { def } = type as z.ZodAny as unknown as { def: Definition }
  if (def.innerType === undefined) return { isRequired: true, words: wordsOfType(type, def) }
  const inner = describeField(def.innerType)
  // A default makes the field optional; `nullable` alone does not.
  return def.type === 'default'
    ? { isRequired: false, words: inner.words.replace(' or null', '') }
    : { ...inner, words: `${inner.words} or null` }
}

interface Definition {
  readonly type: string
  readonly innerType?: z.ZodType
  readonly element?: z.ZodType
  readonly entries?: Readonly<Record<string, string>>
  readonly format?: string
  readonly checks?: readonly { readonly _zod: { readonly def: Check } }[]
}

type Check = { check: string; maximum?: number; value?: number; error?: () => string }

function wordsOfType(type: z.ZodType, def: Definition): string {
  const checks = (def.checks ?? []).map(({ _zod }) => _zod.def)
  const named = new Map<z.ZodType, string>([
    [time, 'time'],
    [pageAddress, 'http or https URL'],
    [languageTag, 'language tag, like `de-AT`'],
    [timeZone, 'IANA time zone'],
  ]).get(type)
  if (named !== undefined) return named
  if (def.type === 'enum') return code(...Object.values(def.entries ?? {}))
  if (def.type === 'array' && def.element) {
    const most = checks.find(({ check }) => check === 'max_length')?.maximum
    return `list of ${describeField(def.element).words}, ${most} at most`
  }
  if (def.type === 'object') {
    const shape = Object.entries((type as z.ZodObject).shape).map(([field, inner]) => {
      const { isRequired, words } = describeField(inner as z.ZodType)
      return `${code(field)} (${isRequired ? '' : 'optional, '}${words})`
    })
    return `objects with ${shape.join(', ')}`
  }
  const most = checks.find(({ check }) => check === 'less_than')?.value
  if (def.type === 'number')
    return most === Number.MAX_SAFE_INTEGER ? 'integer' : `integer, 0 to ${most}`
  if (def.format === 'email') return 'e-mail address'
  const said = checks
    .map(({ error }) => error?.() ?? '')
    .find((words) => words.startsWith('must be '))
  if (said !== undefined) return said.replace('must be ', '')
  const length = checks.find(({ check }) => check === 'max_length')?.maximum
  return length === undefined ? 'text' : `text, ${length} characters at most`
}
