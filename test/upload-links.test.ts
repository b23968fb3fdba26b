import { globSync } from 'node:fs'

import { writeScope } from '../src/directory/scopes/catalogue.ts'
import { operatorSite, startOperator } from './support/admin-api.ts'
import { change } from './support/database.ts'
import { pdf, png, removeDemoFiles } from './support/files.ts'
import { policyWith } from './support/gatehouse.ts'
import { readTool } from './support/mcp.ts'
import { forEachDatabase } from './support/storages.ts'
import { answerOf, refusalOf } from './support/wire.ts'

const GONE = '410 invalid_request'
const large = Buffer.alloc(100_001, pdf)

forEachDatabase('one-time links for uploads', (start) => {
  let nowMs = Date.now()
  const { running, operator, value, audited, kysely } = operatorSite(start, {
    now: () => nowMs,
    policy: policyWith({ files: { fileBytesMax: 100_000 } }),
  })
  before(async () => await removeDemoFiles(running()))

  const request = async (purpose = 'DOWNLOAD'): Promise<string> =>
    (await value(`mutation { requestUpload(purpose: ${purpose}) { url expiresAt } }`)).url
  const put = async (url: string, name = 'guide.pdf', body = pdf, method = 'PUT') =>
    await answerOf(await fetch(`${url}?${new URLSearchParams({ name })}`, { method, body }))
  const submit = async (url: string, name = 'guide.pdf', bytes = pdf) => {
    const body = new FormData()
    body.set('file', new File([bytes], name, { type: 'application/pdf' }))
    const response = await fetch(url, { method: 'POST', body })
    return { status: response.status, page: await response.text() }
  }
  const files = async () => (await value('{ files { nodes { id name sizeBytes } } }')).nodes
  const onDisk = () => globSync('files/*/*', { cwd: running().config.dataDir })
  afterEach(async () => await kysely().deleteFrom('stored_file').execute())

  it('take the bytes of a host once, for the tools that need the file', async () => {
    const { url: origin, token } = operator()
    const { url, expiresAt } = await readTool(origin, 'request_upload', { token })
    expect(Date.parse(expiresAt)).to.equal(nowMs + 600_000)
    const sent = await put(url)
    expect(sent.status).to.equal(201)
    expect(sent.headers.get('cache-control')).to.equal('no-store')
    const { nodes } = await readTool(origin, 'list_site_files', { token })
    expect(nodes[0]).to.include({ id: sent.body.id, name: 'guide.pdf', sizeBytes: pdf.length })
    const values = { productId: 'dig_shot_list', fileId: sent.body.id }
    await readTool(origin, 'set_digital_product_file', { token, values })
    await change(kysely(), 'digital_product', {}, { file_id: null })
    const [made] = await audited('upload_link.create')
    const [stored] = await audited('file.create')
    expect(stored).to.include({ actor_person_id: 'per_olivia', site_id: 'sit_northlight' })
    expect(stored?.client_id).to.equal(made?.client_id)
    expect(JSON.parse(stored?.after ?? '').uploadLink).to.equal(JSON.parse(made?.after ?? '').id)
    expect(running().log.join('')).not.to.include(new URL(url).pathname)
  })

  // [threat 30; 464]
  it('show a person a form, which takes one file of any length and name', async () => {
    const url = await request()
    for (const method of ['GET', 'HEAD', 'GET']) {
      const shown = await fetch(url, { method })
      expect(shown.headers.get('referrer-policy')).to.equal('no-referrer')
      expect(shown.headers.get('content-security-policy')).to.include("frame-ancestors 'none'")
      expect(shown.status).to.equal(200)
    }
    const page = await (await fetch(url, { headers: { 'accept-language': 'de' } })).text()
    expect(page).to.include('Datei hochladen').and.include('Northlight')
    const bytes = Buffer.concat([pdf, Buffer.alloc(80_000, '\r\n--')])
    const sent = await submit(url, 'Ä "x".pdf', bytes)
    expect(sent.status).to.equal(201)
    const [file] = await files()
    expect(file).to.include({ name: 'Ä "x".pdf', sizeBytes: bytes.length })
    expect(sent.page).to.include(file.id)
  })

  // [460]
  it('serve one upload, also of several at once, and end after ten minutes', async () => {
    const [used, raced, expired] = [await request(), await request(), await request()]
    await put(used)
    expect([refusalOf(await put(used)), (await submit(used)).status]).to.deep.equal([GONE, 410])
    const names = ['1.pdf', '2.pdf', '3.pdf']
    const sent = await Promise.all(names.map(async (name) => await put(raced, name)))
    expect(sent.map(({ status }) => status).sort()).to.deep.equal([201, 410, 410])
    nowMs += 600_000
    expect(refusalOf(await put(expired))).to.equal(GONE)
    expect((await fetch(expired)).status).to.equal(410)
    nowMs -= 600_000
    expect(await files()).to.have.length(2)
  })

  // [462]
  it('are used by no rejected file', async () => {
    const [url, logo, before] = [await request(), await request('LOGO'), onDisk()]
    const script = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>')
    const rejected = [
      [url, 'guide.pdf', large, '413 invalid_request', 'too large'],
      [url, 'guide.png', pdf, '415 unsupported_file', 'This type of file'],
      [url, 'a.svg', script, '415 unsupported_file', 'This type of file'],
      [url, '../x.pdf', pdf, '400 invalid_request', 'The file is empty'],
      [url, 'x.pdf', Buffer.alloc(0), '400 invalid_request', 'The file is empty'],
      [logo, 'guide.pdf', pdf, '415 unsupported_file', 'This type of file'],
    ] as const
    for (const [to, name, bytes, refusal, sentence] of rejected) {
      expect(refusalOf(await put(to, name, bytes)), name).to.equal(refusal)
      const { status, page } = await submit(to, name, bytes)
      expect(refusal, name).to.match(new RegExp(`^${status} `))
      expect(page, name).to.include(sentence)
    }
    for (const body of ['', '--x\r\n\r\n', '--y\r\nA: b\r\n\r\n', `--x\r\n${'A'.repeat(9000)}`]) {
      const headers = { 'content-type': 'multipart/form-data; boundary=x' }
      expect((await fetch(url, { method: 'POST', body, headers })).status).to.equal(400)
    }
    expect([await files(), onDisk()]).to.deep.equal([[], before])
    const stored = [await put(url), await put(logo, 'logo.png', png)]
    expect(stored.map(({ status }) => status)).to.deep.equal([201, 201])
  })

  // [461, 463]
  it('cannot be guessed, and end with the access of the client or the role of the person', async () => {
    const url = await request()
    const sealed = url.replace(/[^/]*\.(?=[^/]*$)/, 'AAAA.')
    for (const wrong of [`${url}x`, url.slice(0, -1), sealed, `${url}.x`])
      expect(refusalOf(await put(wrong)), wrong).to.equal(GONE)
    const role = (from: string, to: string) =>
      kysely().updateTable('site_role').set({ person_id: to }).where('person_id', '=', from)
    await role('per_olivia', 'per_sam').where('site_id', '=', 'sit_northlight').execute()
    expect(refusalOf(await put(url))).to.equal(GONE)
    await role('per_sam', 'per_olivia').where('role', '=', 'owner').execute()
    const own = await request()
    await change(kysely(), 'oauth_grant', {}, { ended_at: 1, end_reason: 'the client revoked it' })
    expect(refusalOf(await put(own))).to.equal(GONE)
    expect(await files().catch(() => [])).to.deep.equal([])
  })

  it('need the scope', async () => {
    const reader = await startOperator(running(), { scopes: [writeScope('courses')] })
    expect((await reader.ask('mutation { requestUpload { url } }')).status).to.equal(403)
  })
})
