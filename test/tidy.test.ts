import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

import { expect } from 'chai'

import { auditActions } from '../src/audit/audit-actions.ts'

/**
 * Which part may import which; a part that is not listed for another is a stranger to it. Domain
 * folders know tables and rules, surfaces know HTTP and the domain and nothing of one another, and
 * only the composition root knows everybody.
 */
const mayImport: Record<string, readonly string[]> = {
  strangers: ['applications', 'audit', 'config', 'http', 'limits', 'metadata-documents'],
  store: [],
  views: [],
  scopes: [],
  http: ['views'],
  config: ['assistants', 'clients', 'http', 'metadata-documents', 'scopes'],
  keys: ['store'],
  limits: ['http', 'store'],
  monitoring: ['http', 'package.json', 'store'],
  audit: ['store'],
  people: ['limits', 'store'],
  changes: ['audit', 'sites', 'store'],
  sites: ['changes', 'store'],
  courses: ['changes', 'store'],
  membership: ['changes', 'grants', 'people', 'store'],
  students: ['changes', 'membership', 'store'],
  orders: ['store'],
  products: ['changes', 'store'],
  events: ['changes', 'store'],
  posts: ['changes', 'store'],
  analytics: ['store'],
  files: ['changes', 'http', 'store'],
  appearance: ['changes', 'files', 'http', 'store', 'views'],
  assistants: ['http', 'sites', 'store'],
  connect: ['appearance', 'assistants', 'http', 'relying-party', 'store', 'views'],
  clients: ['http', 'limits', 'scopes', 'sites', 'store'],
  grants: ['audit', 'scopes', 'sites', 'store'],
  applications: ['audit', 'clients', 'grants', 'http', 'scopes', 'store'],
  'metadata-documents': ['audit', 'clients', 'http', 'sites', 'store'],
  'clean-up': ['grants', 'metadata-documents', 'store'],
  outgoing: [],
  proofs: ['http', 'store'],
  'sign-outs': ['grants', 'scopes', 'sites', 'store'],
  registration: ['audit', 'clients', 'http', 'limits', 'scopes'],
  campus: ['clients', 'http', 'people', 'scopes', 'store'],
  bulk: ['audit', 'campus', 'grants', 'store'],
  backup: ['store'],
  doctor: ['clients', 'files', 'http', 'store'],
  member: ['sites', 'store'],
  'resource-server': ['clients', 'grants', 'http', 'proofs', 'token'],
  token: ['clients', 'grants', 'http', 'proofs', 'scopes', 'store'],
  authorization: [
    'audit',
    'clients',
    'grants',
    'http',
    'metadata-documents',
    'outgoing',
    'proofs',
    'scopes',
    'sign-outs',
    'sites',
    'store',
    'token',
    'views',
  ],
  userinfo: ['clients', 'grants', 'http', 'proofs', 'resource-server', 'scopes', 'token'],
  introspection: ['clients', 'http', 'limits', 'resource-server'],
  'forward-auth': ['clients', 'grants', 'http', 'limits', 'resource-server', 'scopes', 'token'],
  interaction: ['appearance', 'audit', 'http', 'people', 'scopes', 'sites', 'store', 'views'],
  discovery: ['http', 'package.json', 'proofs', 'scopes'],
  graphql: ['http', 'limits', 'resource-server', 'store', 'views'],
  'member-api': [
    'graphql',
    'http',
    'limits',
    'member',
    'resource-server',
    'scopes',
    'store',
    'views',
  ],
  downloads: ['appearance', 'files', 'http', 'store'],
  'admin-api': [
    'analytics',
    'appearance',
    'changes',
    'courses',
    'events',
    'files',
    'graphql',
    'http',
    'limits',
    'membership',
    'orders',
    'posts',
    'products',
    'resource-server',
    'scopes',
    'sites',
    'store',
    'students',
    'views',
  ],
  upstream: ['http', 'limits', 'resource-server'],
  mcp: [
    'admin-api',
    'graphql',
    'http',
    'limits',
    'member-api',
    'package.json',
    'resource-server',
    'scopes',
    'sites',
    'store',
  ],
  'relying-party': ['audit', 'clients', 'http', 'limits', 'people', 'scopes', 'store', 'views'],
  admin: [
    'analytics',
    'applications',
    'assistants',
    'audit',
    'clients',
    'grants',
    'graphql',
    'http',
    'metadata-documents',
    'relying-party',
    'scopes',
    'sites',
    'store',
    'views',
  ],
  account: [
    'appearance',
    'grants',
    'graphql',
    'http',
    'relying-party',
    'scopes',
    'sites',
    'store',
    'views',
  ],
  gatehouse: ['*'],
  parts: ['*'],
  surfaces: ['*'],
  'background-tasks': [],
  process: ['store'],
  main: ['config', 'gatehouse', 'monitoring', 'process'],
  cli: ['*'],
}

