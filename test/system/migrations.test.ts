import { cpSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { effectOf, statementsOf } from '../../src/platform/store/migrate.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { runGatehouse, runService, startProcess } from '../support/process.ts'
import { temporaryFolder } from '../support/programs.ts'

const folder = join(import.meta.dirname, '../../src/platform/store/migrations')

/**
 * Migrations that take something away, each with the release since which no process uses it any more.
 * Whoever adds a row makes everybody stop the processes of the version before.
 */
const contracting: Readonly<Record<string, string>> = {}

describe('the files of migrations', () => {
  const names = readdirSync(folder)

  it('only add, so that the version before runs beside them (expand, deploy, contract)', () => {
    const narrowing = names.flatMap((name) =>
      statementsOf(readFileSync(join(folder, name), 'utf8'))
        .filter(({ effect }) => effect === 'contract' && !Object.hasOwn(contracting, name))
        .map(({ text }) => `${name}: ${text}`),
    )
    expect(names).to.have.length.greaterThan(0)
    expect(narrowing).to.deep.equal([])
  })

  it('that take away are there, and do', () => {
    const idle = Object.keys(contracting).filter(
      (name) => effectOf(readFileSync(join(folder, name), 'utf8')) === 'expand',
    )
    expect(idle).to.deep.equal([])
  })
})

describe('a statement of a migration', () => {
  for (const [effect, sql] of [
    ['expand', 'create table a (id text);'],
    ['expand', 'create unlogged table a (id text);'],
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
    [
      'expand',
      'create function f() returns trigger language plpgsql as $$\nbegin\n  delete from a;\nend\n$$;',
    ],
    [
      'expand',
      'create trigger t after insert on a\nbegin\n  update b set c = 1;\n  delete from d;\nend;',
    ],
  ] as const) {
    it(`${effect === 'expand' ? 'only adds' : 'takes away'}: ${sql.replaceAll('\n', ' ')}`, () => {
      expect(effectOf(sql)).to.equal(effect)
    })
  }

  it('says what waits for it', () => {
    const waits = statementsOf('alter table a add column b text;\ncreate index i on a (b);').map(
      (statement) => statement.waits,
    )
    expect(waits).to.deep.equal(['a, briefly', 'writes to a, until the index is built'])
  })
})

describe('migrate, apart from a start', () => {
  const newest = readdirSync(folder)
    .filter((name) => /^\d+-[^.]+(\.sqlite)?\.sql$/.test(name))
    .sort()
    .at(-1) as string

  /** A database as a version left it that does not have the newest file. */
  async function behind(): Promise<{ DATA_DIR: string; MIGRATE_AT_START: string }> {
    const files = temporaryFolder()
    cpSync(folder, files, { recursive: true, filter: (source) => !source.endsWith(newest) })
    const DATA_DIR = temporaryFolder()
    const file = join(DATA_DIR, 'gatehouse.db')
    await using _ = await openDatabase({ kind: 'sqlite', file }, { migrationsFolder: files })
    return { DATA_DIR, MIGRATE_AT_START: 'no' }
  }

  it('a start refuses a schema that is behind, and so does a command that wants the data', async () => {
    const variables = await behind()
    for (const ended of [
      await runService(variables),
      await runGatehouse(['keys', 'list'], variables),
    ]) {
      expect(ended.code).to.equal(1)
      expect(ended.stderr).to.include(`are pending: ${newest}. Run \`npm run gatehouse`)
    }
  })

  it('--dry-run and status name what is pending, and change nothing', async () => {
    const variables = await behind()
    for (const words of [
      ['migrate', '--dry-run'],
      ['migrate', 'status'],
      ['migrate', '--dry-run'],
    ]) {
      const { code, stdout, stderr } = await runGatehouse(words, variables)
      expect([code, stderr]).to.deep.equal([0, ''])
      expect(stdout).to.match(/^\d+ migrations are applied, 1 pending:\n/)
      expect(stdout).to.include(`  ${newest}  only adds`)
    }
  })

  it('doctor says so without changing anything', async () => {
    const variables = await behind()
    const strict = await runGatehouse(['doctor'], variables)
    expect([strict.code, strict.stdout.includes(`is behind by ${newest}`)]).to.deep.equal([1, true])
    const usual = await runGatehouse(['doctor'], { ...variables, MIGRATE_AT_START: 'yes' })
    expect([usual.code, usual.stdout.includes(`is behind by ${newest}`)]).to.deep.equal([0, true])
  })

  it('applies them, whereupon the service starts; a second time there is nothing to do', async () => {
    const variables = await behind()
    const first = await runGatehouse(['migrate'], variables)
    expect([first.code, first.stdout]).to.deep.equal([0, `Applied ${newest}.\n`])
    const second = await runGatehouse(['migrate'], variables)
    expect([second.code, second.stdout.includes('nothing was changed')]).to.deep.equal([0, true])
    const status = await runGatehouse(['migrate', 'status'], variables)
    expect(status.stdout).to.include('none is pending')
    await using service = await startProcess(variables)
    expect((await fetch(`${service.url}/readyz`)).status).to.equal(200)
  })
})
