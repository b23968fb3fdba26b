/** Why a change was refused, for programs. */
export type RefusalCode =
  /** A value of the right type that is not valid; `field` names it. */
  | 'BAD_INPUT'
  /** The site has no row with this id; another site may. */
  | 'NOT_FOUND'
  /** The change contradicts the data: a slug is taken, the owner is the last one. */
  | 'CONFLICT'
  /** The person no longer operates the site. */
  | 'FORBIDDEN'
  /** The site has reached a limit. */
  | 'LIMIT_REACHED'

/** Refuses a change, with a message for the caller. The transaction changes nothing. */
export class ChangeRefused extends Error {
  override readonly name = 'ChangeRefused'
  readonly code: RefusalCode
  /** The invalid field of the input, as a path: `redirects.0`. */
  readonly field: string | undefined

  constructor(code: RefusalCode, message: string, field?: string) {
    super(message)
    this.code = code
    this.field = field
  }
}

/** @param message the rest of a sentence that starts with the name of the field */
export function badInput(field: string, message: string): ChangeRefused {
  return new ChangeRefused('BAD_INPUT', `${field} ${message}`, field)
}

/** @throws ChangeRefused without a row */
export function mustBeThere<Row>(row: Row | undefined, what: string): Row {
  if (row === undefined) throw notFound(what)
  return row
}

export function notFound(what: string): ChangeRefused {
  return new ChangeRefused('NOT_FOUND', `there is no such ${what}`)
}

export function conflict(message: string, field?: string): ChangeRefused {
  return new ChangeRefused('CONFLICT', message, field)
}

export function limitReached(message: string): ChangeRefused {
  return new ChangeRefused('LIMIT_REACHED', message)
}

export function forbidden(): ChangeRefused {
  return new ChangeRefused('FORBIDDEN', 'you no longer operate this site')
}
