import { existsSync, globSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'

import { expect } from 'chai'

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
const imports = files.flatMap((file) =>
  importsOf(file)
    .filter((imported) => /^(src|views)\//.test(imported))
    .map((imported) => ({ file, imported })),
)
const acrossRooms = imports.filter(({ file, imported }) => roomOf(file) !== roomOf(imported))

describe('tidy', () => {
  it('imports between rooms exactly as test/rooms.ts lists', () => {
    const allowed = Object.entries(rooms).flatMap(([room, { mayImport }]) =>
      mayImport.map((other) => `${room} -> ${other}`),
    )
    expect([...pairsOf(acrossRooms, roomOf)].toSorted()).to.deep.equal(allowed.toSorted())
  })

  it('has no cycle between rooms', () => {
    const below = new Set(['views'])
    for (const [room, { mayImport }] of Object.entries(rooms)) {
      const above = mayImport.filter((other) => !below.has(other))
      expect(above, `${room} imports a room that stands above it`).to.deep.equal([])
      below.add(room)
    }
  })

  it('imports from other rooms exactly the public files that test/rooms.ts lists', () => {
    const used = acrossRooms.map(({ imported }) => imported)
    const listed = Object.entries(rooms).flatMap(([room, { folders }]) =>
      Object.entries(folders).flatMap(([folder, names]) =>
        names.map((name) =>
          folder === '.' ? placeOf(room, name) : `src/${room}/${folder}/${name}`,
        ),
      ),
    )
    const others = used.filter((imported) => roomOf(imported) !== 'views')
    expect([...new Set(others)].toSorted()).to.deep.equal(listed.toSorted())
  })

  it('has the folders that test/rooms.ts lists, two levels deep', () => {
    const listed = Object.entries(rooms).flatMap(([room, { folders }]) =>
      Object.keys(folders).map((folder) => `${room}/${folder}`),
    )
    const found = files
      .filter((file) => file.startsWith('src/'))
      .map((file) => `${roomOf(file)}/${dirname(file).split('/').slice(2).join('/') || '.'}`)
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

  it('has no import cycle, types included', () => {
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

  it('has at most 20 imports in a file that does not compose', () => {
    const heavy = files.filter((file) => {
      const count = [...read(file).matchAll(/^import\b[^']*'[^']+'/gm)].length
      return count > 20 && !isComposition(file)
    })
    expect(heavy).to.deep.equal([])
  })

  it('gives each folder a row in docs/architecture.md, and a main file that says what it owns', () => {
    const row = /^\| `((?:src\/|views)[\w/-]*)` \| `([\w.-]+)` \|/gm
    const rows = [...read('docs/architecture.md').matchAll(row)]
    const folders = new Set(
      files.filter((file) => /^(src\/.*|views)\//.test(file)).map((file) => dirname(file)),
    )
    expect([...new Set(rows.map(([, folder]) => folder))].toSorted()).to.deep.equal(
      [...folders].toSorted(),
    )
    for (const [, folder = '', main = ''] of rows) {
      const [comment = ''] = /^\/\*\*[\s\S]*?\*\/\n\n/.exec(read(join(folder, main))) ?? []
      const sentences = comment.match(/[.!?](?=\s)/g) ?? []
      expect(sentences, `${folder}/${main}`).to.have.length.within(1, 2)
    }
  })

  const places: [title: string, literal: RegExp, files: string[]][] = [
    [
      'writes every address in paths.ts',
      /['"`]\/[a-z.][\w.:${}/-]*(?=['"`?])/,
      ['src/platform/http/paths.ts'],
    ],
    ['makes every router in router.ts', /new Router\(/, ['src/platform/http/router.ts']],
    [
      'writes every scope name in the catalogue',
      /'[a-z_]+:(read|write)'/,
      ['src/directory/scopes/catalogue.ts'],
    ],
    [
      'lists the loopback hosts in loopback.ts',
      // Looking for `localhost` in a configured list is allowed.
      /'127\.0\.0\.1'|127\\\.0|'\[::1\]'|\\\[::1|(?<!includes\()'localhost'/,
      ['src/platform/http/loopback.ts'],
    ],
    [
      'reads the environment where a process starts',
      /process\.env/,
      ['src/main.ts', 'src/ops/cli/backup-commands.ts', 'src/ops/cli/gatehouse.ts'],
    ],
    [
      'writes audit events in one function',
      /insertInto\('audit_event'\)/,
      ['src/platform/audit/record-audit-event.ts'],
    ],
    ['uses no private files of the engine', /oidc-provider\/(lib|helpers)/, []],
  ]
  for (const [title, literal, expected] of places) {
    it(`${title} and nowhere else`, () => {
      expect(files.filter((file) => literal.test(read(file)))).to.deep.equal(expected)
    })
  }

  it('writes each action of the audit trail, and no other', () => {
    const written = files
      .filter((file) =>
        /recordAuditEvent\(|recordCommand\(|changeSite\(|createAtSite\(|[nN]oteEvent\(|waitingEvent\(/.test(
          read(file),
        ),
      )
      .flatMap((file) => read(file).match(/\baction\b[^,]*|\brecord\([^,]*/g) ?? [])
      .flatMap((text) => [...text.matchAll(/'([a-z_]+\.[a-z_]+)'/g)])
      .map(([, action]) => action)
    // Each kind of released items writes the same six actions, named after its table.
    const ofItems = files
      .flatMap((file) => [...read(file).matchAll(/releasedItems\(\{\n\s+table: '(\w+)'/g)])
      .flatMap(([, table]) =>
        ['create', 'update', 'publish', 'unpublish', 'archive', 'restore'].map(
          (change) => `${table}.${change}`,
        ),
      )
    const all = new Set([...written, ...ofItems])
    expect([...all]).to.have.members(Object.keys(auditActions))
  })

  it('has no catch-all files such as utils', () => {
    const drawer = /\b(utils?|helpers?|common|misc|services|managers?)\b/
    expect(files.filter((file) => drawer.test(file))).to.deep.equal([])
  })
})

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
}

function linesOf(paths: readonly string[]): number {
  return paths.reduce((sum, file) => sum + read(file).split('\n').length - 1, 0)
}

function importsOf(file: string): string[] {
  return [...read(file).matchAll(/(?:from |import\()'(\.[^']+)'/g)].map(([, specifier]) =>
    relative(root, join(root, dirname(file), specifier ?? '')),
  )
}

function pairsOf(
  from: readonly { readonly file: string; readonly imported: string }[],
  partOf: (file: string) => string,
): Set<string> {
  return new Set(
    from
      .filter(({ file, imported }) => partOf(file) !== partOf(imported))
      .map(({ file, imported }) => `${partOf(file)} -> ${partOf(imported)}`),
  )
}

/** compose.ts, and the file of each room that creates its parts, such as `src/oauth/oauth.ts`. */
function isComposition(file: string): boolean {
  return file === 'src/compose.ts' || /^src\/(?!config)(\w+)\/\1\.ts$/.test(file)
}

/** The room `oauth` of `src/oauth/token/claims.ts`; `src/main.ts` is its own room. */
function roomOf(file: string): string {
  return file.startsWith('views/') ? 'views' : (/^src\/([\w-]+)/.exec(file)?.[1] ?? '')
}

/** A folder of `src`, `views`, or `src/main.ts`. All files that compose count as one. */
function folderOf(file: string): string {
  if (isComposition(file)) return 'compose'
  return dirname(file) === 'src' ? file : dirname(file)
}

/** The path of a file of a room outside of its folders. */
function placeOf(room: string, name: string): string {
  return name === `${room}.ts` && existsSync(join(root, 'src', name))
    ? `src/${name}`
    : `src/${room}/${name}`
}
