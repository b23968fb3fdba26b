import { paths } from '../../src/platform/http/paths.ts'
import { DiskRefused, emptyDisk, fillDisk, mountSmallDisk } from '../faults/small-disk.ts'
import { mutationOf, startOperator } from '../support/admin-api.ts'
import { exchange, obtainCode, obtainTokens, refresh, userinfo } from '../support/client.ts'
import { startService } from '../support/gatehouse.ts'
import { connectTo, startPostgres } from '../support/postgres.ts'
import { eventually } from '../support/programs.ts'
import { requireProgram, skipAndSay } from '../support/skipped.ts'
import { SECRET } from '../support/storages.ts'
import { get, refusalOf } from '../support/wire.ts'

/** Mounts a small disk that the test can fill. Skips the test if this user may not mount one. */
function mountDisk(context: Mocha.Context) {
  try {
    return mountSmallDisk()
  } catch (error) {
    if (error instanceof DiskRefused) return skipAndSay(context, 'right to mount a small disk')
    throw error
  }
}

// [193]
it('PostgreSQL on a full disk fails changes with 503 and the first error, is not ready, answers reads, and recovers', async function () {
  const file = requireProgram(this, 'postgres')
  using disk = mountDisk(this)
  await using server = await startPostgres(file, [], disk.folder)
  const DATABASE_URL = await server.createDatabase('demo')
  const environment = { DATABASE_URL, SECRET, DEMO_DATA: 'on' }
  await using service = await startService({ environment })
  const { url } = service
  const operator = await startOperator(service)
  const tokens = await obtainTokens(url)
  const { code } = await obtainCode(url)
  const ready = async () => (await get(url + paths.ready)).status
  const create = async (slug: string) => {
    const input = { slug, title: slug, summary: 's'.repeat(1900) }
    return await operator.ask(mutationOf('createCourse'), { input })
  }
  const listed = async () => (await operator.value('{ courses { totalCount } }')).totalCount
  expect([(await create('before')).status, await ready()]).to.deep.equal([200, 200])
  const before = await listed()

  fillDisk(disk.folder)
  using filled = new DisposableStack()
  filled.defer(() => emptyDisk(disk.folder))
  // A table has room until it needs another page, so fill the last page of these tables.
  await fillTables(DATABASE_URL, {
    setting: "'name', gen_random_uuid(), 'value', ''",
    refresh_token_family: "'id', gen_random_uuid(), 'seed', '', 'token', '', 'steps', ''",
  })
  let created = 0
  let answer = await create('s0')
  while (answer.status === 200 && created < 300) {
    created += 1
    answer = await create(`s${created}`)
  }
  expect(answer.status).to.equal(503)
  const line = service.log.findLast((text) => JSON.parse(text).status === 503) ?? '{}'
  expect(JSON.parse(line).cause).to.match(/could not extend file .*: No space left on device/)
  expect(refusalOf(await exchange(url, code))).to.equal('503 temporarily_unavailable')
  // The readiness check tries a write only every five seconds.
  await eventually(10_000, async () => expect(await ready()).to.equal(503))
  expect((await userinfo(url, tokens.accessToken)).status).to.equal(200)
  expect(await listed()).to.equal(before + created)

  filled.dispose()
  expect([await ready(), (await create('after')).status]).to.deep.equal([200, 200])
  expect((await exchange(url, code)).status, 'the code was not used').to.equal(200)
  expect((await refresh(url, tokens.refreshToken)).status).to.equal(200)
  expect(await listed()).to.equal(before + created + 1)
})

/** Adds short copies of a row to each table until the server has no room for another. */
async function fillTables(url: string, tables: Readonly<Record<string, string>>): Promise<void> {
  await using client = await connectTo(url)
  for (const [table, changes] of Object.entries(tables)) {
    const row = `(jsonb_populate_record(t, jsonb_build_object(${changes})))`
    const add = `insert into ${table} select ${row}.* from ${table} t limit 1`
    let refusals = 0
    for (let turn = 0; turn < 5_000 && refusals < 5; turn += 1) {
      try {
        await client.query(add)
        refusals = 0
      } catch (error) {
        expect(error).to.include({ code: '53100' })
        refusals += 1
        // A scan removes old versions of rows, which leaves room for more.
        await client.query(`select count(*) from ${table}`)
      }
    }
    expect(refusals, table).to.equal(5)
  }
}
