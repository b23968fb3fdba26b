/** The machine-readable reason for rejecting a change. */
export type RefusalCode =
  /** A value has the right type but is invalid. `field` names the value. */
  | 'BAD_INPUT'
  /** The site has no row with this id, although another site may have one. */
  | 'NOT_FOUND'
  /** The change conflicts with the data. For example, the slug is taken or no owner would be left. */
  | 'CONFLICT'
  /** The person is no longer an operator of the site. */
  | 'FORBIDDEN'
  /** The site has reached a limit. */
  | 'LIMIT_REACHED'

/** The error that rejects a change, with a message for the caller. The transaction is rolled back. */
export class ChangeRefused extends Error {
  override readonly name = 'ChangeRefused'
  readonly code: RefusalCode
  /** The invalid field of the input, as a path such as `redirects.0`. */
  readonly field: string | undefined

  constructor(code: RefusalCode, message: string, field?: string) {
    super(message)
    this.code = code
    this.field = field
  }
}

/**
 * Creates the error for an invalid field. @param message continues a sentence that starts with the name of the field
 */
export function badInput(field: string, message: string): ChangeRefused {
  return new ChangeRefused('BAD_INPUT', `${field} ${message}`, field)
}

/** Returns the row. @throws ChangeRefused if it is undefined */
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
  return new ChangeRefused('FORBIDDEN', 'you are no longer an operator of this site')
}
