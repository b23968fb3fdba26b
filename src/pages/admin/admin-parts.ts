import type { Api, Discovery } from '../../api/api.ts'
import { type Assistant, schemesOf } from '../../config/assistant-table.ts'
import type { ServicePolicy } from '../../config/config.ts'
import { makeDocumentReviews } from '../../oauth/clients/document-review.ts'
import { offersProtocols } from '../../oauth/clients/optional-protocols.ts'
import { makeGrantLists } from '../../oauth/grants/grant-lists.ts'
import type { Oauth } from '../../oauth/oauth.ts'
import { makeKeptValues, type Seals } from '../../platform/http/kept-values.ts'
import { pages } from '../../platform/http/paths.ts'
import type { WebhookEndpoints } from '../../school/webhooks/webhook-endpoints.ts'
import { makeApplicationSecrets } from '../applications/application-secrets.ts'
import { makeApplicationStore } from '../applications/application-store.ts'
import type { RefusedRequests } from '../applications/refused-requests.ts'
import type { OwnPages } from '../relying-party/signed-in-pages.ts'

export interface AdminPorts {
  readonly service: Pick<ServicePolicy, 'loopbackHosts' | 'furtherPlans'>
  readonly assistants: readonly Assistant[]
  readonly seals: Seals
  readonly refusals: RefusedRequests
  readonly api: Pick<Api, 'admin' | 'member'>
  readonly discovery: Pick<Discovery, 'scopesOf'>
  readonly webhooks: WebhookEndpoints
  /** `acceptsDocuments`: whether the service accepts metadata documents. If so, operators review them. */
  readonly oauth: Pick<Oauth, 'acceptsDocuments' | 'keepConfiguredDocument' | 'findClientName'>
}

export type AdminParts = ReturnType<typeof makeAdminParts>

const NEW_SECRET_SECONDS = 120

export function makeAdminParts(ownPages: OwnPages, ports: AdminPorts) {
  const { database, now } = ownPages
  const { service, seals, oauth, ...others } = ports
  const { loopbackHosts, furtherPlans } = service
  const admin = () => pages.admin
  const sealed = { seals, now }
  return {
    ...ownPages,
    ...others,
    furtherPlans,
    offersChoices: offersProtocols(furtherPlans),
    redirectRules: { loopbackHosts, appSchemes: schemesOf(ports.assistants) },
    applications: makeApplicationStore(database),
    secrets: makeApplicationSecrets(database),
    /** Passes a new secret from the form to the page that shows it once. In between, it is in a sealed cookie. */
    newSecrets: makeKeptValues<string>('gatehouse_new_secret', NEW_SECRET_SECONDS, sealed, admin),
    grantLists: makeGrantLists(database, now),
    reviews: oauth.acceptsDocuments ? makeDocumentReviews(database) : undefined,
    keepConfiguredDocument: oauth.keepConfiguredDocument,
    findClientName: oauth.findClientName,
  }
}
