/**
 * How a migration affects processes of the version before, which do not know it: `expand` only adds, so they
 * run and start on the new schema; `contract` removes or narrows what they may rely on.
 */
export type MigrationEffect = 'expand' | 'contract'

export interface StatementEffect {
  /** The start of the statement, to find it in the file. */
  readonly text: string
  readonly effect: MigrationEffect
  /** Which queries of others wait while it runs. */
  readonly waits?: string
}

/** Judges a whole file: it contracts as soon as one of its statements does. */
export function effectOf(sql: string): MigrationEffect {
  return statementsOf(sql).some(({ effect }) => effect === 'contract') ? 'contract' : 'expand'
}

const TEXT_CHARACTERS = 72

/** Judges each statement of a file. A statement that matches no form below counts as contracting. */
export function statementsOf(sql: string): StatementEffect[] {
  const made = new Set<string>()
  const added = new Set<string>()
  return split(sql).map((statement) => {
    const judged = judge(statement, { made, added })
    const text = statement.length <= TEXT_CHARACTERS ? statement : `${statement.slice(0, 71)}…`
    return { text, ...judged }
  })
}

/** What the same file created earlier, which nothing else uses yet. */
interface Own {
  readonly made: Set<string>
  /** As `table.column`. */
  readonly added: Set<string>
}

type Judgement = Omit<StatementEffect, 'text'>

const forms: readonly (readonly [
  form: RegExp,
  judge: (match: RegExpExecArray, own: Own) => Judgement,
])[] = [
  [
    /^create (?:unlogged )?table (?:if not exists )?(\w+)/,
    ([, table = ''], { made }) => {
      made.add(table)
      return { effect: 'expand' }
    },
  ],
  [
    /^create (unique )?index (?:if not exists )?\w+ on (\w+) ?\(([^)]*)/,
    ([, unique, table = '', columns = ''], { made, added }) => {
      if (made.has(table)) return { effect: 'expand' }
      // The version before may write what the index rejects, but never into a new column.
      const own = columns.split(/,\s*/).some((column) => added.has(`${table}.${column.trim()}`))
      const effect = unique === undefined || own ? 'expand' : 'contract'
      return { effect, waits: `writes of ${table}, until the index is built` }
    },
  ],
  [
    /^alter table (\w+) add column (\w+)(.*)$/,
    ([, table = '', column = '', rest = ''], { added }) => {
      added.add(`${table}.${column}`)
      const demands = /\bnot null\b/.test(rest) && !/\bdefault\b/.test(rest)
      const narrows = demands || /\b(unique|check|primary)\b/.test(rest)
      return { effect: narrows ? 'contract' : 'expand', waits: `${table}, for a moment` }
    },
  ],
  [
    /^insert into (\w+)/,
    ([, table = ''], { made }) => ({ effect: made.has(table) ? 'expand' : 'contract' }),
  ],
  [
    /^update (\w+) set (\w+)/,
    ([, table = '', column = ''], { made, added }) => {
      if (made.has(table)) return { effect: 'expand' }
      const effect = added.has(`${table}.${column}`) ? 'expand' : 'contract'
      return { effect, waits: `writes of the rows of ${table} that it changes` }
    },
  ],
  // A trigger also runs in statements of the version before, on purpose; `set (` changes how a table is stored.
  [
    /^(?:create trigger \w+ .*? on|alter table(?= \w+ set \()) (\w+)/,
    ([, table = '']) => ({ effect: 'expand', waits: `${table}, for a moment` }),
  ],
  [/^create (or replace )?(function|view) /, () => ({ effect: 'expand' })],
]

function judge(statement: string, own: Own): Judgement {
  const lower = statement.toLowerCase()
  for (const [form, answer] of forms) {
    const match = form.exec(lower)
    if (match) return answer(match, own)
  }
  const [, table] = /^(?:alter|drop) table (?:if exists )?(\w+)/.exec(lower) ?? []
  return { effect: 'contract', ...(table !== undefined && { waits: table }) }
}

/**
 * Splits a file into statements, each as one line. A semicolon at the end of a line ends one (the rule of our
 * files), but not within the body of a function or of a trigger of SQLite.
 */
function split(sql: string): string[] {
  const bare = sql.replaceAll(/--[^\n]*/g, '').replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
  const statements: string[] = []
  let open = ''
  for (const piece of bare.split(/;[ \t]*(?:\n|$)/)) {
    open = open === '' ? piece : `${open}; ${piece}`
    const line = open.replaceAll(/\s+/g, ' ').trim()
    const inBody = /^create trigger .* begin\b/i.test(line) && !/\bend$/i.test(line)
    if (inBody) continue
    if (line !== '') statements.push(line)
    open = ''
  }
  return statements
}
