import { expect } from 'chai'

import { s3Storage } from '../../src/school/files/file-storage.ts'
import { startOperator } from '../support/admin-api.ts'
import { pdf, sendFile } from '../support/files.ts'
import { type RunningService, startService } from '../support/gatehouse.ts'
import { memberToken, readMember, readOnly } from '../support/member-api.ts'
import { type S3Server, startS3 } from '../support/s3.ts'
import { askForProgram } from '../support/skipped.ts'
import { refusalOf } from '../support/wire.ts'

describe('files in an S3-compatible storage [design 33]', () => {
  let server: S3Server
  let running: RunningService
  before(async function () {
    const file = askForProgram(this, 'moto_server')
    server = await startS3(file)
    running = await startService({ environment: server.environment })
  })
  after(async () => {
    await running?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
  })

  it('come and go with their rows, and are downloaded whole and in part', async () => {
    const operator = await startOperator(running)
    const ofTheDemo = await server.listKeys()
    expect(ofTheDemo).to.have.length(1)
    const sent = await sendFile({ ...operator, name: 'Shots & more.pdf', bytes: pdf })
    expect(sent.status).to.equal(201)
    expect(await server.listKeys()).to.have.length(2)

    const give = (fileId: string | null) =>
      operator.run(
        'mutation ($fileId: ID) { setDigitalProductFile(productId: "dig_shot_list", fileId: $fileId) { id } }',
        { fileId },
      )
    const { id } = sent.body
    await give(id)
    const token = await memberToken(running.url, readOnly)
    const { viewer } = await readMember<{
      viewer: { digitalProducts: { nodes: { downloadUrl: string | null }[] } }
    }>({ url: running.url, token }, '{ viewer { digitalProducts { nodes { downloadUrl } } } }')
    const address = viewer.digitalProducts.nodes.find(({ downloadUrl }) => downloadUrl)?.downloadUrl
    const whole = await fetch(String(address))
    expect(Buffer.from(await whole.arrayBuffer()).equals(pdf)).to.equal(true)
    const part = await fetch(String(address), { headers: { range: 'bytes=0-4' } })
    expect([part.status, await part.text()]).to.deep.equal([206, '%PDF-'])

    await give(null)
    await operator.run('mutation ($id: ID!) { deleteFile(id: $id) { deletedId } }', { id })
    expect(await server.listKeys()).to.deep.equal(ofTheDemo)
  })

  it('are refused by the server to a request signed with another key', async () => {
    const { environment } = server
    const storage = s3Storage({
      endpoint: String(environment['FILES_S3_ENDPOINT']),
      bucket: String(environment['FILES_S3_BUCKET']),
      region: String(environment['FILES_S3_REGION']),
      accessKeyId: String(environment['FILES_S3_ACCESS_KEY_ID']),
      secretAccessKey: 'not the key',
    })
    const refused = await storage.remove('x').catch((error: unknown) => error)
    expect(String((refused as Error).cause)).to.include('responded with 403')
  })

  it('that is away makes an upload 503, and keeps nothing of it', async () => {
    const operator = await startOperator(running)
    await server.kill()
    const sent = await sendFile({ ...operator, name: 'later.pdf', bytes: pdf })
    expect(refusalOf(sent)).to.equal('503 temporarily_unavailable')
    const { files } = await operator.run('{ files(search: "later") { totalCount } }')
    expect(files.totalCount).to.equal(0)
  })
})
