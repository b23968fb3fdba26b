/** Whether the SQL of a migration only adds to the schema, so that the previous version can run with it. */
export function onlyAdds(sql: string): boolean {
  const own = new Set<string>()
  return split(sql).every((statement) => {
    for (const [form, answer] of forms) {
      const match = form.exec(statement.toLowerCase())
      if (match) return answer(match, own)
    }
    return false
  })
}

/**
 * The known forms of statements; others count as changes. `own` has the tables and columns created in the same file,
 * which nothing uses yet.
 */
const forms: readonly (readonly [
  form: RegExp,
  onlyAdds: (match: readonly string[], own: Set<string>) => boolean,
])[] = [
  [/^create table (?:if not exists )?(\w+)/, ([, table = ''], own) => !!own.add(table)],
  [
    /^create (unique )?index (?:if not exists )?\w+ on (\w+) ?\(([^)]*)/,
    ([, unique, table = '', columns = ''], own) => {
      // The previous version may write values that a unique index rejects, but never into a new column.
      const isOwn = columns.split(/,\s*/).some((column) => own.has(`${table}.${column.trim()}`))
      return unique === undefined || isOwn || own.has(table)
    },
  ],
  [
    /^alter table (\w+) add column (\w+)(.*)$/,
    ([, table = '', column = '', rest = ''], own) => {
      own.add(`${table}.${column}`)
      const demands = /\bnot null\b/.test(rest) && !/\bdefault\b/.test(rest)
      return !demands && !/\b(unique|check|primary)\b/.test(rest)
    },
  ],
  [/^insert into (\w+)/, ([, table = ''], own) => own.has(table)],
  [
    /^update (\w+) set (\w+)/,
    ([, table = '', column = ''], own) => own.has(table) || own.has(`${table}.${column}`),
  ],
  // A trigger only adds, although it may fire on writes of the previous version. `set` changes how rows are stored.
  [/^(?:create trigger \w+ .*? on|alter table(?= \w+ set (?:\(|unlogged))) (\w+)/, () => true],
  [/^create (or replace )?(function|view) /, () => true],
]

/** Splits a file into one-line statements, at semicolons that end a line outside of functions and triggers. */
function split(sql: string): string[] {
  const bare = sql.replaceAll(/--[^\n]*/g, '').replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, "''")
  const statements: string[] = []
  let open = ''
  for (const piece of bare.split(/;[ \t]*(?:\n|$)/)) {
    open = open === '' ? piece : `${open}; ${piece}`
    const line = open.replaceAll(/\s+/g, ' ').trim()
    if (/^create trigger .* begin\b/i.test(line) && !/\bend$/i.test(line)) continue
    if (line !== '') statements.push(line)
    open = ''
  }
  return statements
}
