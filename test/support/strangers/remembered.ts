/** Memory of a process that grows with the requests of callers and outlives them, and its bounds. */

import { fetchBounds } from '../../../src/oauth/clients/fetch-governor.ts'
import { REFUSALS_PER_CLIENT } from '../../../src/pages/applications/refused-requests.ts'

const rows: readonly (readonly [file: string, what: string, bound: string])[] = [
  [
    'platform/limits/window-counts.ts',
    'counts of callers, per limit',
    '20 000 per limit, until the end of the next window; half a mebibyte for all others',
  ],
  [
    'platform/limits/limits.ts',
    'counts not yet sent to other processes',
    'those above a sixteenth of their limit',
  ],
  [
    'platform/limits/client-network.ts',
    'networks of addresses',
    '10 000 addresses of 64 characters',
  ],
  [
    'platform/store/shared-counts.ts',
    'counts of the workers of a host, in their primary',
    'one window each (`signIn.failureWindowSeconds`, `limits.windowSeconds`)',
  ],
  ['school/analytics/overview.ts', 'overviews of sites', '200 sites, one minute'],
  ['oauth/clients/document-clients.ts', 'documents that failed to load', '1000, 10 seconds'],
  [
    'oauth/clients/fetch-governor.ts',
    'requests to servers of clients',
    `${fetchBounds.perMinuteMax} of a minute`,
  ],
  ['oauth/clients/find-client.ts', 'clients in the form of the engine', '1000 existing ones'],
  [
    'api/graphql/documents.ts',
    'parsed GraphQL documents of callers with a token',
    '`memberApi` and `adminApi`: `cachedDocumentsMax`, `cachedCharactersMax`',
  ],
  [
    'api/admin-api/schema-text.ts',
    'scopes of a document',
    'as long as the document, one per operation',
  ],
  ['api/mcp/tool-catalogue.ts', 'lists of tools by scopes', '500'],
  [
    'pages/applications/refused-requests.ts',
    'refusals waiting to be written',
    `${REFUSALS_PER_CLIENT} per client of 500, for \`storage.usageFlushSeconds\``,
  ],
  [
    'oauth/grants/grant-usage.ts',
    'uses of grants waiting to be written',
    '50 000 grants, for `storage.usageFlushSeconds`',
  ],
  ['platform/store/sqlite.ts', 'prepared statements of SQLite', '500'],
  ['platform/store/postgres-connections.ts', 'names of prepared statements of PostgreSQL', '500'],
  ['directory/people/password.ts', 'passwords waiting for a thread', '`signIn.waitingHashesMax`'],
  [
    'platform/process/server.ts',
    'running requests and connections',
    '30 seconds for a request, 15 for its headers, 65 for an idle connection',
  ],
]

export const rememberedInMemory = rows.map(([file, what, bound]) => ({
  ...{ file: `src/${file}`, what, bound },
}))
