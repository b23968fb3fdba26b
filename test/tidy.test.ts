import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

import { auditActions } from '../src/platform/audit/audit-actions.ts'
import {
  COMPOSE_LINES_MAX,
  COMPOSITION_LINES_MAX,
  FOLDER_PAIRS_MAX,
  rooms,
  SRC_LINES_MAX,
} from './rooms.ts'

const root = join(import.meta.dirname, '..')
const files = globSync('{src,views}/**/*.ts', { cwd: root }).toSorted()
const read = (file: string): string => readFileSync(join(root, file), 'utf8')
const imports = files.flatMap((file) =>
  importsOf(file)
    .filter((imported) => /^(src|views)\//.test(imported))
    .map((imported) => ({ file, imported })),
)
const acrossRooms = imports.filter(({ file, imported }) => roomOf(file) !== roomOf(imported))

const wordsIn = (text = ''): readonly string[] => text.match(/[\w-]+/g) ?? []

describe('tidy', () => {
  it('imports between rooms exactly as test/rooms.ts lists, without a cycle', () => {
    const allowed = Object.entries(rooms).flatMap(([room, { mayImport }]) =>
      mayImport.split(' ').map((other) => `${room} -> ${other}`),
    )
    expect([...pairsOf(acrossRooms, roomOf)].toSorted()).to.deep.equal(allowed.toSorted())
    const below = new Set(['views'])
    for (const [room, { mayImport }] of Object.entries(rooms)) {
      const above = mayImport.split(' ').filter((other) => !below.has(other))
      expect(above, `${room} imports a room that stands above it`).to.deep.equal([])
      below.add(room)
    }
  })

  it('imports from other rooms exactly the public files that test/rooms.ts lists', () => {
    const listed = Object.entries(rooms).flatMap(([room, { folders }]) =>
      Object.entries(folders).flatMap(([folder, names]) =>
        wordsIn(names).map((name) => placeOf(room, folder, `${name}.ts`)),
      ),
    )
    const used = acrossRooms.flatMap(({ imported }) =>
      roomOf(imported) === 'views' ? [] : imported,
    )
    expect([...new Set(used)].toSorted()).to.deep.equal(listed.toSorted())
  })

  it('has the folders that test/rooms.ts lists, two levels deep', () => {
    const listed = Object.entries(rooms).flatMap(([room, { folders, privateFolders }]) =>
      [...Object.keys(folders), ...wordsIn(privateFolders)].map((folder) => `${room}/${folder}`),
    )
    const found = globSync('src/**/*.ts', { cwd: root }).map(
      (file) => `${roomOf(file)}/${dirname(file).split('/').slice(2).join('/') || '.'}`,
    )
    expect([...new Set(found)].toSorted()).to.deep.equal(listed.toSorted())
  })

  it('stays below the bounds of test/rooms.ts: pairs of folders, lines of src and of its composition', () => {
    expect(pairsOf(imports, folderOf).size).to.be.at.most(FOLDER_PAIRS_MAX)
    expect(linesOf(globSync('src/**/*.*', { cwd: root }))).to.be.at.most(SRC_LINES_MAX)
    expect(linesOf(['src/compose.ts'])).to.be.at.most(COMPOSE_LINES_MAX)
    const composing = files.filter((file) => isComposition(file) || file === 'src/main.ts')
    expect(linesOf(composing)).to.be.at.most(COMPOSITION_LINES_MAX)
  })

  it('writes out every argument in the files that compose, without spreads', () => {
    const spreading = files.filter((file) => isComposition(file) && read(file).includes('...'))
    expect(spreading).to.deep.equal([])
  })

  it('has at most 20 imports in a file that does not compose', () => {
    const importsIn = (file: string) => read(file).match(/^import\b[^']*'[^']+'/gm)?.length ?? 0
    const heavy = files.filter((file) => importsIn(file) > 20 && !isComposition(file))
    expect(heavy).to.deep.equal([])
  })

  it('gives each folder a row in docs/architecture.md, and a main file that says what it owns', () => {
    const row = /^\| `((?:src\/|views)[\w/-]*)` \| `([\w.-]+)` \|/gm
    const rows = [...read('docs/architecture.md').matchAll(row)]
    const folders = new Set(files.map((file) => dirname(file)).filter((folder) => folder !== 'src'))
    expect([...new Set(rows.map(([, folder]) => folder))]).to.have.members([...folders])
    for (const [, folder = '', main = ''] of rows) {
      const [comment = ''] = /^\/\*\*[\s\S]*?\*\/\n\n/.exec(read(join(folder, main))) ?? []
      expect(comment.match(/[.!?](?=\s)/g) ?? [], `${folder}/${main}`).to.have.length.within(1, 2)
    }
  })

  const starts = 'main.ts ops/cli/backup-commands.ts ops/cli/gatehouse.ts'
  // Looking for `localhost` in a configured list is allowed.
  const loopback = /'127\.0\.0\.1'|127\\\.0|'\[::1\]'|\\\[::1|(?<!includes\()'localhost'/
  for (const [what, literal, places] of [
    ['addresses', /['"`]\/[a-z.][\w.:${}/-]*(?=['"`?])/, 'platform/http/paths.ts'],
    ['routers', /new Router\(/, 'platform/http/router.ts'],
    ['scope names', /'[a-z_]+:(read|write)'/, 'directory/scopes/catalogue.ts'],
    ['loopback hosts', loopback, 'platform/http/loopback.ts'],
    ['environment variables', /process\.env/, starts],
    ['audit events', /insertInto\('audit_event'\)/, 'platform/audit/record-audit-event.ts'],
    ['private files of the engine', /oidc-provider\/(lib|helpers)/, ''],
  ] as const) {
    it(`has ${what} ${places ? `only in ${places}` : 'nowhere'}`, () => {
      const found = files.filter((file) => literal.test(read(file)))
      expect(found.map((file) => file.replace('src/', '')).join(' ')).to.equal(places)
    })
  }

  it('writes each action of the audit trail, and no other', () => {
    const recording =
      /recordAuditEvent\(|recordCommand\(|changeSite\(|siteChange\(|checkedChange\(|siteCreation\(|[nN]oteEvent\(|waitingEvent\(/
    const texts = files.map(read)
    const written = texts
      .filter((text) => recording.test(text))
      .flatMap((text) => text.match(/\baction(?:Of)?\b[^,]*|\brecord\([^,]*/g) ?? [])
      .flatMap((text) => [...text.matchAll(/'([a-z_]+\.[a-z_]+)'/g)])
      .map(([, action]) => action)
    // Each kind of released item writes the same seven actions, prefixed with the name of its table.
    const changes = ['create', 'update', 'publish', 'unpublish', 'archive', 'restore', 'delete']
    const ofItems = texts
      .flatMap((text) => [...text.matchAll(/releasedItems\(\{\n\s+table: '(\w+)'/g)])
      .flatMap(([, table]) => changes.map((change) => `${table}.${change}`))
    expect([...new Set([...written, ...ofItems])]).to.have.members([...auditActions])
  })

  it('does not give two top-level functions the same name', () => {
    const named =
      /^(?:export )?(?:(?:async )?function\*? (\w+)|const (\w+) = (?:async )?(?:<.*>)?\()/gm
    const names = files.flatMap((file) =>
      [...read(file).matchAll(named)].map(([, name, arrow]) => name ?? arrow),
    )
    expect(names).to.include.members(['addressOf', 'readConfig', 'count'])
    expect(names.filter((name, index) => names.indexOf(name) !== index)).to.deep.equal([])
  })

  it('has no catch-all files such as utils', () => {
    const drawer = /\b(utils?|helpers?|common|misc|services|managers?)\b/
    expect(files.filter((file) => drawer.test(file))).to.deep.equal([])
  })
})

function linesOf(paths: readonly string[]): number {
  return paths.reduce((sum, file) => sum + read(file).split('\n').length - 1, 0)
}

function importsOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(([, specifier]) =>
    relative(root, join(root, dirname(file), specifier ?? '')),
  )
}

function pairsOf(from: typeof imports, partOf: (file: string) => string): Set<string> {
  return new Set(
    from
      .filter(({ file, imported }) => partOf(file) !== partOf(imported))
      .map(({ file, imported }) => `${partOf(file)} -> ${partOf(imported)}`),
  )
}

/** Whether a file is compose.ts or creates the parts of a room, such as `src/oauth/oauth.ts`. */
function isComposition(file: string): boolean {
  return file === 'src/compose.ts' || /^src\/(?!config)(\w+)\/\1\.ts$/.test(file)
}

/** Returns the room of a file: `oauth` for `src/oauth/token/claims.ts`. `src/main.ts` is its own room. */
function roomOf(file: string): string {
  return file.startsWith('views/') ? 'views' : (/^src\/([\w-]+)/.exec(file)?.[1] ?? '')
}

/** Returns the folder of a file. Files directly in `src` stand for themselves. All composition files count as one. */
function folderOf(file: string): string {
  if (isComposition(file)) return 'compose'
  return dirname(file) === 'src' ? file : dirname(file)
}

function placeOf(room: string, folder: string, name: string): string {
  if (folder !== '.') return `src/${room}/${folder}/${name}`
  return existsSync(join(root, 'src', name)) ? `src/${name}` : `src/${room}/${name}`
}
