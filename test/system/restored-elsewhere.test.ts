import { copyFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { sql } from 'kysely'

import { obtainTokens } from '../support/client.ts'
import { type RunningService, startService } from '../support/gatehouse.ts'
import { connectTo, startPostgres } from '../support/postgres.ts'
import {
  dataFolderWithDemo,
  gatehouse as run,
  runDoctor,
  type Variables,
} from '../support/process.ts'
import { temporaryFolder } from '../support/programs.ts'
import { shared } from '../support/shared.ts'
import { sharedProgram } from '../support/skipped.ts'
import { SECRET, sharedRedis } from '../support/storages.ts'

/** Marks all stores, as the service does once a minute. */
const mark = async ({ service }: RunningService) =>
  await service.stores.tasks.find(({ name }) => name === 'restore markers')?.run()

/** Runs a service until it has marked its stores twice. */
async function serve(environment: Record<string, string>): Promise<void> {
  await using service = await startService({ environment })
  await mark(service)
  await delay(2)
  await mark(service)
}

/** Returns doctor's findings about a restore or about a store that does not respond. */
async function restoreFindings(variables: Variables): Promise<string[]> {
  return (await runDoctor(variables)).findings
    .filter(({ check = '' }) => /^restore|^(database|redis)\.silent/.test(check))
    .map(({ severity, check }) => `${severity} ${check}`)
}

describe('a database that was restored without the restore command', () => {
  // [threat 35; 191]
  it('is found to be older than its folder until grants end-all runs', async () => {
    const DATA_DIR = await dataFolderWithDemo()
    const [file, first] = [join(DATA_DIR, 'gatehouse.db'), join(temporaryFolder(), 'first.db')]
    const earlier = join(temporaryFolder(), 'earlier.db')
    expect(await restoreFindings({ DATA_DIR }), 'before the first start').to.deep.equal([])
    const backup = join(temporaryFolder(), 'backup')
    {
      await using service = await startService({ environment: { DATA_DIR } })
      await obtainTokens(service.url)
      await sql.raw(`vacuum into '${first}'`).execute(service.kysely)
      await mark(service)
      await sql.raw(`vacuum into '${earlier}'`).execute(service.kysely)
      await run(['backup', backup], { DATA_DIR })
      await mark(service)
    }
    expect(await restoreFindings({ DATA_DIR }), 'after a stop').to.deep.equal([])
    renameSync(file, join(temporaryFolder(), 'lost.db'))
    for (const copy of [first, earlier]) {
      copyFileSync(copy, file)
      expect(await restoreFindings({ DATA_DIR }), copy).to.deep.equal(['wrong restore.older'])
    }

    // A service on the older database logs that DATA_DIR is newer, and does not replace the marker there.
    await using service = await startService({ environment: { DATA_DIR } })
    for (const _ of [1, 2]) await mark(service)
    const newer = service.log.filter((line) => /but the state of DATA_DIR is newer/.test(line))
    expect(newer).to.have.length(2)
    expect(await restoreFindings({ DATA_DIR })).to.deep.equal(['wrong restore.older'])
    await run(['grants', 'end-all', '--yes'], { DATA_DIR })
    await mark(service)
    expect(await restoreFindings({ DATA_DIR })).to.deep.equal([])

    const restored = { DATA_DIR: join(temporaryFolder(), 'data') }
    await run(['restore', backup], restored)
    expect(await restoreFindings(restored), 'our own restore').to.deep.equal([])
  })

  describe('into PostgreSQL', () => {
    const [postgres, redis] = [sharedProgram('postgres'), sharedRedis()]
    // Without an archive, a recovery ends at once, on a new timeline.
    const settings = ['restore_command=false', 'synchronous_commit=on']
    const server = shared(async () => await startPostgres(postgres(), settings))

    const query = async (url: string, text: string) => {
      await using client = await connectTo(url)
      return (await client.query(text)).rows
    }
    const variablesOf = (DATABASE_URL: string, more: Record<string, string> = {}) => ({
      ...{ SECRET, DATA_DIR: temporaryFolder(), DEMO_DATA: 'on', DATABASE_URL },
      ...more,
    })

    it('is found to be older than Redis or another database, but not if Redis was emptied [194]', async () => {
      const REDIS_URL = redis().url
      const url = await server().createDatabase('demo')
      const variables = variablesOf(url, { REDIS_URL })
      const copy = variablesOf(`${url}_copy`, { REDIS_URL })
      await serve(variables)
      const backup = join(temporaryFolder(), 'backup')
      await run(['backup', backup], variables)
      const name = new URL(url).pathname.slice(1)
      await query(url.replace(name, 'postgres'), `create database ${name}_copy template ${name}`)
      await serve(variables)
      expect(await restoreFindings(variables)).to.deep.equal([])
      expect(await restoreFindings(copy)).to.deep.equal(['wrong restore.older'])

      const target = variablesOf(await server().createDatabase('nothing'), { REDIS_URL })
      await run(['restore', backup, '--keep-grants'], target)
      expect(await restoreFindings(target), 'our own restore').to.deep.equal([])

      await redis().ask('FLUSHALL')
      expect(await restoreFindings(variables)).to.deep.equal([])
      expect(await restoreFindings(copy)).to.deep.equal(['weak restore.timeline'])
    })

    it('is on another timeline, until grants end-all runs or a failover is accepted [194]', async () => {
      const url = await server().createDatabase('demo')
      const folder = "select setting from pg_settings where name = 'data_directory'"
      const [{ setting }] = await query(url, folder)
      // Use an ordinary role, which is sufficient to read the timeline.
      await query(url, 'create role plain login; grant all on schema public to plain')
      await query(url, 'grant all on all tables in schema public to plain')
      const variables = variablesOf(url.replace('postgres@', 'plain@'))
      await serve(variables)
      const recover = async () => {
        writeFileSync(join(setting, 'recovery.signal'), '')
        await server().restart()
      }
      await recover()
      expect(await restoreFindings(variables)).to.deep.equal(['weak restore.timeline'])
      await run(['grants', 'end-all', '--yes'], variables)
      expect(await restoreFindings(variables)).to.deep.equal([])
      await serve(variables)
      await recover()
      expect(await restoreFindings(variables)).to.deep.equal(['weak restore.timeline'])
      await query(url, "update setting set value = '' where name = 'restore_marker'")
      expect(await restoreFindings(variables)).to.deep.equal([])
      await serve(variables)
      expect(await restoreFindings(variables)).to.deep.equal([])
    })
  })
})
