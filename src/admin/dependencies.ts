import type { Application, ApplicationLine } from '../applications/application-lists.ts'
import type { Refusal } from '../applications/application-refusals.ts'
import type { ApplicationSecrets } from '../applications/application-secrets.ts'
import type { ApplicationStore } from '../applications/application-store.ts'
import type { Actor, AuditEntry } from '../audit/audit-log.ts'
import type { GrantLists } from '../grants/grant-lists.ts'
import type { DocumentReviews } from '../metadata-documents/document-review.ts'
import type { ListPages } from '../relying-party/list-pages.ts'
import type { Page, PageRequest } from '../store/keyset.ts'
import type { NewSecrets } from './new-secret.ts'
import type { OperatorPagesDependencies } from './operator-pages.ts'

/** What the pages of an operator read and change. */
export interface AdminDependencies extends OperatorPagesDependencies {
  readonly listPages: ListPages
  readonly discoveryHref: string
  readonly loopbackHosts: readonly string[]
  readonly listSites: (personId: string) => Promise<readonly { slug: string; name: string }[]>
  /** Switches MCP connections of a site, with its line in the audit trail. */
  readonly switchMcpConnections: (siteId: string, on: boolean, actor: Actor) => Promise<void>
  readonly listChanges: (siteId: string, request: PageRequest) => Promise<Page<AuditEntry>>
  readonly findApplication: (siteId: string, clientId: string) => Promise<Application | undefined>
  readonly listApplications: (
    siteId: string,
    request: PageRequest,
  ) => Promise<Page<ApplicationLine>>
  readonly applications: ApplicationStore
  readonly secrets: ApplicationSecrets
  readonly newSecrets: NewSecrets
  readonly connections: Pick<GrantLists, 'listPeople' | 'findPerson' | 'countPeople'>
  readonly listRefusals: (clientId: string) => Promise<readonly Refusal[]>
  /** Undefined where this service accepts no metadata documents. */
  readonly documents: DocumentReviews | undefined
}
