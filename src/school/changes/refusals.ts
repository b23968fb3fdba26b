/** Why a change was refused, for a program to go by. */
export type RefusalCode =
  /** A value that its type allows and its meaning does not; `field` says which. */
  | 'BAD_INPUT'
  /** Nothing with this id is of this site; whether another site has it is not said. */
  | 'NOT_FOUND'
  /** It contradicts what is there: a slug that is taken, the last owner. */
  | 'CONFLICT'
  /** The person does not operate the site any more. */
  | 'FORBIDDEN'
  /** The site has as many as it may have. */
  | 'LIMIT_REACHED'

/** A change that cannot be made, told to whoever asked for it. Nothing was changed. */
export class ChangeRefused extends Error {
  override readonly name = 'ChangeRefused'
  readonly code: RefusalCode
  /** The field of the input that has to be another, as a path: `redirects.0`. */
  readonly field: string | undefined

  constructor(code: RefusalCode, message: string, field?: string) {
    super(message)
    this.code = code
    this.field = field
  }
}

/** The message is a sentence's end after the name of the field. */
export function badInput(field: string, message: string): ChangeRefused {
  return new ChangeRefused('BAD_INPUT', `${field} ${message}`, field)
}

/** A row that has to be there. @throws ChangeRefused when it is not */
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
  return new ChangeRefused('FORBIDDEN', 'you do not operate this site any more')
}
