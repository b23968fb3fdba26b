import { type Prompt, promptCatalogue } from '../../src/api/mcp/prompts.ts'
import { resourceKinds } from '../../src/api/mcp/resources.ts'
import type { JsonSchema, Tool, ToolAccess } from '../../src/api/mcp/tool.ts'
import { toolCatalogue } from '../../src/api/mcp/tool-catalogue.ts'
import { renderTable } from './markdown.ts'
import { answerSchemaOf } from './tool-answers.ts'

const introduction = `Tools, prompts and resources of the [tool endpoint](../how-to/connect-an-assistant.md#write-an-mcp-client). *Effect*: \`reads\`, \`changes\`, or \`destroys\` for tools
that overwrite or delete (\`destructiveHint\`). Every call may be repeated. Lists are pages: pass \`pageInfo.endCursor\` as
\`after\` for the next one.`

/** docs/reference/tools.md, from the catalogues of tools, prompts and resources. */
export function renderTools(): string {
  const rows = toolCatalogue.map(({ name, access, effect, title }) => [
    `[\`${name}\`](#${name})`,
    accessWords(access),
    effect,
    title,
  ])
  return [
    introduction,
    '## Tools',
    renderTable(['tool', 'needs', 'effect', 'title'], rows),
    ...toolCatalogue.map(renderTool),
    '## Prompts',
    renderPrompts(),
    '## Resources',
    renderResources(),
  ].join('\n\n')
}

function renderPrompts(): string {
  const rows = promptCatalogue.map(({ name, access, title, description, arguments: taken }) => [
    `\`${name}\``,
    accessWords(access),
    takenWords(taken),
    `${title} ${description}`,
  ])
  return renderTable(['prompt', 'needs', 'arguments', 'text'], rows)
}

function takenWords(taken: Prompt['arguments']): string {
  const words = taken.map(({ name, required }) => `\`${name}\`${required ? '' : ' (optional)'}`)
  return words.join(', ') || 'none'
}

function renderResources(): string {
  const rows = resourceKinds.map(({ uriTemplate, access, mimeType, description, listedBy }) => [
    `\`${uriTemplate}\``,
    accessWords(access),
    mimeType,
    listedBy ? 'yes' : 'no',
    description,
  ])
  return renderTable(['URI', 'needs', 'type', 'listed', 'content'], rows)
}

function renderTool(tool: Tool): string {
  return [
    `### ${tool.name}`,
    tool.description,
    renderArguments(tool.input()),
    `Returns ${answerWords(answerSchemaOf(tool))}.`,
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
  const rows = entries.map(([name, property]) => [
    `\`${name}\``,
    typeWords(property),
    isRequired.has(name) ? 'required' : 'optional',
    property.description ?? '',
  ])
  return renderTable(['argument', 'type', '', 'meaning'], rows)
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
