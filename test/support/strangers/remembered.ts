/** Memory of a process that grows with the requests of callers, and its bounds. */

import { fetchBounds } from '../../../src/oauth/clients/fetch-governor.ts'
import { REFUSALS_PER_CLIENT } from '../../../src/pages/applications/refused-requests.ts'

export interface Remembered {
  readonly what: string
  readonly file: string
  readonly bound: string
}

/** Everything of that kind that outlives the request. */
export const rememberedInMemory: readonly Remembered[] = [
  {
    what: 'counts of callers, per limit',
    file: 'src/platform/limits/window-counts.ts',
    bound: '20 000 per limit, until the end of the next window; half a mebibyte for all others',
  },
  {
    what: 'counts not yet sent to other processes',
    file: 'src/platform/limits/limits.ts',
    bound: 'those above a sixteenth of their limit',
  },
  {
    what: 'networks of addresses',
    file: 'src/platform/limits/client-network.ts',
    bound: '10 000 addresses of 64 characters',
  },
  {
    what: 'counts of the workers of a host, in their primary',
    file: 'src/platform/store/shared-counts.ts',
    bound: 'one window each (`signIn.failureWindowSeconds`, `limits.windowSeconds`)',
  },
  {
    what: 'overviews of sites',
    file: 'src/school/analytics/overview.ts',
    bound: '200 sites, one minute',
  },
  {
    what: 'documents that failed to load',
    file: 'src/oauth/clients/document-clients.ts',
    bound: '1000, 10 seconds',
  },
  {
    what: 'requests to servers of clients',
    file: 'src/oauth/clients/fetch-governor.ts',
    bound: `${fetchBounds.perMinuteMax} of a minute`,
  },
  {
    what: 'clients in the form of the engine',
    file: 'src/oauth/clients/find-client.ts',
    bound: '1000 existing ones',
  },
  {
    what: 'parsed GraphQL documents of callers with a token',
    file: 'src/api/graphql/documents.ts',
    bound: '`memberApi` and `adminApi`: `cachedDocumentsMax`, `cachedCharactersMax`',
  },
  {
    what: 'scopes of a document',
    file: 'src/api/admin-api/schema-text.ts',
    bound: 'as long as the document, one per operation',
  },
  { what: 'lists of tools by scopes', file: 'src/api/mcp/tool-catalogue.ts', bound: '500' },
  {
    what: 'refusals waiting to be written',
    file: 'src/pages/applications/refused-requests.ts',
    bound: `${REFUSALS_PER_CLIENT} per client of 500, for \`storage.usageFlushSeconds\``,
  },
  {
    what: 'uses of grants waiting to be written',
    file: 'src/oauth/grants/grant-usage.ts',
    bound: '50 000 grants, for `storage.usageFlushSeconds`',
  },
  { what: 'prepared statements of SQLite', file: 'src/platform/store/sqlite.ts', bound: '500' },
  {
    what: 'names of prepared statements of PostgreSQL',
    file: 'src/platform/store/postgres-connections.ts',
    bound: '500',
  },
  {
    what: 'passwords waiting for a thread',
    file: 'src/directory/people/password.ts',
    bound: '`signIn.waitingHashesMax`',
  },
  {
    what: 'running requests and connections',
    file: 'src/platform/process/server.ts',
    bound: '30 seconds for a request, 15 for its headers, 65 for an idle connection',
  },
]
