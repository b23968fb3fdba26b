import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { renderClients } from '../../test/agents/client-table.ts'
import { writeLibraries } from '../../test/interop/libraries-document.ts'
import { readAnnotations } from '../../test/support/annotations.ts'
import { renewTables, type Tables } from '../../test/support/markdown.ts'
import { renderOperations, writeApiDocuments } from './api-documents.ts'
import { codeTables } from './code-documents.ts'
import { dataTables } from './data-documents.ts'
import { renderAsyncApi } from './events-document.ts'
import { hostileTables } from './hostile-document.ts'
import { limitTables } from './limits-document.ts'
import { recordTables } from './records-document.ts'
import { renderExampleEnv, settingTables } from './settings-document.ts'
import { strangerTables } from './strangers-document.ts'
import { toolTables } from './tools-document.ts'

const root = join(import.meta.dirname, '../..')

/** Returns all tables of docs/reference. */
export function referenceTables(): Tables {
  const annotations = readAnnotations()
  return {
    ...{ ...codeTables, ...dataTables(annotations), ...hostileTables(annotations) },
    ...{ ...limitTables, ...settingTables, ...toolTables, ...recordTables, ...strangerTables },
    ...{ 'mcp-clients': renderClients, operations: renderOperations },
  }
}

/** Returns the pages of docs/reference with regenerated tables. `npm run docs` writes them. */
export function renewReference(tables: Tables) {
  return globSync('docs/reference/*.md', { cwd: root }).map((path) => ({
    path,
    text: renewTables(readFileSync(join(root, path), 'utf8'), tables),
  }))
}

if (import.meta.main) {
  writeFileSync(join(root, 'config/example.env'), renderExampleEnv())
  for (const { path, text } of renewReference(referenceTables())) {
    writeFileSync(join(root, path), text)
  }
  writeFileSync(join(root, 'docs/reference/asyncapi.json'), renderAsyncApi())
  writeLibraries()
  await writeApiDocuments()
}
