import { whatExpires } from '../../src/ops/clean-up/clean-up.ts'
import { fillFigures } from './figures.ts'
import { renderTable } from './markdown.ts'
import { retention } from './reference-data.ts'

const introduction = `How long rows stay in each table of the database, and the column by which the clean-up deletes them. It runs every
\`storage.sweepSeconds\` ({storage.sweepSeconds}) in small statements; several processes share the work. Figures are those of the default
configuration. Keys in Redis have a time to live.

A run that deleted rows logs *expired rows were removed* at level \`info\`. *expired rows wait: clean-up does not keep up* is
a \`warn\`: once is a backlog; for hours, the storage is too slow. A SQLite file does not shrink: its free pages are reused,
and \`VACUUM\` releases them while the service is stopped. PostgreSQL needs autovacuum.`

/** Columns are the same however long rows stay. */
const expiring = whatExpires({ tokensLiveSeconds: 0, auditDays: 0 })

/** docs/reference/retention.md, from test/data/retention.txt and the table of the clean-up. */
export function renderRetention(): string {
  const rows = retention.map(([tables = '', stay = '']) => {
    const columns = tables.split(', ').flatMap((name) => {
      const found = expiring.find(({ table }) => table === name)
      return found ? [`\`${found.expiry}\``] : []
    })
    const names = tables.replaceAll(/\w+/g, '`$&`')
    return [names, fillFigures(stay), columns.join(', ') || '–']
  })
  return [fillFigures(introduction), renderTable(['table', 'rows stay', 'deleted by'], rows)].join(
    '\n\n',
  )
}
