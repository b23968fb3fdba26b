import { type Actor, recordAuditEvent } from '../../platform/audit/audit-log.ts'
import type { Database } from '../../platform/store/database.ts'
import type { Application } from './application-lists.ts'
import { authMethodWith, columnsOf, type FurtherChoices } from './further-choices.ts'

/** Writes down what an operator chose for an application of the further plans, with a line in the audit trail. */
export function makeChoiceStore({ kysely }: Pick<Database, 'kysely'>) {
  return {
    choose: async (app: Application, choices: FurtherChoices, actor: Actor) =>
      await kysely.transaction().execute(async (trx) => {
        const authMethod = authMethodWith(choices, app.authMethod)
        await trx
          .updateTable('oauth_application')
          .set({ ...columnsOf(choices, actor.now), auth_method: authMethod })
          .where('client_id', '=', app.clientId)
          .execute()
        await recordAuditEvent(trx, actor, {
          action: 'application.update',
          subject: { kind: 'application', id: app.clientId },
          siteId: app.siteId,
          before: shownOf(app.authMethod, app.further),
          after: shownOf(authMethod, choices),
        })
      }),
  }
}

/** What the audit trail says; of keys, that they are there. */
function shownOf(authMethod: string, choices: FurtherChoices) {
  return {
    authMethod,
    keys: choices.jwksUri ?? (choices.jwks === undefined ? '' : 'a set'),
    pushesRequests: choices.pushesRequests,
    bindsTokens: choices.bindsTokens,
    logoutUri: choices.logoutUri ?? '',
    logoutSessionRequired: choices.logoutSessionRequired,
  }
}
