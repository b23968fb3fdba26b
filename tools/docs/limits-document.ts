import { PAGE_SIZE_DEFAULT, PAGE_SIZE_MAX } from '../../src/api/graphql/schema-text.ts'
import { ANSWER_LENGTH_MAX } from '../../src/api/mcp/call-tool.ts'
import { type LimitName, limitsInForce, limitTable } from '../../src/platform/limits/limit-table.ts'
import { defaultsInForce, fillFigures, renderNumber } from '../../test/support/figures.ts'
import { code, renderTable, type Tables } from '../../test/support/markdown.ts'
import { limitRows, requestLimitRows } from '../../test/support/reference-data.ts'

function renderLimits(): string {
  const inForce = limitsInForce(defaultsInForce().service)
  const explained = new Map(requestLimitRows.map(([name = '', ...words]) => [name, words]))
  const rows = Object.entries(limitTable).map(([name, { by, setting }]) => {
    const { max, windowSeconds } = inForce[name as LimitName]
    const number = `${renderNumber(max)} in ${windowSeconds} s`
    return [code(name), by, ...(explained.get(name) ?? []), number, code(setting)]
  })
  const isComplete = Object.keys(limitTable).every((name) => explained.delete(name))
  if (!isComplete || explained.size > 0) {
    throw new Error('test/data/limits.txt must explain each request limit, and no other')
  }
  return renderTable(['limit', 'per', 'where', 'what counts as one', 'maximum', 'setting'], rows)
}

function renderSizes(): string {
  const pageSizes = `${PAGE_SIZE_MAX}, ${PAGE_SIZE_DEFAULT} by default`
  const rows = [
    ...limitRows.map((row) => row.map(fillFigures)),
    ['Elements of a page (`first`) in GraphQL and tools', pageSizes, 'code'],
    ['Result of a tool', `${renderNumber(ANSWER_LENGTH_MAX)} characters`, 'code'],
  ]
  return renderTable(['what', 'limit', 'setting'], rows)
}

/** Tables of docs/reference, generated from the table of limits, test/data/limits.txt and config/service.json. */
export const limitTables: Tables = { limits: renderLimits, sizes: renderSizes }
