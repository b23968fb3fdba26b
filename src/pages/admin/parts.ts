import type { QueryPorts } from '../../api/graphql/query-page.ts'
import { type Assistant, schemesOf } from '../../config/assistant-table.ts'
import { makeDocumentReviews } from '../../oauth/clients/document-review.ts'
import { type FurtherPlans, hasFurtherPlan } from '../../oauth/clients/further-plans.ts'
import { makeGrantLists } from '../../oauth/grants/grant-lists.ts'
import type { Stores } from '../../platform/store/open-stores.ts'
import { makeApplicationSecrets, makeNewSecrets } from '../applications/application-secrets.ts'
import { makeApplicationStore } from '../applications/application-store.ts'
import type { ClientRefusals } from '../applications/client-refusals.ts'
import type { Seals } from '../relying-party/sign-in.ts'
import type { OwnPages } from '../relying-party/signed-in-pages.ts'

/** The caller of a query that is tried, as the Admin API knows it. */
type QueryCaller = Readonly<Record<'personId' | 'requestId' | 'siteId' | 'clientId', string>> & {
  readonly address?: string | undefined
}

/** What the administration needs besides. */
export interface AdminPorts extends QueryPorts<QueryCaller>, Pick<Stores, 'state'> {
  readonly seals: Seals
  readonly refusals: Pick<ClientRefusals, 'list'>
  /** Whether this service accepts metadata documents, which operators then review. */
  readonly acceptsDocuments: boolean
  readonly loopbackHosts: readonly string[]
  readonly assistants: readonly Assistant[]
  /** The scopes that the metadata document of a protected resource names. */
  readonly discovery: { scopesOf(resource: 'mcpAdmin'): readonly string[] }
  readonly furtherPlans: FurtherPlans
}

/** What the pages of an operator read and change. */
export type AdminParts = ReturnType<typeof makeAdminParts>

export function makeAdminParts(ownPages: OwnPages, ports: AdminPorts) {
  const { database, now } = ownPages
  const { state, seals, acceptsDocuments, loopbackHosts, assistants } = ports
  return {
    ...ownPages,
    ...ports,
    redirectRules: { loopbackHosts, appSchemes: schemesOf(assistants) },
    applications: makeApplicationStore(database),
    /** Whether an operator can choose anything of the further plans. */
    offersChoices: hasFurtherPlan(ports.furtherPlans),
    secrets: makeApplicationSecrets(database),
    newSecrets: makeNewSecrets(state.adapterFor('NewSecret'), seals),
    grantLists: makeGrantLists(database, now),
    reviews: acceptsDocuments ? makeDocumentReviews(database) : undefined,
  }
}
