import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { startOperator } from '../support/admin-api.ts'
import { remove } from '../support/database.ts'
import { pdf, sendFile } from '../support/files.ts'
import { type RunningService, startService } from '../support/gatehouse.ts'
import { sharedPostgres } from '../support/postgres.ts'
import { gatehouse, runDoctor } from '../support/process.ts'
import { temporaryFolder } from '../support/programs.ts'
import { shared } from '../support/shared.ts'
import { sharedProgram } from '../support/skipped.ts'
import { sharedDemo } from '../support/storages.ts'
import { refusalOf } from '../support/wire.ts'

const MARKER = 'files_folder'

const upload = async (host: RunningService, name: string) => {
  const operator = await startOperator(host)
  return await sendFile({ ...operator, name: `${name}.pdf`, bytes: pdf })
}
const statusOf = async (host: RunningService, name: string) => (await upload(host, name)).status

describe('hosts with one PostgreSQL', () => {
  const postgres = sharedProgram('postgres')
  const demo = sharedDemo()
  const start = async () =>
    await startService({ environment: { ...demo(), DATA_DIR: temporaryFolder() } })
  const [one, other] = [shared(start), shared(start)]

  const folderOf = ({ config }: RunningService) => join(config.dataDir, 'files')
  const doctor = async ({ config }: RunningService): Promise<string[]> => {
    const { findings } = await runDoctor({ ...demo(), DATA_DIR: config.dataDir })
    return findings.flatMap(({ check = '' }) => (/^files\.[mo]/.test(check) ? check : []))
  }

  it('refuse uploads at hosts with another folder for files, until they share it [192]', async () => {
    const [first, second] = [one(), other()]
    expect(await doctor(second), 'before the first upload').to.deep.equal([])
    const sent = await Promise.all(['one', 'two', 'three'].map((name) => statusOf(first, name)))
    expect(sent, 'the first ones, at once').to.deep.equal([201, 201, 201])

    const before = readdirSync(folderOf(second))
    const refused = await upload(second, 'four')
    expect(refusalOf(refused)).to.equal('503 temporarily_unavailable')
    expect(refused.body.error_description).to.equal(
      'the hosts of this service do not share a folder for files; the operator must mount one folder on all hosts, or set FILES_S3_*',
    )
    expect(readdirSync(folderOf(second))).to.deep.equal(before)
    expect(await doctor(second)).to.deep.equal(['files.other-folder', 'files.missing'])
    expect(await doctor(first)).to.deep.equal([])

    cpSync(folderOf(first), folderOf(second), { recursive: true })
    expect(await statusOf(second, 'four'), 'in a copy').to.equal(201)
    expect(await doctor(second)).to.deep.equal([])

    const backup = join(temporaryFolder(), 'backup')
    const DATABASE_URL = await (await sharedPostgres(postgres())).createDatabase('nothing')
    const restored = { ...demo(), DATABASE_URL, DATA_DIR: temporaryFolder() }
    await gatehouse(['backup', backup], { ...demo(), DATA_DIR: second.config.dataDir })
    await gatehouse(['restore', backup], restored)
    await using third = await startService({ environment: restored })
    expect(await statusOf(third, 'five'), 'restored').to.equal(201)
  })

  it('take a new folder in place of a lost one once the setting is deleted', async () => {
    const first = one()
    rmSync(folderOf(first), { recursive: true })
    expect(await statusOf(first, 'five')).to.equal(503)
    await remove(first.kysely, 'setting', { name: MARKER })
    expect(await statusOf(first, 'five')).to.equal(201)
    expect(await statusOf(other(), 'six'), 'the old one').to.equal(503)
  })

  it('need no marker with SQLite, which has one host', async () => {
    await using host = await startService()
    expect(await statusOf(host, 'one')).to.equal(201)
    expect(existsSync(join(folderOf(host), MARKER))).to.equal(false)
  })
})
