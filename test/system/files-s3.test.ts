import { s3Storage } from '../../src/school/files/file-storage.ts'
import { startOperator } from '../support/admin-api.ts'
import { pdf, sendFile } from '../support/files.ts'
import { startService } from '../support/gatehouse.ts'
import { askMember, memberToken, readOnly } from '../support/member-api.ts'
import { startS3 } from '../support/s3.ts'
import { shared } from '../support/shared.ts'
import { askForProgram } from '../support/skipped.ts'
import { sharedService } from '../support/storages.ts'
import { refusalOf } from '../support/wire.ts'

describe('files in an S3-compatible storage [design 33]', () => {
  const server = shared(async function () {
    return await startS3(askForProgram(this, 'moto_server'))
  })
  const start = async () => await startService({ environment: server().environment })
  const running = sharedService(undefined, start)

  it('are created and deleted with their rows, and downloaded whole and in part', async () => {
    const operator = await startOperator(running())
    const ofTheDemo = await server().listKeys()
    expect(ofTheDemo).to.have.length(1)
    const sent = await sendFile({ ...operator, name: 'Shots & more.pdf', bytes: pdf })
    expect(sent.status).to.equal(201)
    expect(await server().listKeys()).to.have.length(2)

    const give = async (fileId: string | null) =>
      await operator.run(
        'mutation ($fileId: ID) { setDigitalProductFile(productId: "dig_shot_list", fileId: $fileId) { id } }',
        { fileId },
      )
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
    const refused = await storage.remove('x').catch((error: unknown) => error)
    expect(String((refused as Error).cause)).to.include('responded with 403')
  })

  it('cannot be uploaded (503) when the storage is down, and leave no row', async () => {
    const operator = await startOperator(running())
    await server().kill()
    const sent = await sendFile({ ...operator, name: 'later.pdf', bytes: pdf })
    expect(refusalOf(sent)).to.equal('503 temporarily_unavailable')
    const { files } = await operator.run('{ files(search: "later") { totalCount } }')
    expect(files.totalCount).to.equal(0)
  })
})
