import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'

import { anchorOf, renderTable, renewTables, type Tables } from '../support/markdown.ts'
import { type Library, libraries, pages } from './library-table.ts'
import { productRows } from './products.ts'

const root = join(import.meta.dirname, '../..')

export const documents: readonly string[] = globSync('docs/libraries/*.md', { cwd: root }).sort()

export function readDocument(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

/** Renews the generated parts of a page of docs/libraries: tables, and programs that `npm run test:interop` runs. */
export function renewDocument(text: string): string {
  return renewTables(text, tables).replace(
    /(<!-- example: (\S+) -->)\n```\w*\n[\s\S]*?\n```\n/g,
    (_all, marker: string, file: string) => `${marker}\n${quote(file)}`,
  )
}

/** Returns the rows of the table below a heading, as cells. */
export function rowsBelow(heading: string, file: string): string[][] {
  const [, section = ''] = readDocument(file).split(`\n## ${heading}\n`)
  const [, , ...rows] = section.split('\n## ', 1)[0]?.match(/^\|.*\|$/gm) ?? []
  return rows.map((row) => row.slice(2, -2).split(' | '))
}

/** Returns the paths, below examples/, of the examples that a document quotes. */
export function quotedIn(text: string): string[] {
  return [...text.matchAll(/<!-- example: (\S+) -->/g)].map(([, file = '']) => file)
}

/** Returns the paths, below examples/, of the files that a page shows for a library. */
export function exampleFiles({ family, example, shown }: Library): string[] {
  const program = `${family}/${example}`
  return shown?.map((file) => `${program}/${file}`) ?? [program]
}

const languages: Readonly<Record<string, string>> = {
  ...{ '.mjs': 'js', '.js': 'js', '.ts': 'ts', '.py': 'python', '.go': 'go', '.rs': 'rust' },
  ...{ '.java': 'java', '.yaml': 'yaml', '.json': 'json', '.conf': 'apache' },
}

function quote(file: string): string {
  const program = readFileSync(join(root, 'examples', file), 'utf8')
  return `\`\`\`${languages[extname(file)] ?? ''}\n${program.trimEnd()}\n\`\`\`\n`
}

const tables: Tables = {
  tested: () =>
    renderTable(
      [
        ...['library', 'version', 'client', '`resource` in the token request'],
        'signature of the id_token',
      ],
      libraries.map(({ name, section = name, version, family, ...library }) => [
        `[${name}](${pages[family]}.md#${anchorOf(section)})`,
        version,
        library.authentication === 'none' ? 'public' : `\`${library.authentication}\``,
        library.resource,
        library.idToken === 'none'
          ? 'not verified; relies on TLS'
          : `verified by ${library.idToken}`,
      ]),
    ),
  products: () => renderTable(['product', 'version', 'note', 'tested'], productRows),
}

export function writeLibraries(): void {
  for (const file of documents) writeFileSync(join(root, file), renewDocument(readDocument(file)))
}
