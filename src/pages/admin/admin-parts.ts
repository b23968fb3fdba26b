import type { Api, Discovery } from '../../api/api.ts'
import { type Assistant, schemesOf } from '../../config/assistant-table.ts'
import { makeDocumentReviews } from '../../oauth/clients/document-review.ts'
import { type OptionalProtocols, offersProtocols } from '../../oauth/clients/optional-protocols.ts'
import { makeGrantLists } from '../../oauth/grants/grant-lists.ts'
import type { Oauth } from '../../oauth/oauth.ts'
import type { Seals } from '../../platform/http/kept-values.ts'
import type { WebhookEndpoints } from '../../school/webhooks/webhook-endpoints.ts'
import { makeApplicationSecrets, makeNewSecrets } from '../applications/application-secrets.ts'
import { makeApplicationStore } from '../applications/application-store.ts'
import type { RefusedRequests } from '../applications/refused-requests.ts'
import type { OwnPages } from '../relying-party/signed-in-pages.ts'

/** The settings that limit the choices of operators. */
export interface AdminPolicy {
  readonly loopbackHosts: readonly string[]
  readonly assistants: readonly Assistant[]
  readonly furtherPlans: OptionalProtocols
}

export interface AdminPorts {
  readonly seals: Seals
  readonly refusals: RefusedRequests
  readonly api: Pick<Api, 'admin' | 'member'>
  readonly discovery: Pick<Discovery, 'scopesOf'>
  readonly webhooks: WebhookEndpoints
  /** `acceptsDocuments`: whether the service accepts metadata documents. If so, operators review them. */
  readonly oauth: Pick<Oauth, 'acceptsDocuments' | 'keepConfiguredDocument' | 'findClientName'>
}

export type AdminParts = ReturnType<typeof makeAdminParts>

export function makeAdminParts(ownPages: OwnPages, policy: AdminPolicy, ports: AdminPorts) {
  const { database, now } = ownPages
  const { loopbackHosts, assistants, furtherPlans } = policy
  const { seals, oauth, ...others } = ports
  return {
    ...ownPages,
    ...others,
    assistants,
    furtherPlans,
    offersChoices: offersProtocols(furtherPlans),
    redirectRules: { loopbackHosts, appSchemes: schemesOf(assistants) },
    applications: makeApplicationStore(database),
    secrets: makeApplicationSecrets(database),
    newSecrets: makeNewSecrets({ seals, now }),
    grantLists: makeGrantLists(database, now),
    reviews: oauth.acceptsDocuments ? makeDocumentReviews(database) : undefined,
    keepConfiguredDocument: oauth.keepConfiguredDocument,
    findClientName: oauth.findClientName,
  }
}
