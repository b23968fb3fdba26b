/**
 * The rooms of `src`, lowest first: which rooms each one imports, its folders, and the files of each folder that
 * other rooms import. `test/tidy.test.ts` compares this table with the imports, in both directions.
 */
export interface Room {
  readonly mayImport: readonly string[]
  /** Folder → its public files. `.` is the room itself. */
  readonly folders: Readonly<Record<string, readonly string[]>>
}

/** Pairs of folders of which one imports the other. 318 before the rooms (docs/decisions/0011-two-levels.md). */
export const FOLDER_PAIRS_MAX = 280

/** Lines of `src`, blank lines, comments, SQL and GraphQL included. */
export const SRC_LINES_MAX = 52_100

// The table begins.
export const rooms: Readonly<Record<string, Room>> = {
  platform: {
    mayImport: ['views'],
    folders: {
      audit: [
        'audit-actions.ts',
        'audit-list.ts',
        'audit-log.ts',
        'audit-stream.ts',
        'audit-trail.ts',
        'event-line.ts',
        'event-rows.ts',
        'event-sink.ts',
        'shown-address.ts',
      ],
      http: [
        'client-cors.ts',
        'error-handler.ts',
        'errors.ts',
        'every-request.ts',
        'form-body.ts',
        'form.ts',
        'in-order.ts',
        'loopback.ts',
        'notice.ts',
        'open-cors.ts',
        'page.ts',
        'paths.ts',
        'program-route.ts',
        'proven-client.ts',
        'request-body.ts',
        'request-log.ts',
        'router.ts',
        'routes.ts',
        'security-headers.ts',
        'storage-guard.ts',
        'strict-json.ts',
      ],
      limits: [
        'caller-limits.ts',
        'limit-table.ts',
        'limits.ts',
        'network.ts',
        'request-gate.ts',
        'too-many.ts',
      ],
      monitoring: ['readings.ts', 'scrape-server.ts', 'serve-metrics.ts', 'traces.ts', 'watch.ts'],
      outgoing: ['guarded-fetch.ts'],
      process: ['background-tasks.ts', 'primary.ts', 'server.ts', 'welcome.ts', 'worker.ts'],
      store: [
        'clock.ts',
        'compiled.ts',
        'cursor.ts',
        'database.ts',
        'digest.ts',
        'document-tables.ts',
        'grant-tables.ts',
        'keyset.ts',
        'migrate.ts',
        'oauth-state.ts',
        'oauth-tables.ts',
        'open-database.ts',
        'open-stores.ts',
        'postgres.ts',
        'redis-durability.ts',
        'redis-memory.ts',
        'redis.ts',
        'remove-expired.ts',
        'schema.ts',
        'search.ts',
        'settings.ts',
        'shared-counts.ts',
        'unfinished-restore.ts',
      ],
    },
  },
  directory: {
    mayImport: ['views', 'platform'],
    folders: {
      people: [
        'authenticate.ts',
        'email-address.ts',
        'password-hash.ts',
        'password.ts',
        'people.ts',
        'person-store.ts',
      ],
      scopes: ['catalogue.ts', 'opened.ts', 'policy.ts', 'scope-sentences.ts'],
      sites: [
        'colors.ts',
        'feature.ts',
        'find-look.ts',
        'public-courses.ts',
        'public-sites.ts',
        'review-policy.ts',
        'roles.ts',
        'site-admin.ts',
        'site-choice.ts',
        'site-look.ts',
      ],
    },
  },
  oauth: {
    mayImport: ['views', 'platform', 'directory'],
    folders: {
      authorization: ['authorization-server.ts'],
      clients: [
        'authenticate-client.ts',
        'client-credentials.ts',
        'client-keys.ts',
        'client-name.ts',
        'client.ts',
        'document-clients.ts',
        'document-review.ts',
        'find-client.ts',
        'further-plans.ts',
        'metadata-document.ts',
        'redirect-pattern.ts',
        'redirect-uri.ts',
        'scope-advice.ts',
        'secret.ts',
        'server-address.ts',
      ],
      consent: [],
      grants: [
        'access.ts',
        'allowed.ts',
        'end-everything.ts',
        'end-grants.ts',
        'find-allowed.ts',
        'grant-lists.ts',
        'grant-store.ts',
        'grants.ts',
        'remove-app.ts',
      ],
      interaction: ['routes.ts'],
      keys: ['keys.ts', 'signing-keys.ts'],
      proofs: ['dpop-proof.ts', 'proof-algorithms.ts', 'proofs.ts'],
      registration: ['routes.ts'],
      'sign-outs': ['sign-outs.ts'],
      token: [
        'access-token.ts',
        'claims.ts',
        'refresh-token-record.ts',
        'refresh-token-use.ts',
        'released-claims.ts',
        'tokens.ts',
      ],
    },
  },
  resource: {
    mayImport: ['platform', 'directory', 'oauth'],
    folders: {
      'forward-auth': ['routes.ts'],
      'resource-server': [
        'introspection-route.ts',
        'protect.ts',
        'userinfo-route.ts',
        'verdict.ts',
      ],
      upstream: ['routes.ts', 'surface.ts'],
    },
  },
  school: {
    mayImport: ['platform', 'directory', 'oauth'],
    folders: {
      analytics: ['analytics.ts', 'overview.ts', 'period.ts'],
      changes: ['change.ts', 'refused.ts', 'release.ts'],
      commerce: ['event-registrations.ts', 'event-store.ts', 'order-list.ts', 'product-store.ts'],
      courses: ['course-store.ts', 'curriculum.ts', 'lectures.ts', 'sections.ts'],
      files: [
        'bundled-files.ts',
        'download-routes.ts',
        'file-storage.ts',
        'files.ts',
        'open-file-storage.ts',
        'product-file.ts',
        'receive-file.ts',
        's3-storage.ts',
        'stored-files.ts',
      ],
      member: ['member-data.ts', 'notifications.ts', 'paged-list.ts', 'purchases.ts', 'topics.ts'],
      members: [
        'change-enrolments.ts',
        'change-members.ts',
        'enrolments.ts',
        'lecturers.ts',
        'members.ts',
        'people-list.ts',
        'progress.ts',
        'student-list.ts',
      ],
      posts: ['delivery.ts', 'post-store.ts'],
      site: ['appearance.ts', 'site-record.ts'],
    },
  },
  api: {
    mayImport: ['views', 'platform', 'directory', 'oauth', 'resource', 'school'],
    folders: {
      'admin-api': ['needed-scopes.ts', 'surface.ts'],
      discovery: ['routes.ts'],
      graphql: ['query-pages.ts', 'query-tool.ts', 'try-query.ts'],
      mcp: ['endpoint.ts', 'protocol-versions.ts'],
      'member-api': ['surface.ts'],
    },
  },
  pages: {
    mayImport: ['views', 'platform', 'directory', 'oauth', 'school', 'api'],
    folders: {
      account: ['routes.ts'],
      admin: ['routes.ts'],
      applications: ['application-refusals.ts'],
      assistants: ['assistant-table.ts', 'connect-routes.ts'],
      'relying-party': ['own-pages.ts'],
    },
  },
  config: {
    mayImport: ['platform', 'directory', 'oauth', 'pages'],
    folders: {
      '.': ['config.ts', 'environment.ts'],
    },
  },
  ops: {
    mayImport: ['platform', 'directory', 'oauth', 'school', 'config'],
    folders: {
      backup: [],
      'clean-up': ['clean-up.ts'],
      cli: [],
      doctor: [],
      import: ['demo.ts'],
    },
  },
  parts: {
    mayImport: [
      'platform',
      'directory',
      'oauth',
      'resource',
      'school',
      'api',
      'pages',
      'config',
      'ops',
    ],
    folders: {
      '.': ['parts.ts'],
    },
  },
  surfaces: {
    mayImport: [
      'platform',
      'directory',
      'oauth',
      'resource',
      'school',
      'api',
      'pages',
      'config',
      'ops',
      'parts',
    ],
    folders: {
      '.': ['surfaces.ts'],
    },
  },
  gatehouse: {
    mayImport: ['platform', 'directory', 'oauth', 'school', 'config', 'ops', 'parts', 'surfaces'],
    folders: {
      '.': ['gatehouse.ts'],
    },
  },
  compose: {
    mayImport: [],
    folders: {},
  },
  main: {
    mayImport: ['platform', 'config', 'gatehouse'],
    folders: {
      '.': [],
    },
  },
}
