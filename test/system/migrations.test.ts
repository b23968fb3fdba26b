import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { effectOf } from '../../src/platform/store/migrate.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { onlyAdds } from '../support/migration-effects.ts'
import { refusedStart, gatehouse as run, startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/programs.ts'

const folder = join(import.meta.dirname, '../../src/platform/store/migrations')

/** Migrations that remove something, each with the first release that no longer uses it. */
const contracting: Readonly<Record<string, string>> = {}

it('the files of migrations only add, so that the previous version can run with them (expand, deploy, contract)', () => {
  const files = readdirSync(folder)
  expect(files).to.have.length.greaterThan(0)
  for (const name of files)
    expect(name).to.match(/^[\w-]+(\.contract)?(\.(sqlite|postgres))?\.sql$/)
  const removing = files.filter((name) => !onlyAdds(readFileSync(join(folder, name), 'utf8')))
  expect(files.filter((name) => effectOf(name) === 'contract')).to.deep.equal(removing)
  expect(removing).to.have.members(Object.keys(contracting))
})

describe('a statement of a migration', () => {
  const deleting = 'begin\n  delete from a;\nend'
  const changing = 'begin\n  update b set c = 1;\n  delete from d;\nend'
  for (const [effect, sql] of [
    ['expand', 'create table a (id text);'],
    ['expand', 'create table a (id text);\nalter table a set unlogged;'],
    ['expand', 'alter table a add column b text;'],
    ['expand', 'alter table a add column b text not null default 0;'],
    ['contract', 'alter table a add column b text not null;'],
    ['contract', 'alter table a add column b text check (b > 0);'],
    ['expand', 'create index i on a (b);'],
    ['contract', 'create unique index i on a (b);'],
    ['expand', 'create table a (b text);\ncreate unique index i on a (b);'],
    ['expand', 'alter table a add column b text;\ncreate unique index i on a (b, c);'],
    ['expand', 'alter table a add column b text;\nupdate a set b = c;'],
    ['contract', 'update a set b = c;'],
    ['expand', 'create table b (id text);\ninsert into b select id from a;'],
    ['contract', 'insert into a values (1);'],
    ['contract', 'delete from a;'],
    ['contract', 'drop table a;'],
    ['contract', 'drop index i;'],
    ['contract', 'alter table a drop column b;'],
    ['contract', 'alter table a rename column b to c;'],
    ['contract', 'alter table a rename to b;'],
    ['contract', 'alter table a alter column b set not null;'],
    ['contract', 'ALTER TABLE a ADD CONSTRAINT c CHECK (b > 0);'],
    ['contract', 'create table b (id text); -- and\ndrop table a;'],
    ['contract', 'vacuum;'],
    ['expand', `create function f() returns trigger language plpgsql as $$\n${deleting}\n$$;`],
    ['expand', `create trigger t after insert on a\n${changing};`],
  ] as const) {
    it(`${effect}s: ${sql.replaceAll('\n', ' ')}`, () =>
      expect(onlyAdds(sql)).to.equal(effect === 'expand'))
  }
})

describe('migrate', () => {
  const newest = readdirSync(folder)
    .filter((name) => /^\d+-[^.]+(\.sqlite)?\.sql$/.test(name))
    .sort()
    .at(-1) as string

  async function behind(): Promise<{ DATA_DIR: string; MIGRATE_AT_START: string }> {
    const [files, DATA_DIR] = [temporaryFolder(), temporaryFolder()]
    cpSync(folder, files, { recursive: true, filter: (source) => !source.endsWith(newest) })
    const file = join(DATA_DIR, 'gatehouse.db')
    await using _ = await openDatabase({ kind: 'sqlite', file }, { migrationsFolder: files })
    return { DATA_DIR, MIGRATE_AT_START: 'no' }
  }

  it('is demanded by a start and by commands that need the schema', async () => {
    const variables = await behind()
    for (const said of [await refusedStart(variables), await run(['keys', 'list'], variables, 1)])
      expect(said).to.include(`are pending: ${newest}. Run \`npm run gatehouse`)
  })

  it('names what is pending with --dry-run, and changes nothing', async () => {
    const variables = await behind()
    for (let turn = 0; turn < 2; turn += 1) {
      expect(await run(['migrate', '--dry-run'], variables))
        .to.match(/^Applied migrations: \d+, pending: 1\n/)
        .and.include(`  ${newest}  only adds`)
    }
  })

  it('is reported by doctor, as wrong only where a start does not migrate', async () => {
    const variables = await behind()
    for (const [MIGRATE_AT_START, expected] of Object.entries({ no: 1, yes: 0 })) {
      const said = await run(['doctor'], { ...variables, MIGRATE_AT_START }, expected)
      expect(said).to.include(`pending migrations: ${newest}`)
    }
  })

  it('applies what is pending, so that the service starts; a second time it is a no-op', async () => {
    const variables = await behind()
    for (const [words, expected] of [
      [['migrate'], `Applied ${newest}.\n`],
      [['migrate'], 'nothing was changed'],
      [['migrate', '--dry-run'], 'pending: none'],
    ] as const)
      expect(await run(words, variables)).to.include(expected)
    await using service = await startProcess(variables)
    expect((await fetch(`${service.url}/readyz`)).status).to.equal(200)
  })
})
