import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { effectOf } from '../../src/platform/store/migrate.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { obtainTokens, refresh, userinfo } from '../support/client.ts'
import { openEmbedded, patiently } from '../support/database.ts'
import { onlyAdds } from '../support/migration-effects.ts'
import { connectTo } from '../support/postgres.ts'
import {
  dataFolderWithDemo,
  patientService,
  refusedStart,
  gatehouse as run,
  startBalancer,
  startProcess,
  type Variables,
} from '../support/process.ts'
import { temporaryFolder } from '../support/programs.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'
import { startTraffic } from '../support/traffic.ts'

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
    await using _ = await openEmbedded(DATA_DIR, { migrationsFolder: files })
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

const root = join(import.meta.dirname, '../..')
const patientWorker = patientService.at(-1) as string
const NEXT_FILE = '9998-next.sql'
const NEXT_MIGRATION = `-- What the next version adds.
alter table oauth_grant add column note text;
update oauth_grant set note = 'seen by the next version' where ended_at is null;
create table next_thing (id text not null primary key, grant_id text references oauth_grant (id) on delete cascade);
create index oauth_grant_by_note on oauth_grant (note);
`

/** Returns the command that starts the next version: a copy of this version with one more *expand* migration. */
function nextVersion(): readonly string[] {
  const folder = join(temporaryFolder(), 'next')
  mkdirSync(join(folder, 'test'), { recursive: true })
  for (const part of ['src', 'views', 'config', 'package.json', 'test/support', patientWorker])
    cpSync(join(root, part), join(folder, part), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  writeFileSync(join(folder, 'src/platform/store/migrations', NEXT_FILE), NEXT_MIGRATION)
  return [process.execPath, join(folder, patientWorker)]
}

describe('an upgrade beside a running service', () => {
  // [threat 36]
  it('does not fail requests on SQLite, and can be undone', async () => {
    await upgrade({ DATA_DIR: await dataFolderWithDemo() }, async (work) => await work())
  })

  it('does not fail requests on PostgreSQL while a backup blocks its migration, and can be undone', async function () {
    const storage = await postgresWithDemo(requireProgram(this, 'postgres'))
    await upgrade(storage, async (work) => {
      // Like pg_dump, this transaction holds a lock on the table, and `alter table` waits for it.
      const client = await connectTo(storage.DATABASE_URL)
      await client.query('begin; select count(*) from oauth_grant')
      const [result] = await Promise.all([work(), delay(2_000).then(() => client.end())])
      return result
    })
  })
})

it('a migration on PostgreSQL that waits for a locked table does not block readers of the table', async function () {
  const { DATABASE_URL: url } = await postgresWithDemo(requireProgram(this, 'postgres'))
  const migrationsFolder = temporaryFolder()
  cpSync(join(root, 'src/platform/store/migrations'), migrationsFolder, { recursive: true })
  writeFileSync(join(migrationsFolder, NEXT_FILE), 'alter table person add column note text;')
  const location = { kind: 'postgres', url, connectionsMax: 2 } as const
  await using reader = await openDatabase(location, patiently)
  const holder = await connectTo(url)
  await holder.query('begin; select count(*) from person')

  let held = true
  const release = delay(HELD_MS).then(async () => {
    held = false
    await holder.end()
  })
  const migrated = openDatabase(location, { ...patiently, migrationsFolder })
  let slowestMs = 0
  while (held) {
    const startedMs = performance.now()
    await reader.kysely.selectFrom('person').select('id').limit(1).execute()
    slowestMs = Math.max(slowestMs, performance.now() - startedMs)
  }
  await release
  expect(slowestMs).to.be.lessThan(HELD_MS / 2)
  await (await migrated)[Symbol.asyncDispose]()
})

/** If readers queued behind the waiting migration, they would wait this long. */
const HELD_MS = 4_000

/** The exit of a process that ended by itself and without an error. */
const ended = { code: 0, signal: null }

type During = <Result>(work: () => Promise<Result>) => Promise<Result>

async function upgrade(storage: Variables, during: During): Promise<void> {
  await using balancer = await startBalancer()
  const variables = { BASE_URL: balancer.url, ...storage }
  await using former = await startProcess(variables, patientService)
  balancer.serve([former.url])
  const traffic = startTraffic(balancer.url)
  const ofFormer = await obtainTokens(balancer.url)
  await traffic.progress()

  await using next = await during(async () => await startProcess(variables, nextVersion()))
  await traffic.progress()
  balancer.serve([former.url, next.url])
  await traffic.progress()

  balancer.serve([next.url])
  const ofNext = await obtainTokens(balancer.url)
  for (const { url } of [former, next])
    for (const { accessToken } of [ofFormer, ofNext])
      expect((await userinfo(url, accessToken)).status).to.equal(200)
  expect((await refresh(former.url, ofNext.refreshToken)).status).to.equal(200)
  expect((await refresh(next.url, ofFormer.refreshToken)).status).to.equal(200)

  await traffic.progress()
  expect(await former.stop()).to.deep.include(ended)
  await traffic.progress()

  // Undo the upgrade: start the former version on the migrated database.
  await using again = await startProcess(variables, patientService)
  balancer.serve([again.url])
  await traffic.progress()
  expect(await next.stop()).to.deep.include(ended)
  await traffic.progress()
  expect((await userinfo(balancer.url, ofNext.accessToken)).status).to.equal(200)

  const { count, others } = await traffic.stop()
  expect(count).to.be.greaterThan(50)
  expect(others, 'answers that were not 200').to.deep.equal([])
}
