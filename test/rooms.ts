/**
 * The rooms of `src`, lowest first: which rooms each one imports, its folders, and the files of each folder that
 * other rooms import. `test/tidy.test.ts` compares this table with the imports, in both directions.
 */
export interface Room {
  readonly mayImport: readonly string[]
  /** Folder → its public files. `.` is the room itself. */
  readonly folders: Readonly<Record<string, readonly string[]>>
}

/** Pairs of folders of which one imports the other. 318 before the rooms (docs/decisions/0011-rooms-with-folders.md). */
export const FOLDER_PAIRS_MAX = 249

/** Lines of `src`, blank lines, comments, SQL and GraphQL included. */
export const SRC_LINES_MAX = 43_480

/** Lines of the composition root, and of all composition with it and main.ts. */
export const COMPOSE_LINES_MAX = 200
export const COMPOSITION_LINES_MAX = 600

// The table begins.
export const rooms: Readonly<Record<string, Room>> = {
  platform: {
    mayImport: ['views'],
    folders: {
      '.': ['platform.ts'],
      audit: [
        'audit-actions.ts',
        'audit-list.ts',
        'audit-stream.ts',
        'event-rows.ts',
        'record-audit-event.ts',
        'shown-address.ts',
      ],
      http: [
        'client-addresses.ts',
        'cors.ts',
        'error-handler.ts',
        'errors.ts',
        'every-request.ts',
        'loopback.ts',
        'page-form.ts',
        'page.ts',
        'paths.ts',
        'redirect-uri.ts',
        'request-body.ts',
        'request-log.ts',
        'request-target.ts',
        'router.ts',
        'security-headers.ts',
        'strict-json.ts',
        'welcome-and-health.ts',
      ],
      limits: [
        'charge-requests.ts',
        'client-network.ts',
        'ignored-proxy.ts',
        'limit-table.ts',
        'limits.ts',
        'too-many-requests.ts',
      ],
      monitoring: ['readings.ts', 'watch.ts'],
      outgoing: ['guarded-fetch.ts'],
      process: [
        'background-tasks.ts',
        'open-log.ts',
        'primary.ts',
        'server.ts',
        'welcome.ts',
        'worker.ts',
      ],
      store: [
        'clock.ts',
        'compiled.ts',
        'cursor.ts',
        'database.ts',
        'digest.ts',
        'keyset.ts',
        'migrate.ts',
        'oauth-state.ts',
        'open-stores.ts',
        'postgres.ts',
        'redis-durability.ts',
        'redis-memory.ts',
        'redis.ts',
        'remove-expired.ts',
        'schema.ts',
        'search.ts',
        'settings.ts',
      ],
    },
  },
  directory: {
    mayImport: ['views', 'platform'],
    folders: {
      '.': ['directory.ts'],
      people: ['authenticate.ts', 'password.ts', 'person-store.ts'],
      scopes: ['catalogue.ts', 'policy.ts', 'scope-uses.ts'],
      sites: [
        'public-sites.ts',
        'review-policy.ts',
        'site-admin.ts',
        'site-choice.ts',
        'site-look.ts',
      ],
    },
  },
  config: {
    mayImport: ['platform', 'directory'],
    folders: {
      '.': ['assistant-table.ts', 'config.ts', 'environment.ts'],
    },
  },
  oauth: {
    mayImport: ['views', 'platform', 'directory', 'config'],
    folders: {
      '.': ['oauth.ts'],
      authorization: [],
      clients: [
        'authenticate-client.ts',
        'client.ts',
        'document-clients.ts',
        'document-review.ts',
        'optional-protocols.ts',
        'scope-advice.ts',
        'secret.ts',
      ],
      consent: [],
      grants: [
        'end-access.ts',
        'end-grants.ts',
        'grant-lists.ts',
        'grant-store.ts',
        'judge-access.ts',
      ],
      interaction: [],
      keys: ['key-rings.ts', 'proofs.ts'],
      token: ['claims.ts', 'refresh-token-use.ts', 'tokens.ts'],
    },
  },
  resource: {
    mayImport: ['platform', 'directory', 'config', 'oauth'],
    folders: {
      '.': ['resource.ts'],
      'resource-server': ['protect.ts', 'verify-bearer.ts'],
      upstream: ['upstream-route.ts'],
    },
  },
  school: {
    mayImport: ['platform', 'directory', 'config', 'oauth'],
    folders: {
      '.': ['school.ts'],
      analytics: ['analytics.ts', 'counting.ts', 'overview.ts'],
      changes: ['change.ts', 'refusals.ts', 'release.ts', 'released-items.ts'],
      commerce: ['events.ts', 'order-list.ts', 'product-store.ts'],
      courses: ['course-store.ts', 'curriculum-changes.ts', 'curriculum.ts'],
      files: ['file-storage.ts', 'receive-file.ts', 'stored-files.ts'],
      members: [
        'change-members.ts',
        'enrolments.ts',
        'lecturers.ts',
        'people-list.ts',
        'site-roles.ts',
      ],
      posts: ['post-store.ts'],
      settings: ['appearance.ts', 'site-record.ts'],
      viewer: ['notifications.ts', 'paged-list.ts', 'purchases.ts', 'viewer-data.ts'],
    },
  },
  api: {
    mayImport: ['views', 'platform', 'directory', 'config', 'oauth', 'resource', 'school'],
    folders: {
      '.': ['api.ts'],
      'admin-api': [],
      discovery: [],
      graphql: ['query-page.ts', 'query-tool.ts'],
      mcp: [],
      'member-api': [],
    },
  },
  pages: {
    mayImport: ['views', 'platform', 'directory', 'config', 'oauth', 'school', 'api'],
    folders: {
      '.': ['pages.ts'],
      account: [],
      admin: [],
      applications: [],
      assistants: [],
      'relying-party': [],
    },
  },
  ops: {
    mayImport: ['platform', 'directory', 'config', 'oauth', 'school'],
    folders: {
      '.': ['ops.ts'],
      backup: [],
      'clean-up': [],
      cli: [],
      doctor: [],
      import: [],
    },
  },
  compose: {
    mayImport: [
      'platform',
      'directory',
      'config',
      'oauth',
      'resource',
      'school',
      'api',
      'pages',
      'ops',
    ],
    folders: {
      '.': ['compose.ts'],
    },
  },
  main: {
    mayImport: ['platform', 'config', 'compose'],
    folders: {
      '.': [],
    },
  },
}
