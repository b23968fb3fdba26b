/** What grows in the memory of a process by what callers choose, and what bounds each. */

import { fetchBounds } from '../../../src/oauth/clients/fetch-governor.ts'
import { REFUSALS_PER_CLIENT } from '../../../src/pages/applications/client-refusals.ts'

export interface Remembered {
  readonly what: string
  readonly file: string
  readonly bound: string
}

/** Every memory of a process that grows by what callers choose to send, and outlives the request. */
export const rememberedInMemory: readonly Remembered[] = [
  {
    what: 'what callers did, in each of the limits',
    file: 'src/platform/limits/window-counts.ts',
    bound:
      '20 000 of each limit, until the window after theirs has ended; beyond, half a mebibyte for all others',
  },
  {
    what: 'what the other processes were not told of it yet',
    file: 'src/platform/limits/limits.ts',
    bound: 'counts of those above that are beyond a sixteenth of their limit',
  },
  {
    what: 'the networks of addresses',
    file: 'src/platform/limits/client-network.ts',
    bound: '10 000 addresses of 64 characters',
  },
  {
    what: 'what the workers of one host counted together, in their primary',
    file: 'src/platform/store/shared-counts.ts',
    bound: 'one window each (`signIn.failureWindowSeconds`, `limits.windowSeconds`)',
  },
  {
    what: 'the overviews of sites, which operators open',
    file: 'src/school/analytics/overview.ts',
    bound: '200 sites, for a minute',
  },
  {
    what: 'documents that could not be fetched',
    file: 'src/oauth/clients/document-clients.ts',
    bound: '1000, for 10 seconds',
  },
  {
    what: 'requests to servers of clients',
    file: 'src/oauth/clients/fetch-governor.ts',
    bound: `the ${fetchBounds.perMinuteMax} of a minute`,
  },
  {
    what: 'clients, as they are shown to the engine',
    file: 'src/oauth/clients/find-client.ts',
    bound: '1000 that exist',
  },
  {
    what: 'GraphQL documents of callers with a token',
    file: 'src/api/graphql/documents.ts',
    bound: '`memberApi` and `adminApi`: `cachedDocumentsMax`, `cachedCharactersMax`',
  },
  {
    what: 'the scopes that a document needs',
    file: 'src/api/admin-api/published-schema.ts',
    bound: 'as long as the document, once for each of its operations',
  },
  {
    what: 'lists of tools, by the scopes of a token',
    file: 'src/api/mcp/tool-catalogue.ts',
    bound: '500',
  },
  {
    what: 'refusals that wait to be written',
    file: 'src/pages/applications/client-refusals.ts',
    bound: `${REFUSALS_PER_CLIENT} of each of 500 clients, for \`storage.usageFlushSeconds\``,
  },
  {
    what: 'uses of grants that wait to be written',
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
    what: 'passwords that wait for a thread',
    file: 'src/directory/people/password.ts',
    bound: '`signIn.waitingHashesMax`',
  },
  {
    what: 'answers that are under way, and connections',
    file: 'src/platform/process/server.ts',
    bound:
      'a request arrives within 30 seconds, its headers within 15; an idle connection stays 65',
  },
]
