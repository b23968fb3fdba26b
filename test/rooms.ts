/**
 * A room of `src`: the rooms that it imports, its folders, and the files of each folder that other rooms import. The
 * table lists the lowest room first. `test/tidy.test.ts` compares it with the imports, in both directions.
 */
export interface Room {
  readonly mayImport: string
  /** Folder → the names of its public files, without `.ts`. `.` is the room itself. */
  readonly folders: Readonly<Record<string, string>>
  /** The folders without public files. */
  readonly privateFolders?: string
}

/** The maximum number of pairs of folders where one imports the other (docs/decisions/0011-rooms-with-folders.md). */
export const FOLDER_PAIRS_MAX = 342

/** Lines of `src`, including blank lines, comments, SQL and GraphQL. */
export const SRC_LINES_MAX = 52_227

/** Maximum lines of compose.ts, and of main.ts with all composition files (`isComposition` in `test/tidy.test.ts`). */
export const COMPOSE_LINES_MAX = 140
export const COMPOSITION_LINES_MAX = 800

export const rooms: Readonly<Record<string, Room>> = {
  platform: {
    mayImport: 'views',
    folders: {
      '.': 'platform',
      audit: 'audit-actions audit-list audit-stream event-types record-audit-event shown-address',
      http: `browser client-addresses cors error-handler errors every-request kept-values language
        loopback page-form page paths public-keys redirect-uri request-body request-log request-target router
        strict-json welcome-and-health`,
      limits: 'charge-requests client-network ignored-proxy limit-table limits too-many-requests',
      monitoring: 'process-metrics serve-metrics watch',
      outbox: 'outbox',
      outgoing: 'guarded-fetch read-start',
      process: 'background-tasks open-log primary server welcome worker',
      store: `clock compiled-queries cursor database digest entered-text in-batches insert-new keyset mail-address
        migrate oauth-state oauth-tables object-names open-stores postgres redis-durability redis-memory redis
        remove-expired restore-marker schema sealed-secrets search settings`,
    },
  },
  directory: {
    mayImport: 'views platform',
    folders: {
      '.': 'directory',
      mail: 'mail-folder messages notices smtp',
      people: `authenticate authentication browser-sessions identity-providers
        link-requests linked-identities one-time-links passkeys password-formats password-rules
        password person-store provider-presets relying-party second-factors site-providers`,
      scopes: 'catalogue policy scope-uses sensitive-operations',
      sites: 'public-sites review-policy site-admin site-choice site-look',
    },
  },
  config: {
    mayImport: 'platform directory',
    folders: { '.': 'assistant-table config' },
  },
  oauth: {
    mayImport: 'views platform directory config',
    folders: {
      '.': 'oauth',
      authorization: 'sign-outs',
      clients: `authenticate-client client document-clients document-review optional-protocols
        proofs scope-advice secret`,
      grants: 'end-access end-grants grant-lists grant-store judge-access',
      keys: 'key-rings',
      token: 'claims refresh-token-use tokens',
    },
    privateFolders: 'interaction',
  },
  resource: {
    mayImport: 'platform directory config oauth',
    folders: {
      '.': 'resource',
      'resource-server': 'protect verify-bearer',
      upstream: 'upstream-route',
    },
  },
  school: {
    mayImport: 'views platform directory config oauth',
    folders: {
      '.': 'school',
      analytics: 'analytics counting overview revenue',
      changes: 'approvals change input refusals released-items',
      commerce: 'events order-list product-store',
      courses: 'course-store curriculum-changes curriculum',
      files: 'file-kinds file-storage receive-file shared-folder stored-files upload-links',
      members: 'enrolments invitations joining lecturers people-list site-roles',
      posts: 'post-store',
      privacy: 'delete-account personal-data',
      settings: 'appearance site-record',
      viewer: 'notifications paged-list purchases viewer-data',
      webhooks: 'webhook-endpoints',
    },
  },
  api: {
    mayImport: 'views platform directory config oauth resource school',
    folders: { '.': 'api', graphql: 'query-page' },
    privateFolders: 'admin-api discovery mcp member-api',
  },
  pages: {
    mayImport: 'views platform directory config oauth school api',
    folders: { '.': 'pages', 'signed-out': 'mail-routes' },
    privateFolders: 'account admin applications assistants relying-party',
  },
  ops: {
    mayImport: 'views platform directory config oauth school',
    folders: { '.': 'ops' },
    privateFolders: 'backup clean-up cli doctor import',
  },
  compose: {
    mayImport: 'platform directory config oauth resource school api pages ops',
    folders: { '.': 'compose' },
  },
  main: { mayImport: 'platform config compose', folders: { '.': '' } },
}
