import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'

import { s3Storage } from '../../src/school/files/file-storage.ts'
import { startOperator } from '../support/admin-api.ts'
import { remove } from '../support/database.ts'
import { pdf, sendFile } from '../support/files.ts'
import { type RunningService, startService } from '../support/gatehouse.ts'
import { askMember, memberToken, readOnly } from '../support/member-api.ts'
import { sharedPostgres } from '../support/postgres.ts'
import { gatehouse, runDoctor } from '../support/process.ts'
import { temporaryFolder } from '../support/programs.ts'
import { rejection } from '../support/rejection.ts'
import { startS3 } from '../support/s3.ts'
import { shared } from '../support/shared.ts'
import { askForProgram, sharedProgram } from '../support/skipped.ts'
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

  it('do not need a marker with SQLite, which has one host', async () => {
    await using host = await startService()
    expect(await statusOf(host, 'one')).to.equal(201)
    expect(existsSync(join(folderOf(host), MARKER))).to.equal(false)
  })
})

describe('files in an S3-compatible storage [design 33]', () => {
  const server = shared(async function () {
    return await startS3(askForProgram(this, 'moto_server'))
  })
  const running = shared(() => startService({ environment: server().environment }))

  it('are created and deleted with their rows, and downloaded whole and in part', async () => {
    const operator = await startOperator(running())
    const ofTheDemo = await server().listKeys()
    expect(ofTheDemo).to.have.length(1)
    const sent = await sendFile({ ...operator, name: 'Shots & more.pdf', bytes: pdf })
    expect(sent.status).to.equal(201)
    expect(await server().listKeys()).to.have.length(2)

    const setFile =
      'mutation ($fileId: ID) { setDigitalProductFile(productId: "dig_shot_list", fileId: $fileId) { id } }'
    const give = async (fileId: string | null) => await operator.run(setFile, { fileId })
    const { id } = sent.body
    await give(id)
    const token = await memberToken(running().url, readOnly)
    const query = '{ viewer { digitalProducts { nodes { downloadUrl } } } }'
    const { body } = await askMember({ url: running().url, token }, { query })
    const [, address = ''] = /"downloadUrl":"([^"]+)"/.exec(JSON.stringify(body)) ?? []
    expect(Buffer.from(await (await fetch(address)).arrayBuffer()).equals(pdf)).to.equal(true)
    const part = await fetch(address, { headers: { range: 'bytes=0-4' } })
    expect([part.status, await part.text()]).to.deep.equal([206, '%PDF-'])

    await give(null)
    await operator.run('mutation ($id: ID!) { deleteFile(id: $id) { deletedId } }', { id })
    expect(await server().listKeys()).to.deep.equal(ofTheDemo)
  })

  it('are refused to a request signed with another key', async () => {
    const { environment } = server()
    const storage = s3Storage({
      endpoint: environment.FILES_S3_ENDPOINT,
      bucket: environment.FILES_S3_BUCKET,
      region: environment.FILES_S3_REGION,
      accessKeyId: environment.FILES_S3_ACCESS_KEY_ID,
      secretAccessKey: 'not the key',
    })
    const { cause } = await rejection(storage.remove('x'))
    expect(String(cause)).to.include('responded with 403')
  })

  it('cannot be uploaded (503) when the storage is down, and leave no row', async () => {
    await server().kill()
    expect(refusalOf(await upload(running(), 'later'))).to.equal('503 temporarily_unavailable')
    const { value } = await startOperator(running())
    const { totalCount } = await value('{ files(search: "later") { totalCount } }')
    expect(totalCount).to.equal(0)
  })
})
