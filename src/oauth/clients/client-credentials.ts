import { decodeJwt } from 'jose'

import { parameterOf, repetitionIn } from '../../platform/http/request-body.ts'

/** What a request says of its client, before anything is compared (RFC 6749 §2.3 and §3.2.1). */
export type ClientCredentials =
  | {
      readonly clientId: string
      /** Undefined for a client that names itself and no more, as a public one does. */
      readonly secret: string | undefined
      /** A statement that the client signed (RFC 7523 §2.2). */
      readonly assertion?: string | undefined
    }
  /** In words that may be logged: none of them is a value that was sent. */
  | { readonly problem: string }

/** Some libraries send the secret both ways, and some do at a refresh only. */
export const SEVERAL_MECHANISMS =
  'client authentication must only be provided using one mechanism: send the client_secret in the form ' +
  'or by HTTP Basic, and not both'
const ASSERTION_TYPE = 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer'

/** RFC 7523 §2.2: the assertion names the client, and `client_id` beside it may only say the same. */
function readAssertion(
  form: URLSearchParams,
  authorization: readonly string[],
  assertion: string,
): ClientCredentials {
  if (authorization.length > 0 || parameterOf(form, 'client_secret') !== undefined) {
    return { problem: SEVERAL_MECHANISMS }
  }
  if (parameterOf(form, 'client_assertion_type') !== ASSERTION_TYPE) {
    return { problem: 'client_assertion_type must be that of RFC 7523' }
  }
  const clientId = subjectOf(assertion)
  const named = parameterOf(form, 'client_id') ?? clientId
  if (clientId === undefined) return { problem: 'the client_assertion is no JWT with a subject' }
  if (named !== clientId) return { problem: 'client_id mismatch' }
  return { clientId, secret: undefined, assertion }
}

function subjectOf(assertion: string): string | undefined {
  try {
    // Nobody has verified it yet, so that it may be anything.
    const { sub }: { readonly sub?: unknown } = decodeJwt(assertion)
    return typeof sub === 'string' ? sub : undefined
  } catch {
    return undefined
  }
}

/** Some libraries send the client_id alone, and some a token. */
export const MALFORMED_HEADER =
  'invalid authorization header value format: here it is Basic and the base64 of client_id:client_secret; ' +
  'a public client sends client_id in the form and no such header'

/**
 * Reads who calls: `client_id` and `client_secret` of the form, or HTTP Basic. Both at once is one
 * mechanism too many. Pure, so that it serves every endpoint which a client authenticates at.
 *
 * @param authorization the Authorization headers; a request may illegally carry several
 */
export function readClientCredentials(
  form: URLSearchParams,
  authorization: readonly string[],
): ClientCredentials {
  const repetition = repetitionIn(form, ['client_id', 'client_secret', 'client_assertion'])
  if (repetition !== undefined) return { problem: repetition }
  const assertion = parameterOf(form, 'client_assertion')
  if (assertion !== undefined) return readAssertion(form, authorization, assertion)
  const clientId = parameterOf(form, 'client_id')
  const secret = parameterOf(form, 'client_secret')
  const header = authorization.join(',')
  if (header === '') return clientId === undefined ? nobody : { clientId, secret }
  if (secret !== undefined) {
    return { problem: SEVERAL_MECHANISMS }
  }
  const basic = readBasic(header)
  if ('problem' in basic || clientId === undefined || clientId === basic.clientId) return basic
  return { problem: 'client_id mismatch' }
}

/** What some libraries do by default for a client without a secret. */
export const BASIC_WITHOUT_SECRET =
  'the Authorization header has no secret: a public client sends client_id in the form and no such ' +
  'header, a confidential one its client_secret'

const nobody = { problem: 'no client authentication mechanism provided' }

/** RFC 6749 §2.3.1: both halves are encoded as in a form, before they become Basic credentials. */
function readBasic(header: string): ClientCredentials {
  const [, encoded = ''] = /^basic ([A-Za-z0-9+/]+={0,2})$/i.exec(header) ?? []
  const [, id, secret] = /^([^:]*):(.*)$/s.exec(Buffer.from(encoded, 'base64').toString()) ?? []
  if (id === undefined || secret === undefined) return { problem: MALFORMED_HEADER }
  const [clientId, decoded] = [formDecoded(id), formDecoded(secret)]
  if (clientId === undefined || decoded === undefined) {
    return {
      problem: 'client_id and client_secret in the authorization header are not properly encoded',
    }
  }
  if (clientId === '') return nobody
  return decoded === '' ? { problem: BASIC_WITHOUT_SECRET } : { clientId, secret: decoded }
}

/** RFC 6749 appendix A: an id and a secret are of visible characters and spaces. */
function formDecoded(value: string): string | undefined {
  try {
    const decoded = decodeURIComponent(value.replaceAll('+', '%20'))
    return /^[\x20-\x7e]*$/.test(decoded) ? decoded : undefined
  } catch {
    return undefined
  }
}
