type Cell = string | number

/** A table of Markdown. */
export function renderTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(renderRow).join('\n')
}

function renderRow(cells: readonly Cell[]): string {
  return `| ${cells.map((cell) => String(cell).replaceAll(/(?<!\\)\|/g, '\\|')).join(' | ')} |`
}
