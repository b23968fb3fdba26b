import type { HtmlValue } from '../../../views/html.ts'
import { textIfAny } from '../../../views/text.ts'
import type { Api } from '../../api/api.ts'
import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { OWN_CLIENT_ID } from '../relying-party/sign-in.ts'
import type { Operator } from './operator-pages.ts'

/** The result of running a document: the data, or the reason why the Admin API rejected a change. */
export type Asked<Data> =
  | { readonly data: Data; readonly problem?: undefined }
  | { readonly problem: Problem; readonly data?: undefined }

/** Why a change was rejected, as a sentence, and the input field if a single field caused the rejection. */
export interface Problem {
  readonly field: string | undefined
  readonly text: HtmlValue
}

/**
 * Runs a page's document against the Admin API, as the operator. Changes from pages and from programs therefore have
 * the same checks and audit events.
 *
 * @typeParam Data the shape that the document selects
 */
export async function askAdminApi<Data>(
  executeAdmin: Api['admin']['executeAdmin'],
  operator: Operator,
  document: string,
  variables: Record<string, unknown> = {},
): Promise<Asked<Data>> {
  const { data, errors } = await executeAdmin(document, variables, callerAtPage(operator))
  const [error] = errors ?? []
  if (!error) return { data: data as Data }
  const { argument, code } = error.extensions
  const field = typeof argument === 'string' ? argument : undefined
  return { problem: { field, text: refusalText({ code: String(code), field }) } }
}

/** Returns the page text that explains why a change was refused. `field` is a path such as `roles.0`. */
export function refusalText({ code, field }: { code: string; field: string | undefined }) {
  return textIfAny(`problem.${code}.${field?.split('.', 1)}`) ?? textIfAny(`problem.${code}`)
}

/** Returns the operator as a caller of the Admin API, with every operator scope. */
export function callerAtPage({ actor, site }: Operator) {
  const scopes = scopeNames('operator')
  const client = { clientId: OWN_CLIENT_ID, clientOrigin: 'first_party' }
  return { ...actor, ...client, siteId: site.id, scopes }
}
