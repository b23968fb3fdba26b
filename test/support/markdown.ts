type Cell = string | number

export function renderTable(head: readonly string[], rows: readonly (readonly Cell[])[]): string {
  return [head, head.map(() => '---'), ...rows].map(renderRow).join('\n')
}

function renderRow(cells: readonly Cell[]): string {
  return `| ${cells.map((cell) => String(cell).replaceAll(/(?<!\\)\|/g, '\\|')).join(' | ')} |`
}

export const page = (...parts: readonly string[]) => parts.join('\n\n')

/** Values as code: "`a`, `b`". */
export const code = (...values: readonly string[]) =>
  values.map((value) => `\`${value}\``).join(', ')

/** The anchor of a heading, as viewers of Markdown make it. */
export function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-')
}
