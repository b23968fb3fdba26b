/**
 * Whether an error that a store raised says that the store is out of reach. Everything else is a mistake
 * of ours, which no second try of a client would mend: a statement that is no SQL, a value of the wrong
 * type, a row that contradicts another. What no table here knows counts as a failure, because a client
 * that comes back harms nobody.
 */
export function isStoreFailure(error: unknown): boolean {
  if (mistakesInCode.some((mistake) => error instanceof mistake)) return false
  const { name, code, message } = (error ?? {}) as Record<'name' | 'code' | 'message', unknown>
  if (name === 'ReplyError') return !redisMistake.test(String(message))
  if (typeof code !== 'string') return true
  if (/^no such table/.test(String(message))) return true
  if (code.startsWith('SQLITE_')) return !sqliteMistake.test(code)
  return !(isSqlState(code) && sqlMistake.test(code))
}

/** What the language itself raises; `Error` is what drivers raise when a connection breaks. */
const mistakesInCode = [TypeError, RangeError, ReferenceError, SyntaxError]

/**
 * The result codes of SQLite that speak of the statement and not of the file (sqlite.org/rescode.html).
 * Of the file speak, among others, BUSY, LOCKED, IOERR, FULL, CANTOPEN, CORRUPT and READONLY. The
 * triggers of the schema count and never say no; one that does was put there by who runs the service.
 */
const sqliteMistake = /^SQLITE_(ERROR|CONSTRAINT(?!_TRIGGER)|MISMATCH|MISUSE|RANGE|TOOBIG)(_|$)/

/**
 * The classes of SQLSTATE that speak of the statement (PostgreSQL, Appendix A): cardinality, data, integrity
 * constraint, cursor, a statement after one that failed, syntax or access rule. Not 42501 and 42P01, which
 * are matters of the deployment: a right, and a table that is away, as while a backup is restored. Of the server speak 08, 28, 3D, 40, 53, 55, 57, 58 and XX, and a
 * trigger has P0.
 */
const sqlMistake = /^(21|22|23|24|34|25P02|42(?!501|P01))/

function isSqlState(code: string): boolean {
  return /^[0-9A-Z]{5}$/.test(code)
}

/** What a server of Redis says of a command; LOADING, READONLY, CLUSTERDOWN and OOM are its own state. */
const redisMistake =
  /^(WRONGTYPE|CROSSSLOT|ERR (unknown command|wrong number|syntax error|value is not))/
