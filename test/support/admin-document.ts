import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { makeAdminSchema } from '../../src/api/admin-api/admin-api.ts'
import { scopesOfField } from '../../src/api/admin-api/published-schema.ts'
import { scopeNames, writeScope } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { type Operator, startOperator } from './admin-api.ts'
import { type RunningService, startService } from './gatehouse.ts'
import { operationsOf } from './schema-walk.ts'

/**
 * docs/admin-api.md: its requests are written by hand, its answers and its tables are not.
 * `npm run docs` writes these again.
 */
export const adminDocument: string = join(import.meta.dirname, '../../docs/admin-api.md')

const block = (language: string) => `\`\`\`${language}\\n([^\`]*)\`\`\`\\n`
const example = new RegExp(
  `(${block('graphql')}(?:\\nVariables:\\n\\n${block('json')})?\\nAnswer:\\n\\n)${block('json')}`,
  'g',
)

/** How many requests a document shows. */
export function countRequests(text: string): number {
  return text.split('```graphql').length - 1
}

/** The document with what the demo campus really answers, and what schema and configuration say. */
export async function renderAdminDocument(text: string, running: RunningService): Promise<string> {
  const operator = await startOperator(running)
  let written = replaceScopes(text)
  // One after the other, because what is made is used further down.
  for (const [whole, before = '', query = '', variables = '{}'] of written.matchAll(example)) {
    const answer = await answerOf(operator, query, variables)
    written = written.replace(whole, () => `${before}\`\`\`json\n${answer}\n\`\`\`\n`)
  }
  return written
}

async function answerOf(operator: Operator, query: string, variables: string): Promise<string> {
  const { body } = await operator.ask(query, JSON.parse(variables))
  // What every answer says of cost and limits would be the same below each of them.
  const { extensions: _, ...shown } = body
  return JSON.stringify(shown, null, 2)
}

function replaceScopes(text: string): string {
  return text.replace(/\| scope \| opens \|\n[\s\S]*?\n\n/, `${scopeTable()}\n\n`)
}

/** Which fields of the root each operator scope opens, and which areas below them. */
function scopeTable(): string {
  const schema = makeAdminSchema()
  const roots = operationsOf(schema)
  const rows = scopeNames('operator').map((scope) => {
    const opened = roots
      .filter(({ field }) => scopesOfField(field).includes(scope))
      .map(({ field }) => `\`${field.name}\``)
    if (scope === writeScope('storage')) opened.unshift(`\`POST ${paths.adminFiles}\``)
    return `| \`${scope}\` | ${opened.join(', ') || 'what the platform serves itself'} |`
  })
  return ['| scope | opens |', '| --- | --- |', ...rows].join('\n')
}

/** Moments, cursors and new ids are others each time. */
export function withoutChance(text: string): string {
  return text
    .replace(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"a moment"')
    .replace(/"((?:start|end)?[cC]ursor)": "[\w-]+"/g, '"$1": "a cursor"')
    .replace(/"(\w{3})_[\w-]{20}"/g, '"$1_new"')
}

export async function writeAdminDocument(): Promise<void> {
  await using running = await startService()
  const text = readFileSync(adminDocument, 'utf8')
  const written = await renderAdminDocument(text, running)
  if (withoutChance(written) !== withoutChance(text)) writeFileSync(adminDocument, written)
}
