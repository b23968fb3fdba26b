import { type Pager, pager } from './area.ts'
import { type Html, type HtmlValue, html } from './html.ts'

export interface Column<Row> {
  readonly heading: HtmlValue
  readonly cell: (row: Row) => HtmlValue
  /** Whether the cells contain numbers, which are aligned at the end. */
  readonly isNumber?: boolean
}

/**
 * Renders rows as a table, or `none` if there are no rows. The first column names each row. On a narrow screen, each
 * row becomes a card that shows the column heading before each cell except the first.
 */
export function table<Row>(
  caption: HtmlValue,
  columns: readonly Column<Row>[],
  rows: readonly Row[],
  { none, paging }: { readonly none?: Html; readonly paging?: Pager } = {},
): Html {
  if (rows.length === 0 && none !== undefined) return none
  const numeric = (isNumber = false) => isNumber && html` class="number"`
  const cellOf = (row: Row) => (column: Column<Row>, index: number) =>
    index === 0
      ? html`<th scope="row">${column.cell(row)}</th>`
      : html`<td data-label="${column.heading}"${numeric(column.isNumber)}>${column.cell(row)}</td>`
  return html`<table class="list">
<caption class="hidden">${caption}</caption>
<thead><tr>${columns.map(({ heading, isNumber }) => html`<th scope="col"${numeric(isNumber)}>${heading}</th>`)}</tr></thead>
<tbody>
${rows.map((row) => html`<tr>${columns.map(cellOf(row))}</tr>\n`)}</tbody>
</table>
${paging && pager(paging)}`
}
