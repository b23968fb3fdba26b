import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { makeAdminSchema } from '../../src/api/admin-api/admin-api.ts'
import { scopesOfField } from '../../src/api/admin-api/field-scopes.ts'
import { scopeNames, writeScope } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { startOperator } from '../../test/support/admin-api.ts'
import { startService } from '../../test/support/gatehouse.ts'
import { code, renderTable } from '../../test/support/markdown.ts'
import { askMember, memberToken } from '../../test/support/member-api.ts'
import { operationsOf } from '../../test/support/schema-walk.ts'

const block = (language: string) => `\`\`\`${language}\\n([^\`]*)\`\`\`\\n`
const example = new RegExp(
  `(${block('graphql')}(?:\\nVariables:\\n\\n${block('json')})?\\nResponse:\\n\\n)${block('json')}`,
  'g',
)

const documents = { member: 'docs/member-api.md', admin: 'docs/admin-api.md' }

const fileOf = (api: keyof typeof documents) => join(import.meta.dirname, '../..', documents[api])

export function readApiDocument(api: keyof typeof documents) {
  const text = readFileSync(fileOf(api), 'utf8')
  return { text, requests: [...text.matchAll(example)].map(([, , query = '']) => query) }
}

export async function renderApiDocument(api: keyof typeof documents): Promise<string> {
  await using running = await startService()
  const { url } = running
  const operator = await startOperator(running)
  const member = { url, token: await memberToken(url) }
  const ask = async (query: string, variables: Record<string, unknown>) =>
    api === 'admin'
      ? await operator.ask(query, variables)
      : await askMember(member, { query, variables })
  let written = readApiDocument(api).text
  // Send the requests in order, because later ones use objects that earlier ones created.
  for (const [whole, before = '', query = '', variables = '{}'] of written.matchAll(example)) {
    const { body } = await ask(query, JSON.parse(variables))
    const { extensions: _, ...shown } = body
    const answer = JSON.stringify(shown, null, 2)
    written = written.replace(whole, () => `${before}\`\`\`json\n${answer}\n\`\`\`\n`)
  }
  return written
}

/** Renders the operations of the Admin API to which each operator scope gives access. */
export function renderOperations(): string {
  const roots = operationsOf(makeAdminSchema())
  const rows = scopeNames('operator').map((scope) => {
    const opened = roots
      .filter(({ field }) => scopesOfField(field).includes(scope))
      .map(({ field }) => field.name)
    if (scope === writeScope('storage')) opened.unshift(`POST ${paths.adminFiles}`)
    return [code(scope), code(...opened) || "the platform's own API"]
  })
  return renderTable(['scope', 'gives access to'], rows)
}

/** Masks times, cursors, new ids and signed URLs. */
export function withoutChance(text: string): string {
  return text
    .replace(/"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"/g, '"a moment"')
    .replace(/"[^"]*\/files\/[\w-]+\//g, '"{base_url}/files/signed/')
    .replace(/"((?:start|end)?[cC]ursor)": "[\w-]+"/g, '"$1": "a cursor"')
    .replace(/"(\w{3})_[\w-]{20}"/g, '"$1_new"')
}

export async function writeApiDocuments(): Promise<void> {
  for (const api of ['member', 'admin'] as const) {
    const { text } = readApiDocument(api)
    const written = await renderApiDocument(api)
    if (withoutChance(written) !== withoutChance(text)) writeFileSync(fileOf(api), written)
  }
}
