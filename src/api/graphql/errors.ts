import { GraphQLError } from 'graphql'

/**
 * The errors that a caller of the Member API is meant to read, each with a code in `extensions`.
 * Everything else that a resolver throws is a fault, and leaves as an error id only.
 */

/** An argument has a value that its type allows and its meaning does not. */
export function badArgument(argument: string, message: string): GraphQLError {
  return new GraphQLError(message, { extensions: { code: 'BAD_ARGUMENT', argument } })
}

/** Nothing with this id belongs to the caller; whether it belongs to another is not said. */
export function notFound(what: string): GraphQLError {
  return new GraphQLError(`there is no such ${what}`, { extensions: { code: 'NOT_FOUND' } })
}

/** What is said of a fault: the id under which the log has its cause. */
export function internalError(errorId: string, { path }: GraphQLError): GraphQLError {
  return new GraphQLError(`internal error, error id ${errorId}`, {
    path: path ?? null,
    extensions: { code: 'INTERNAL', errorId },
  })
}