/** As many imports as one file may have; the composition root knows more. */
const IMPORTS_MAX = 15
const IMPORTS_OF_THE_ROOT_MAX = 25

const root = join(import.meta.dirname, '..')
const files = globSync('{src,views}/**/*.ts', { cwd: root })

describe('tidy', () => {
  for (const file of files) {
    it(`${file} imports only what its part may`, () => {
      const strangers = importsOf(file)
        .map(partOf)
        .filter((part) => part !== partOf(file) && !allows(partOf(file), part))
      expect(strangers).to.deep.equal([])
    })
  }

  it('allows no direction that nothing uses', () => {
    const used = new Set(
      files.flatMap((file) => importsOf(file).map((path) => `${partOf(file)} -> ${partOf(path)}`)),
    )
    const allowed = Object.entries(mayImport).flatMap(([importer, parts]) =>
      parts.filter((part) => part !== '*').map((part) => `${importer} -> ${part}`),
    )
    expect(allowed.filter((direction) => !used.has(direction))).to.deep.equal([])
  })

  it('has no circle of imports, types included', () => {
    const graph = new Map(files.map((file) => [file, importsOf(file)]))
    const done = new Set<string>()
    const circles: string[] = []
    const walk = (file: string, way: readonly string[]) => {
      if (way.includes(file)) circles.push([...way.slice(way.indexOf(file)), file].join(' -> '))
      if (done.has(file) || way.includes(file)) return
      for (const next of graph.get(file) ?? []) walk(next, [...way, file])
      done.add(file)
    }
    for (const file of files) walk(file, [])
    expect(circles).to.deep.equal([])
  })

  it('has no file with more imports than a reader can keep in mind', () => {
    const heavy = files.filter((file) => {
      const count = [...read(file).matchAll(/^import\b[^']*'[^']+'/gm)].length
      return (
        count >
        (/^src\/(gatehouse|parts|surfaces)\.ts$/.test(file) ? IMPORTS_OF_THE_ROOT_MAX : IMPORTS_MAX)
      )
    })
    expect(heavy).to.deep.equal([])
  })

  it('gives each folder one row in docs/architecture.md, and a main file that says what it owns', () => {
    const rows = [
      ...read('docs/architecture.md').matchAll(/^\| `((?:src\/|views)[\w-]*)` \| `([\w.-]+)` \|/gm),
    ]
    const folders = new Set(
      files.filter((file) => /^(src\/.*|views)\//.test(file)).map((file) => dirname(file)),
    )
    expect(rows.map(([, folder]) => folder).toSorted()).to.deep.equal([...folders].toSorted())
    for (const [, folder = '', main = ''] of rows) {
      const [comment = ''] = /^\/\*\*[\s\S]*?\*\/\n\n/.exec(read(join(folder, main))) ?? []
      const sentences = comment.match(/[.!?](?=\s)/g) ?? []
      expect(sentences, `${folder}/${main}`).to.have.length.within(1, 2)
    }
  })

  it('writes every address in src/http/paths.ts and nowhere else', () => {
    // The command waits for its own code at an address of its own.
    const others = ['src/http/paths.ts', 'src/cli/authorize.ts']
    const literal = /['"`]\/[a-z.][\w.:${}/-]*(?=['"`?])/
    const elsewhere = files.filter((file) => !others.includes(file) && literal.test(read(file)))
    expect(elsewhere).to.deep.equal([])
  })

  it('makes every router in src/http/router.ts', () => {
    const makers = files.filter((file) => read(file).includes('new Router('))
    expect(makers).to.deep.equal(['src/http/router.ts'])
  })

  it('writes every scope name in the catalogue and nowhere else', () => {
    const literal = /'[a-z_]+:(read|write)'/
    const elsewhere = files.filter((file) => literal.test(read(file)))
    expect(elsewhere).to.deep.equal(['src/scopes/catalogue.ts'])
  })

  it('says in one file which hosts are this machine', () => {
    // Asking whether a configured list admits `localhost` names it, and lists nothing.
    const listing = /'127\.0\.0\.1'|127\\\.0|'\[::1\]'|\\\[::1|(?<!includes\()'localhost'/
    const elsewhere = files.filter((file) => listing.test(read(file)))
    expect(elsewhere).to.deep.equal(['src/http/loopback.ts'])
  })

  it('reads the environment of the process where it starts and nowhere else', () => {
    const readers = files.filter((file) => read(file).includes('process.env'))
    expect(
      readers.filter((file) => file !== 'src/main.ts' && partOf(file) !== 'cli'),
    ).to.deep.equal([])
  })

  it('writes each action of the audit trail, and no other, through one function', () => {
    const writers = files.filter((file) => read(file).includes("insertInto('audit_event')"))
    expect(writers).to.deep.equal(['src/audit/audit-log.ts'])
    const written = files
      .filter((file) =>
        /recordAuditEvent\(|recordCommand\(|changeSite\(|createAtSite\(|releasedItems<|[nN]oteEvent\(|waitingEvent\(/.test(
          read(file),
        ),
      )
      .flatMap((file) => read(file).match(/\baction\b[^,]*/g) ?? [])
      .flatMap((text) => [...text.matchAll(/'([a-z_]+\.[a-z_]+)'/g)])
      .map(([, action]) => action)
    expect([...new Set(written)]).to.have.members(Object.keys(auditActions))
  })

  it('never touches the private files of the engine', () => {
    const reaching = files.filter((file) => /oidc-provider\/(lib|helpers)/.test(read(file)))
    expect(reaching).to.deep.equal([])
  })

  it('has folders one level deep', () => {
    const deeper = files.filter((file) => file.split('/').length > 3)
    expect(deeper).to.deep.equal([])
  })

  it('has no drawer for things without a subject', () => {
    const drawers = files.filter((file) =>
      /\b(utils?|helpers?|common|misc|services|managers?)\b/.test(file),
    )
    expect(drawers).to.deep.equal([])
  })

  it('names only documents that exist in its comments', () => {
    const broken = files.flatMap((file) =>
      [...read(file).matchAll(/docs\/[\w/-]+\.md/g)]
        .map(([document]) => document)
        .filter((document) => !existsSync(join(root, document)))
        .map((document) => `${file}: ${document}`),
    )
    expect(broken).to.deep.equal([])
  })

  it('links only to what exists', () => {
    const broken = globSync('**/*.md', { cwd: root, exclude: ['node_modules/**'] }).flatMap(
      (file) =>
        [...read(file).matchAll(/\]\((?!https?:|mailto:)([^)#\s]+)/g)]
          .map(([, target]) => join(dirname(file), target ?? ''))
          .filter((target) => !existsSync(join(root, target))),
    )
    expect(broken).to.deep.equal([])
  })
})

function allows(importer: string, imported: string): boolean {
  const parts = mayImport[importer] ?? []
  return parts.includes('*') || parts.includes(imported)
}

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function importsOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(([, specifier]) =>
    relative(root, join(root, dirname(file), specifier ?? '')),
  )
}

/** src/registration/routes.ts belongs to the part "registration"; src/gatehouse.ts is a part by itself. */
function partOf(file: string): string {
  return file.replace(/^src\//, '').replace(/(\/.*|\.ts)$/, '')
}
