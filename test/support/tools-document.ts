import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { ServicePolicy } from '../../src/config/config.ts'
import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../../src/graphql/page-arguments.ts'
import { ANSWER_LENGTH_MAX } from '../../src/mcp/call-tool.ts'
import type { JsonSchema, Tool, ToolAccess } from '../../src/mcp/tool.ts'
import { toolCatalogue } from '../../src/mcp/tool-catalogue.ts'

/**
 * The generated part of docs/tools.md begins here; what stands above it is written by hand.
 * `node test/support/tools-document.ts` writes it again.
 */
export const GENERATED_FROM = '## Limits'

/** The numbers and the catalogue as people read them. */
export function renderTools(tools: readonly Tool[], limits: ServicePolicy['mcp']): string {
  const rows = tools.map(
    ({ name, access, effect, title }) =>
      `| [\`${name}\`](#${name}) | ${accessWords(access)} | ${effect} | ${title} |`,
  )
  const parts = [
    GENERATED_FROM,
    renderLimits(limits),
    '## Tools',
    ['| tool | needs | effect | title |', '| --- | --- | --- | --- |', ...rows].join('\n'),
    ...tools.map(renderTool),
  ]
  return `${parts.join('\n\n')}\n`
}

function renderLimits(limits: ServicePolicy['mcp']): string {
  const { bodyBytesMax, requestsPerAddressMax, requestsPerCallerMax, windowSeconds } = limits
  return [
    '| what | at most | then |',
    '| --- | --- | --- |',
    `| body of a request | ${bodyBytesMax} bytes | 413 |`,
    `| requests of one person by one client at one site, in ${windowSeconds} seconds | ${requestsPerCallerMax} | 429 |`,
    `| requests of one address, in ${windowSeconds} seconds | ${requestsPerAddressMax} | 429 |`,
    `| elements of one page (\`first\`) | ${PAGE_SIZE_MAX}; ${PAGE_SIZE_DEFAULT} when it is not given | an answer marked as an error |`,
    `| characters of one answer | ${ANSWER_LENGTH_MAX} | an answer marked as an error |`,
  ].join('\n')
}

function renderTool(tool: Tool): string {
  return [
    `### ${tool.name}`,
    `${tool.description} Needs ${accessWords(tool.access)}.`,
    renderArguments(tool.schemas().input),
    `Answers ${answerWords(tool.schemas().output)}.`,
  ].join('\n\n')
}

function accessWords(access: ToolAccess): string {
  switch (access.kind) {
    case 'public':
      return 'nothing'
    case 'token':
      return 'any token'
    case 'scopes':
      return access.needed.map((scope) => `\`${scope}\``).join(', ')
    case 'audience':
      return `any scope of a ${access.audience}`
  }
}

interface Property {
  readonly type?: string
  readonly description?: string
  readonly default?: unknown
  readonly minimum?: number
  readonly maximum?: number
}

function renderArguments({ properties, required }: JsonSchema): string {
  const entries = Object.entries((properties ?? {}) as Record<string, Property>)
  if (entries.length === 0) return 'Takes no arguments.'
  const isRequired = new Set((required ?? []) as string[])
  const rows = entries.map(([name, property]) => {
    const given = isRequired.has(name) ? 'required' : defaultWords(property)
    return `| \`${name}\` | ${typeWords(property)} | ${given} | ${property.description ?? ''} |`
  })
  return ['| argument | type | | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

function typeWords({ type, minimum, maximum }: Property): string {
  return type === 'integer' ? `${type}, ${minimum} to ${maximum}` : String(type)
}

function defaultWords(property: Property): string {
  return property.default === undefined ? 'optional' : `\`${JSON.stringify(property.default)}\``
}

/** The names of the answer's members; those of a page are the same everywhere. */
function answerWords({ properties }: JsonSchema): string {
  const members = properties as Record<string, JsonSchema>
  const nodes = members['nodes']
  if (!nodes) return namesOf(members)
  const { properties: fields } = nodes['items'] as { properties: Record<string, unknown> }
  return `a page (\`nodes\`, \`pageInfo\`, \`totalCount\`) of ${namesOf(fields)}`
}

function namesOf(members: Record<string, unknown>): string {
  return Object.keys(members)
    .map((name) => `\`${name}\``)
    .join(', ')
}

if (import.meta.main) {
  const root = join(import.meta.dirname, '../..')
  const file = join(root, 'docs/tools.md')
  const { mcp } = JSON.parse(readFileSync(join(root, 'config/service.json'), 'utf8'))
  const [byHand = ''] = readFileSync(file, 'utf8').split(GENERATED_FROM)
  writeFileSync(file, byHand + renderTools(toolCatalogue, mcp))
}
