import { answerSchemaOf } from '../../src/api/mcp/answer-schema.ts'
import { promptCatalogue } from '../../src/api/mcp/prompts.ts'
import { resourceKinds } from '../../src/api/mcp/resources.ts'
import type { JsonSchema, ToolAccess } from '../../src/api/mcp/tool.ts'
import { toolCatalogue } from '../../src/api/mcp/tool-catalogue.ts'
import { code, page, renderTable, type Tables } from '../../test/support/markdown.ts'

/** Tables of docs/reference, generated from the catalogues of tools, prompts and resources. */
export const toolTables: Tables = {
  tools: renderTools,
  prompts: renderPrompts,
  resources: renderResources,
}

function renderTools(): string {
  const rows = toolCatalogue.map(({ name, access, effect, title }) => [
    ...[`[${code(name)}](#${name})`, accessWords(access), effect, title],
  ])
  return page(
    renderTable(['tool', 'needs', 'effect', 'title'], rows),
    ...toolCatalogue.flatMap((tool) => [
      `### ${tool.name}`,
      tool.description,
      renderArguments(tool.input()),
      `Returns ${answerWords(answerSchemaOf(tool))}.`,
    ]),
  )
}

function renderPrompts(): string {
  const rows = promptCatalogue.map(
    ({ name, access, title, description, arguments: taken = [] }) => {
      const words = taken.map((each) => code(each.name) + (each.required ? '' : ' (optional)'))
      return [
        code(name),
        accessWords(access),
        words.join(', ') || 'none',
        `*${title}* ${description}`,
      ]
    },
  )
  return renderTable(['prompt', 'needs', 'arguments', 'text'], rows)
}

function renderResources(): string {
  const rows = resourceKinds.map((kind) => {
    const { uriTemplate, access, mimeType, description, listedBy } = kind
    return [code(uriTemplate), accessWords(access), mimeType, listedBy ? 'yes' : 'no', description]
  })
  return renderTable(['URI', 'needs', 'type', 'listed', 'content'], rows)
}

function accessWords(access: ToolAccess): string {
  switch (access.kind) {
    case 'public':
      return 'nothing'
    case 'token':
      return 'any token'
    case 'scopes':
      return code(...access.needed)
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
    ...[code(name), typeWords(property), isRequired.has(name) ? 'required' : 'optional'],
    property.description ?? '',
  ])
  return renderTable(['argument', 'type', '', 'meaning'], rows)
}

function typeWords({ type, enum: values, items }: Property): string {
  if (type === 'array' && items) return `list of ${typeWords(items)}`
  return values ? code(...values) : String(type)
}

/** Lists the members of a result; for a page of a list, those of its nodes, because all pages have the same members. */
function answerWords({ type, properties }: JsonSchema): string {
  if (type === 'string') return 'Markdown'
  const members = properties as Record<string, JsonSchema>
  const nodes = members['nodes']
  if (!nodes) return code(...Object.keys(members))
  const { properties: fields } = nodes['items'] as { properties: Record<string, unknown> }
  return `a page (\`nodes\`, \`pageInfo\`, \`totalCount\`) of ${code(...Object.keys(fields))}`
}
