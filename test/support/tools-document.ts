import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../../src/api/graphql/connections.ts'
import { ANSWER_LENGTH_MAX } from '../../src/api/mcp/call-tool.ts'
import { type Prompt, promptCatalogue } from '../../src/api/mcp/prompts.ts'
import { resourceKinds } from '../../src/api/mcp/resources.ts'
import type { JsonSchema, Tool, ToolAccess } from '../../src/api/mcp/tool.ts'
import { toolCatalogue } from '../../src/api/mcp/tool-catalogue.ts'
import type { ServicePolicy } from '../../src/config/config.ts'
import { answerSchemaOf } from './tool-answers.ts'

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
    '## Prompts',
    renderPrompts(),
    '## Resources',
    renderResources(),
  ]
  return `${parts.join('\n\n')}\n`
}

function renderPrompts(): string {
  const rows = promptCatalogue.map(
    ({ name, access, title, description, arguments: taken }) =>
      `| \`${name}\` | ${accessWords(access)} | ${takenWords(taken)} | ${title} ${description} |`,
  )
  return ['| prompt | needs | takes | what it asks |', '| --- | --- | --- | --- |', ...rows].join(
    '\n',
  )
}

function takenWords(taken: Prompt['arguments']): string {
  const words = taken.map(({ name, required }) => `\`${name}\`${required ? '' : ' (optional)'}`)
  return words.join(', ') || 'nothing'
}

function renderResources(): string {
  const rows = resourceKinds.map(
    ({ uriTemplate, access, mimeType, description, listedBy }) =>
      `| \`${uriTemplate}\` | ${accessWords(access)} | ${mimeType} | ${listedBy ? 'yes' : 'no'} | ${description} |`,
  )
  const head = [
    '| URI | needs | type | each is listed | what it is |',
    '| --- | --- | --- | --- | --- |',
  ]
  return [...head, ...rows].join('\n')
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
    renderArguments(tool.input()),
    `Answers ${answerWords(answerSchemaOf(tool))}.`,
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
  readonly enum?: readonly string[]
  readonly items?: Property
}

function renderArguments({ properties, required }: JsonSchema): string {
  const entries = Object.entries((properties ?? {}) as Record<string, Property>)
  if (entries.length === 0) return 'Takes no arguments.'
  const isRequired = new Set((required ?? []) as string[])
  const rows = entries.map(([name, property]) => {
    const given = isRequired.has(name) ? 'required' : 'optional'
    return `| \`${name}\` | ${typeWords(property)} | ${given} | ${property.description ?? ''} |`
  })
  return ['| argument | type | | meaning |', '| --- | --- | --- | --- |', ...rows].join('\n')
}

function typeWords({ type, enum: values, items }: Property): string {
  if (type === 'array' && items) return `list of ${typeWords(items)}`
  return values ? values.map((value) => `\`${value}\``).join(', ') : String(type)
}

/** The names of the answer's members; those of a page are the same everywhere. */
function answerWords({ type, properties }: JsonSchema): string {
  if (type === 'string') return 'Markdown'
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
