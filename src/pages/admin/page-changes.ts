import type { HtmlValue } from '../../../views/html.ts'
import { textIfAny } from '../../../views/text.ts'
import { scopeNames } from '../../directory/scopes/catalogue.ts'
import { ChangeRefused } from '../../school/changes/refusals.ts'
import { OWN_CLIENT_ID } from '../relying-party/sign-in.ts'
import type { Operator } from './operator-pages.ts'

/** Why a change was refused, as a sentence, and the input field if a single field caused the refusal. */
export interface Problem {
  readonly field: string | undefined
  readonly text: HtmlValue
}

/** Runs a change. Returns why it was refused; undefined if it was not. */
export async function tryChange(change: () => Promise<unknown>): Promise<Problem | undefined> {
  try {
    await change()
    return undefined
  } catch (error) {
    if (!(error instanceof ChangeRefused)) throw error
    return { field: error.field?.split('.', 1)[0], text: refusalText(error) }
  }
}

/** Returns the page text that explains why a change was refused. `field` is a path such as `roles.0`. */
export function refusalText({ code, field }: Pick<ChangeRefused, 'code' | 'field'>) {
  return textIfAny(`problem.${code}.${field?.split('.', 1)}`) ?? textIfAny(`problem.${code}`)
}

/** Returns the operator as the actor of changes, and as a caller of the Admin API with every operator scope. */
export function callerAtPage({ actor, site }: Operator) {
  const scopes = scopeNames('operator')
  const client = { clientId: OWN_CLIENT_ID, clientOrigin: 'first_party' }
  return {
    ...{ ...actor, ...client, siteId: site.id, scopes },
    get now() {
      return actor.now
    },
  }
}
