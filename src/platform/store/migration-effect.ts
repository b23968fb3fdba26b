/**
 * What a migration does to those who are at work meanwhile: a process of the version before, which does
 * not know it, and everybody who waits for a table that it locks.
 */

/**
 * `expand` only adds, so that a process that knows nothing of it may run beside it and start on it;
 * `contract` takes away or narrows what such a process may rely on.
 */
export type MigrationEffect = 'expand' | 'contract'

/** One statement of a file. */
export interface StatementEffect {
  /** Its first words, as somebody would look for it in the file. */
  readonly text: string
  readonly effect: MigrationEffect
  /** What others wait for while it runs; absent where nobody does. */
  readonly waits?: string
}

/** Judges a whole file: it contracts as soon as one of its statements does. */
export function effectOf(sql: string): MigrationEffect {
  return statementsOf(sql).some(({ effect }) => effect === 'contract') ? 'contract' : 'expand'
}

const TEXT_CHARACTERS = 72

/** Judges each statement of a file. What is in no form below counts as contracting. */
export function statementsOf(sql: string): StatementEffect[] {
  const made = new Set<string>()
  const added = new Set<string>()
  return split(sql).map((statement) => {
    const judged = judge(statement, { made, added })
    const text = statement.length <= TEXT_CHARACTERS ? statement : `${statement.slice(0, 71)}…`
    return { text, ...judged }
  })
}

/** What the file itself made before the statement: nobody else uses it yet. */
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
      // Whoever does not know of it may write what it refuses, but never into a column that is new.
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
  // It runs in the statements of those who do not know it, which is what it is for.
  [
    /^create trigger \w+ .*? on (\w+)/,
    ([, table = '']) => ({ effect: 'expand', waits: `${table}, for a moment` }),
  ],
  // How a table is stored, and not what is in it.
  [
    /^alter table (\w+) set \(/,
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
 * The statements of a file, each as one line. A semicolon ends one at the end of a line (the rule of our
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
