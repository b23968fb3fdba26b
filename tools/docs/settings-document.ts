import { readFileSync } from 'node:fs'
import { join } from 'node:path'

import { z } from 'zod'

import { environmentVariables } from '../../src/config/environment.ts'
import { servicePolicy } from '../../src/config/service-policy.ts'
import { code, page, renderTable, type Tables } from '../../test/support/markdown.ts'
import { settings, type Table } from '../../test/support/reference-data.ts'

interface Field {
  readonly type?: string
  readonly items?: Field
  readonly enum?: readonly string[]
  readonly const?: unknown
  readonly minimum?: number
  readonly maximum?: number
  readonly default?: unknown
  readonly properties?: Readonly<Record<string, Field>>
}

const configured: Readonly<Record<string, unknown>> = JSON.parse(
  readFileSync(join(import.meta.dirname, '../../config/service.json'), 'utf8'),
)
const sections: Readonly<Record<string, Field>> =
  (z.toJSONSchema(servicePolicy, { io: 'input', unrepresentable: 'any' }) as Field).properties ?? {}

/** Tables of docs/reference, generated from the schemas of the configuration and test/data/settings.txt. */
export const settingTables: Tables = {
  variables: renderVariables,
  settings: () => page(...settings.map(renderSection)),
}

function renderVariables(): string {
  const variables = renderExampleEnv().matchAll(/^# (.+)\n# ([A-Z0-9_]+)=(.*)$/gm)
  const rows = [...variables].map(([, meaning = '', name = '', usual = '']) => [
    ...[code(name), usual === '' ? '' : code(usual), meaning],
  ])
  return renderTable(['variable', 'default', 'meaning'], rows)
}

/** Returns the path of each field of config/service.json, in the notation of test/data/settings.txt. */
export function settingPaths(): string[] {
  return Object.entries(sections).flatMap(([name, section]) => {
    const fields = sectionFields(section)
    return fields === undefined ? [name] : Object.keys(fields).map((field) => `${name}.${field}`)
  })
}

/** Returns the paths that test/data/settings.txt explains; `*` stands for all fields of a section. */
export function explainedPaths(): string[] {
  return settings.flatMap(({ title, rows }) =>
    sectionsOf(title).flatMap((section) =>
      rows.flatMap(([name = '']) => {
        if (name !== '*') return [section === 'Top level' ? name : `${section}.${name}`]
        return settingPaths().filter((path) => path.startsWith(`${section}.`))
      }),
    ),
  )
}

function renderSection({ title, rows }: Table): string {
  const names = sectionsOf(title)
  const cells = rows.map(([name = '', meaning = '']) => {
    const fields = names.map((section) => findField(section, name))
    const [{ field = {} } = {}] = fields
    const values = fields.map(({ value }) => (value === undefined ? '' : valueCode(value)))
    return [code(name), [...new Set(values)].join(', '), valueRange(field), meaning]
  })
  return `### ${title}\n\n${renderTable(['field', 'value', 'allowed', 'meaning'], cells)}`
}

function findField(section: string, name: string): { field?: Field | undefined; value?: unknown } {
  if (section === 'Top level') return { field: sections[name], value: configured[name] }
  const field = sectionFields(sections[section] ?? {})?.[name]
  const values = configured[section]
  const value = Array.isArray(values) ? undefined : Object(values)[name]
  return { field, value: value ?? field?.default }
}

function sectionFields(section: Field): Readonly<Record<string, Field>> | undefined {
  return section.properties ?? section.items?.properties
}

function sectionsOf(title: string): string[] {
  return title.split(', ')
}

function valueRange({ type, minimum, maximum, enum: values, items, const: only }: Field): string {
  if (only !== undefined) return valueCode(only)
  if (values) return code(...values)
  if (items) return `list of ${valueRange(items) || 'texts'}`
  if (type === 'boolean') return 'true, false'
  if (minimum === undefined || maximum === undefined) return type === 'string' ? 'text' : ''
  return maximum === Number.MAX_SAFE_INTEGER ? `${minimum} or more` : `${minimum} to ${maximum}`
}

function valueCode(value: unknown): string {
  return code(typeof value === 'string' ? value : JSON.stringify(value))
}

/** Renders config/example.env. */
export function renderExampleEnv(): string {
  const rows = Object.entries(environmentVariables.shape).map(([name, variable]) => {
    const { description, shown } = variable.meta() ?? {}
    return `# ${description}\n# ${name}=${shown ?? variable.safeParse(undefined).data ?? ''}\n`
  })
  return `# Environment variables of Gatehouse, with their defaults. To change one, remove the # before its name.\n\n${rows.join('\n')}`
}
