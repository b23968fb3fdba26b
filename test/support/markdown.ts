type Cell = string | number

export function renderTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  const renderCell = (cell: Cell) => String(cell).replaceAll(/(?<!\\)\|/g, '\\|')
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.map(renderCell).join(' | ')} |`)
    .join('\n')
}

export const page = (...parts: readonly string[]) => parts.join('\n\n')

/** Values as code: "`a`, `b`". */
export const code = (...values: readonly string[]) =>
  values.map((value) => `\`${value}\``).join(', ')

export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}
