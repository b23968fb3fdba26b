/** The machine-readable reason for rejecting a change. */
type RefusalCode =
  /** A value is missing or invalid. `field` names it. */
  | 'BAD_INPUT'
  /** The site has no row with this id. Another site may have one. */
  | 'NOT_FOUND'
  /** The change conflicts with stored data. For example, the slug is taken or no owner would be left. */
  | 'CONFLICT'
  /** The actor is no longer an operator of the site, or the token lacks a scope. */
  | 'FORBIDDEN'
  /** The change would exceed a limit, such as the number of sections of a course. */
  | 'LIMIT_REACHED'
  /** The person must approve the change first, on the page at `address`. */
  | 'APPROVAL_REQUIRED'

type About = Partial<Pick<ChangeRefused, 'field' | 'subject' | 'address'>>

/** The error that rejects a change, with a message for the caller. The transaction is rolled back. */
export class ChangeRefused extends Error {
  override readonly name = 'ChangeRefused'
  readonly code: RefusalCode
  /** The faulty field of the input, as a path such as `roles.0`. Undefined if no single field is at fault. */
  readonly field: string | undefined
  /** The kind of the object that does not exist, such as `course`. */
  readonly subject: string | undefined
  readonly address: string | undefined

  constructor(code: RefusalCode, message: string, { field, subject, address }: About = {}) {
    super(message)
    this.code = code
    this.field = field
    this.subject = subject
    this.address = address
  }
}

/** Creates the error for an invalid field. Its message is the name of the field, followed by `message`. */
export function badInput(field: string, message: string): ChangeRefused {
  return new ChangeRefused('BAD_INPUT', `${field} ${message}`, { field })
}

/** Returns the row. @throws ChangeRefused if it is undefined */
export function mustBeThere<Row>(row: Row | undefined, what: string): Row {
  if (row === undefined) throw notFound(what)
  return row
}

export function notFound(what: string): ChangeRefused {
  return new ChangeRefused('NOT_FOUND', `there is no ${what} with this id`, { subject: what })
}

export function conflict(message: string, field?: string): ChangeRefused {
  return new ChangeRefused('CONFLICT', message, { field })
}

export function limitReached(message: string): ChangeRefused {
  return new ChangeRefused('LIMIT_REACHED', message)
}

/** Creates the error for a change that must be approved on the page at `address`. */
export function approvalRequired(address: string): ChangeRefused {
  const message =
    'nothing was changed: an operator must approve this change first. Ask the operator to approve it at ' +
    `${address} within ten minutes. After the approval, repeat the request with the same arguments`
  return new ChangeRefused('APPROVAL_REQUIRED', message, { address })
}
