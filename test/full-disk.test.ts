import { sql } from 'kysely'

import { paths } from '../src/platform/http/paths.ts'
import { mutationOf, startOperator } from './support/admin-api.ts'
import { startService } from './support/gatehouse.ts'
import { get } from './support/wire.ts'

it('a full disk answers changes with 503 and the first error, is not ready, and recovers [193]', async () => {
  await using running = await startService()
  const { kysely } = running
  const operator = await startOperator(running)
  const create = async (slug: string) =>
    await operator.ask(mutationOf('createCourse'), {
      input: { slug, title: slug, summary: 's'.repeat(1900) },
    })
  const ready = async () => (await get(running.url + paths.ready)).status

  // SQLite reports a database of the maximum size as a full disk.
  await sql`pragma max_page_count = 1`.execute(kysely)
  const statuses = new Set<number>()
  for (let turn = 0; turn < 200 && !statuses.has(503); turn += 1)
    statuses.add((await create(`s${turn}`)).status)
  expect([...statuses].filter((status) => status !== 200)).to.deep.equal([503])
  const line = running.log.map((text) => JSON.parse(text)).findLast(({ status }) => status === 503)
  expect(JSON.stringify(line)).to.match(/SQLITE_FULL|database or disk is full/)
  await sql`pragma max_page_count = 1073741823`.execute(kysely)
  expect((await create('after')).status).to.equal(200)

  // With query_only, reads still work, as on a full disk.
  await sql`pragma query_only = on`.execute(kysely)
  expect(await ready()).to.equal(503)
  await sql`pragma query_only = off`.execute(kysely)
  expect(await ready()).to.equal(200)
})
