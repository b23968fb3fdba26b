type Cell = string | number

export function renderTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const renderCell = (cell: Cell) =>
    String(cell)
      .replaceAll(/(?<!\\)\|/g, '\\|')
      .replaceAll(/\s*\n\s*/g, ' ')
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map(renderCell).join(' | ')} |`)
    .join('\n')
}

/** Renderers of the generated parts of documents, by the name in their marker. */
export type Tables = Readonly<Record<string, () => string>>

/** Lists the names of the tables in a document. A table extends from `<!-- table: name -->` to `<!-- end -->`. */
export function tablesIn(text: string): string[] {
  return [...text.matchAll(marked)].map(([, name = '']) => name)
}

/** Returns the document with its tables regenerated. */
export function renewTables(text: string, tables: Tables): string {
  return text.replace(marked, (_all, name: string) => {
    const render = tables[name]
    if (!render) throw new Error(`there is no renderer for the table ${name}`)
    return `<!-- table: ${name} -->\n${render()}\n<!-- end -->`
  })
}

const marked = /<!-- table: ([\w-]+) -->\n[\s\S]*?<!-- end -->/g

export const page = (...parts: readonly string[]) => parts.join('\n\n')

/** Formats values as code: "`a`, `b`". */
export const code = (...values: readonly string[]) =>
  values.map((value) => `\`${value}\``).join(', ')

export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}
