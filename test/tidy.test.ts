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

/** As many imports as one file may have; compose.ts and the files of rooms that compose know more. */
const IMPORTS_MAX = 20

describe('tidy', () => {
  it('imports from room to room as test/rooms.ts says, and lists no direction that is unused', () => {
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

  it('imports from another room only the public files that test/rooms.ts lists, and lists no other', () => {
    const used = acrossRooms
      .map(({ imported }) => imported)
      .filter((imported) => roomOf(imported) !== 'views')
    const listed = Object.entries(rooms).flatMap(([room, { folders }]) =>
      Object.entries(folders).flatMap(([folder, names]) =>
        names.map((name) =>
          folder === '.' ? placeOf(room, name) : `src/${room}/${folder}/${name}`,
        ),
      ),
    )
    expect([...new Set(used)].toSorted()).to.deep.equal(listed.toSorted())
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

  it('keeps the pairs of folders that import each other, and the lines of src, below the bounds of test/rooms.ts', () => {
    expect(pairsOf(imports, folderOf).size).to.be.at.most(FOLDER_PAIRS_MAX)
    const lines = globSync('src/**/*.*', { cwd: root }).map(
      (file) => read(file).split('\n').length - 1,
    )
    expect(lines.reduce((sum, count) => sum + count, 0)).to.be.at.most(SRC_LINES_MAX)
  })

  it('keeps the composition short: compose.ts, main.ts and the composing file of each room', () => {
    const lines = files
      .filter((file) => isComposition(file) || file === 'src/main.ts')
      .map((file) => [file, read(file).split('\n').length - 1] as const)
    expect(new Map(lines).get('src/compose.ts')).to.be.within(1, COMPOSE_LINES_MAX)
    expect(lines.reduce((sum, [, count]) => sum + count, 0)).to.be.within(1, COMPOSITION_LINES_MAX)
  })

  it('writes out every argument in the files that compose: no spread', () => {
    const spreading = files.filter((file) => isComposition(file) && read(file).includes('...'))
    expect(spreading).to.deep.equal([])
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
      return count > IMPORTS_MAX && !isComposition(file)
    })
    expect(heavy).to.deep.equal([])
  })

  it('gives each folder a row in docs/architecture.md, and a main file that says what it owns', () => {
    const rows = [
      ...read('docs/architecture.md').matchAll(
        /^\| `((?:src\/|views)[\w/-]*)` \| `([\w.-]+)` \|/gm,
      ),
    ]
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

  it('writes every address in src/platform/http/paths.ts and nowhere else', () => {
    const others = ['src/platform/http/paths.ts']
    const literal = /['"`]\/[a-z.][\w.:${}/-]*(?=['"`?])/
    const elsewhere = files.filter((file) => !others.includes(file) && literal.test(read(file)))
    expect(elsewhere).to.deep.equal([])
  })

  it('makes every router in src/platform/http/router.ts', () => {
    const makers = files.filter((file) => read(file).includes('new Router('))
    expect(makers).to.deep.equal(['src/platform/http/router.ts'])
  })

  it('writes every scope name in the catalogue and nowhere else', () => {
    const literal = /'[a-z_]+:(read|write)'/
    const elsewhere = files.filter((file) => literal.test(read(file)))
    expect(elsewhere).to.deep.equal(['src/directory/scopes/catalogue.ts'])
  })

  it('says in one file which hosts are this machine', () => {
    // Asking whether a configured list admits `localhost` names it, and lists nothing.
    const listing = /'127\.0\.0\.1'|127\\\.0|'\[::1\]'|\\\[::1|(?<!includes\()'localhost'/
    const elsewhere = files.filter((file) => listing.test(read(file)))
    expect(elsewhere).to.deep.equal(['src/platform/http/loopback.ts'])
  })

  it('reads the environment of the process where it starts and nowhere else', () => {
    const readers = files.filter((file) => read(file).includes('process.env'))
    expect(
      readers.filter((file) => file !== 'src/main.ts' && !file.startsWith('src/ops/cli/')),
    ).to.deep.equal([])
  })

  it('writes each action of the audit trail, and no other, through one function', () => {
    const writers = files.filter((file) => read(file).includes("insertInto('audit_event')"))
    expect(writers).to.deep.equal(['src/platform/audit/record-audit-event.ts'])
    const written = files
      .filter((file) =>
        /recordAuditEvent\(|recordCommand\(|changeSite\(|createAtSite\(|[nN]oteEvent\(|waitingEvent\(/.test(
          read(file),
        ),
      )
      .flatMap((file) => read(file).match(/\baction\b[^,]*|\brecord\([^,]*/g) ?? [])
      .flatMap((text) => [...text.matchAll(/'([a-z_]+\.[a-z_]+)'/g)])
      .map(([, action]) => action)
    // Each kind of released items writes the same six, named after its table.
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

  it('never touches the private files of the engine', () => {
    const reaching = files.filter((file) => /oidc-provider\/(lib|helpers)/.test(read(file)))
    expect(reaching).to.deep.equal([])
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

function read(file: string): string {
  return readFileSync(join(root, file), 'utf8')
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

/** compose.ts, and the file of each room that creates its parts: `src/oauth/oauth.ts`. */
function isComposition(file: string): boolean {
  return file === 'src/compose.ts' || /^src\/(?!config)(\w+)\/\1\.ts$/.test(file)
}

/** `src/oauth/token/claims.ts` is in the room `oauth`; `src/main.ts` is a room by itself. */
function roomOf(file: string): string {
  return file.startsWith('views/') ? 'views' : (/^src\/([\w-]+)/.exec(file)?.[1] ?? '')
}

/** A folder of `src`, `views`, or `src/main.ts`. The files that compose are one place: they are one list of arguments. */
function folderOf(file: string): string {
  if (isComposition(file)) return 'compose'
  return dirname(file) === 'src' ? file : dirname(file)
}

/** A file of a room that is no folder's: `src/main.ts` itself, or a file beside the room's folders. */
function placeOf(room: string, name: string): string {
  return name === `${room}.ts` && existsSync(join(root, 'src', name))
    ? `src/${name}`
    : `src/${room}/${name}`
}
