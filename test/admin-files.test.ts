import { createHash } from 'node:crypto'
import { globSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'

import { readScope } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { rangeOf } from '../src/school/files/download-routes.ts'
import { fitsName, kindOfFile } from '../src/school/files/file-kinds.ts'
import { s3Storage } from '../src/school/files/file-storage.ts'
import { operatorSite, startOperator } from './support/admin-api.ts'
import { change, remove, rowOf } from './support/database.ts'
import { pdf, png, type Sending, sendFile } from './support/files.ts'
import { policyWith } from './support/gatehouse.ts'
import { readTool } from './support/mcp.ts'
import { memberReader } from './support/member-api.ts'
import { eventually, temporaryFolder } from './support/programs.ts'
import { rejection } from './support/rejection.ts'
import { serve } from './support/serve.ts'
import { forEachDatabase, type Start } from './support/storages.ts'
import { answerOf, type Json, refusalOf } from './support/wire.ts'

const PRODUCT = 'dig_shot_list'
const GONE = '410 invalid_request'
const large = Buffer.alloc(100_001, pdf)
const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>')

/** Starts a service with an adjustable clock. Removes the files of the demo campus, because these tests count files. */
function siteWithoutFiles(start: Start) {
  const clock = { ms: Date.now() }
  const files = { fileBytesMax: 100_000, siteBytesMax: 400_000 }
  const site = operatorSite(start, { now: () => clock.ms, policy: policyWith({ files }) })
  before(async () => {
    await change(site.kysely(), 'digital_product', {}, { file_id: null })
    await remove(site.kysely(), 'stored_file')
    rmSync(join(site.running().config.dataDir, 'files'), { recursive: true, force: true })
  })
  const onDisk = () => globSync('files/*/*', { cwd: site.running().config.dataDir })
  return { ...site, clock, onDisk }
}

forEachDatabase('files of a site', (start) => {
  const site = siteWithoutFiles(start)
  const { running, operator, value, refused, audited, kysely, clock, onDisk } = site

  const send = async (sending: Partial<Sending> = {}) =>
    await sendFile({ ...operator(), name: 'shots.pdf', bytes: pdf, ...sending })
  const find = async (search: string) =>
    (await value(`{ files(search: "${search}") { nodes { id name } } }`)).nodes
  const setFile =
    'mutation ($productId: ID!, $fileId: ID) { setDigitalProductFile(productId: $productId, fileId: $fileId) { id file { id } } }'
  const give = async (fileId: string | null) => await value(setFile, { productId: PRODUCT, fileId })
  const removal = 'mutation ($id: ID!) { deleteFile(id: $id) { deletedId } }'
  const deleteFile = async (id: string) => await value(removal, { id })

  it('are stored once for each content and name, also if sent several times at once, audited, and listed', async () => {
    const [first, second, again] = [await send(), await send({ name: 'Ä other.pdf' }), await send()]
    expect([first.status, second.status, again.status]).to.deep.equal([201, 201, 200])
    expect(again.body).to.deep.equal(first.body)
    const { sha256 } = second.body
    const described = { name: 'shots.pdf', mediaType: 'application/pdf', sizeBytes: pdf.length }
    expect(first.body).to.include({ ...described, sha256 })
    const all = await value('{ files { totalCount nodes { id name mediaType sizeBytes sha256 } } }')
    expect(all.totalCount).to.equal(2)
    expect(all.nodes).to.deep.include(first.body)
    expect(await find('Ä OTHER')).to.deep.equal([{ id: second.body.id, name: 'Ä other.pdf' }])
    const [event] = await audited('file.create')
    expect(event).to.include({ actor_person_id: 'per_olivia', site_id: 'sit_northlight' })
    await deleteFile(second.body.id)
    expect(onDisk()).to.have.length(1)
    const atOnce = await Promise.all([1, 2, 3].map(() => send({ name: 'at-once.pdf' })))
    expect(new Set(atOnce.map(({ body }) => body.id)).size).to.equal(1)
    expect(onDisk()).to.have.length(2)
    await deleteFile(atOnce[0]?.body.id)
  })

  it('are limited to a few slow uploads at once', async () => {
    const stopping = new AbortController()
    const unfinished = async () => {
      const bytes = new ReadableStream({ start: (controller) => controller.enqueue(pdf) })
      await send({ bytes, signal: stopping.signal }).catch(() => undefined)
    }
    const before = onDisk().length
    const slow = Array.from({ length: 16 }, unfinished)
    await eventually(10_000, async () => expect(onDisk().length - before).to.equal(16))
    const limited = await send({ name: 'one-more.pdf' })
    expect(refusalOf(limited)).to.equal('429 too_many_requests')
    expect(limited.headers.get('retry-after')).to.equal('5')
    stopping.abort()
    await Promise.all(slow)
    await eventually(10_000, async () => expect(onDisk().length).to.equal(before))
    const { status, body } = await send({ name: 'one-more.pdf' })
    expect(status).to.equal(201)
    await deleteFile(body.id)
  })

  // [threat 30]
  it('are refused when their bytes, type and name disagree, and leave nothing', async () => {
    const before = onDisk()
    const otherType =
      /: its content is application\/pdf, but its Content-Type is image\/png; correct the Content-Type$/
    const otherName =
      /: its content is application\/pdf, but its name does not end in \.pdf; rename it$/
    const unknown = /: its content has none of the supported types: image\/png, /
    for (const [sending, reason] of [
      [{ name: 'logo.svg', bytes: svg, mediaType: 'image/svg+xml' }, unknown],
      [{ name: 'logo.png', bytes: svg }, unknown],
      [{ name: 'a.html', bytes: Buffer.from('<!doctype html>') }, unknown],
      [{ mediaType: 'image/png' }, otherType],
      [{ name: 'shots.html' }, otherName],
    ] as const) {
      const answer = await send(sending)
      expect(refusalOf(answer)).to.equal('415 unsupported_file')
      expect(answer.body.error_description).to.match(reason)
    }
    expect(onDisk()).to.deep.equal(before)
  })

  it('need the scope, content, and a name that is not a path', async () => {
    const names = ['', ' ', '../x.pdf', 'a/b.pdf', 'a\\b.pdf', '.pdf', 'a\r\n.pdf', 'a\0.pdf']
    for (const name of [...names, `${'x'.repeat(200)}.pdf`])
      expect(refusalOf(await send({ name })), JSON.stringify(name)).to.equal('400 invalid_request')
    expect(refusalOf(await send({ bytes: Buffer.alloc(0) }))).to.equal('400 invalid_request')
    const { token } = await startOperator(running(), { scopes: [readScope('courses')] })
    const { headers } = await send({ token })
    expect(headers.get('www-authenticate')).to.include('courses:read storage:write"')
  })

  it('are refused beyond the limits of a file and of a site, with and without a declared length, and leave nothing', async () => {
    const before = onDisk()
    for (const bytes of [large, new Blob([large]).stream()])
      expect(refusalOf(await send({ bytes }))).to.equal('413 invalid_request')
    const sent = []
    for (const index of [1, 2, 3, 4, 5])
      sent.push(await send({ name: `${index}.pdf`, bytes: Buffer.alloc(90_000 + index, pdf) }))
    expect(sent.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201, 413])
    expect(sent[4]?.body.error).to.equal('limit_reached')
    for (const { body } of sent.slice(0, 4)) await deleteFile(body.id)
    expect(onDisk()).to.deep.equal(before)
  })

  it('leave nothing when the upload breaks off', async () => {
    const before = onDisk()
    const outgoing = request(`${running().url}${paths.adminFiles}?name=cut.pdf`, {
      method: 'POST',
      headers: { authorization: `Bearer ${operator().token}`, 'content-length': '50000' },
    })
    outgoing.on('error', () => {})
    outgoing.write(Buffer.alloc(1000, pdf))
    await eventually(10_000, async () => expect(onDisk()).to.have.length(before.length + 1))
    outgoing.destroy()
    await eventually(10_000, async () => expect(onDisk()).to.deep.equal(before))
    expect(await find('cut')).to.be.empty
  })

  describe('as downloads of members', () => {
    const bought = async () => {
      const { viewer } = await (await memberReader(running().url))(
        '{ viewer { digitalProducts { nodes { id fileName downloadUrl files { name sizeBytes mediaType } } } } }',
      )
      return viewer.digitalProducts.nodes.find(({ id }: Json) => id === 'pur_sam_shot_list')
    }
    const statusOf = async (address: string) => (await fetch(address)).status

    it('are sent whole or in part, as attachments that browsers do not display', async () => {
      expect(await bought()).to.deep.include({ downloadUrl: null, files: [] })
      const name = 'Zwölf "Einstellungen".pdf'
      const { id } = (await send({ name })).body
      expect((await give(id)).file).to.deep.equal({ id })
      const { downloadUrl, ...product } = await bought()
      const files = [{ name, sizeBytes: pdf.length, mediaType: 'application/pdf' }]
      expect(product).to.deep.include({ fileName: name, files })
      const whole = await fetch(downloadUrl)
      expect(whole.status).to.equal(200)
      expect(Buffer.from(await whole.arrayBuffer()).equals(pdf)).to.equal(true)
      expect(Object.fromEntries(whole.headers)).to.include({
        'content-type': 'application/pdf',
        'content-length': String(pdf.length),
        'content-disposition':
          'attachment; filename="Zw_lf _Einstellungen_.pdf"; ' +
          "filename*=UTF-8''Zw%C3%B6lf%20%22Einstellungen%22.pdf",
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox; frame-ancestors 'none'",
        'cache-control': 'private, no-store',
        'accept-ranges': 'bytes',
      })
      const size = pdf.length
      for (const [range, ifRange, expected] of [
        ['bytes=2-5', '', [206, `bytes 2-5/${size}`, 4]],
        ['bytes=-3', '', [206, `bytes ${size - 3}-${size - 1}/${size}`, 3]],
        ['bytes=9999-', '', [416, `bytes */${size}`, 0]],
        ['bytes=2-5', '"another"', [200, null, size]],
      ] as const) {
        const response = await fetch(downloadUrl, { headers: { range, 'if-range': ifRange } })
        const contentRange = response.headers.get('content-range')
        const seen = [response.status, contentRange, (await response.text()).length]
        expect(seen).to.deep.equal(expected)
      }
      const head = await fetch(downloadUrl, { method: 'HEAD' })
      expect(head.headers.get('content-length')).to.equal(String(size))
      // Until it expires, the URL gives access like a token, so the log must not contain it.
      expect(running().log.join('')).not.to.include(new URL(downloadUrl).pathname)
    })

    it('have URLs that cannot be altered and that expire with time, the purchase, the role, the account and the file', async () => {
      const address = (await bought()).downloadUrl
      expect(await statusOf(address)).to.equal(200)
      expect(await statusOf(address.replace(/\.pdf$/, '.txt'))).to.equal(404)
      const [, token = ''] = /files\/([^/]+)\//.exec(address) ?? []
      const forged = Buffer.from(token, 'base64url')
      forged[forged.length - 3] = (forged[forged.length - 3] ?? 0) ^ 1
      expect(await statusOf(address.replace(token, forged.toString('base64url')))).to.equal(404)
      clock.ms += 601_000
      expect(await statusOf(address)).to.equal(404)
      clock.ms -= 601_000
      expect(await statusOf(address)).to.equal(200)
      const purchase = { id: 'pur_sam_shot_list' }
      const { order_id } = await rowOf(kysely(), 'digital_product_purchase', purchase)
      const refund = (refunded_at: number | null) =>
        change(kysely(), 'customer_order', { id: String(order_id) }, { refunded_at })
      const disable = (disabled_at: number | null) =>
        change(kysely(), 'person', { id: 'per_sam' }, { disabled_at })
      const hold = (person_id: string, by: string) =>
        change(kysely(), 'site_role', { person_id: by }, { person_id })
      for (const [end, restore] of [
        [() => refund(1), () => refund(null)],
        [() => disable(1), () => disable(null)],
        [() => hold('per_june', 'per_sam'), () => hold('per_sam', 'per_june')],
      ] as const) {
        await end()
        expect(await statusOf(address), String(end)).to.equal(404)
        await restore()
        expect(await statusOf(address), String(restore)).to.equal(200)
      }
      await give((await send({ name: 'next.pdf' })).body.id)
      expect(await statusOf(address), 'the address is for the file before').to.equal(404)
    })

    it('cannot be deleted while a product uses them, and changes are audited', async () => {
      const { body } = await send({ name: 'next.pdf' })
      expect(await refused(removal, { id: body.id })).to.equal('CONFLICT')
      await give(null)
      expect((await bought()).downloadUrl).to.equal(null)
      await deleteFile(body.id)
      expect(await refused(removal, { id: body.id })).to.equal('NOT_FOUND')
      const events = await audited('digital_product.file')
      expect(events.map((one) => one.actor_person_id)).to.deep.equal(events.map(() => 'per_olivia'))
      const before = events.map((event) => JSON.parse(event.before ?? '').fileId)
      expect(before).to.have.length(3)
      expect(before.filter((fileId) => fileId === null)).to.have.length(1)
    })
  })
})

forEachDatabase('one-time links for uploads', (start) => {
  const { running, operator, value, audited, kysely, clock, onDisk } = siteWithoutFiles(start)

  const request = async (purpose = 'DOWNLOAD'): Promise<string> =>
    (await value(`mutation { requestUpload(purpose: ${purpose}) { url expiresAt } }`)).url
  const put = async (url: string, name = 'guide.pdf', body = pdf) =>
    await answerOf(await fetch(`${url}?${new URLSearchParams({ name })}`, { method: 'PUT', body }))
  const submit = async (url: string, name = 'guide.pdf', bytes = pdf) => {
    const body = new FormData()
    body.set('file', new File([bytes], name, { type: 'application/pdf' }))
    return await answerOf(await fetch(url, { method: 'POST', body }))
  }
  const files = async () => (await value('{ files { nodes { id name sizeBytes } } }')).nodes
  afterEach(async () => await remove(kysely(), 'stored_file'))

  it('accept one file from an MCP host, for the tools that need it', async () => {
    const { url: origin, token } = operator()
    const { url, expiresAt } = await readTool(origin, 'request_upload', { token })
    expect(Date.parse(expiresAt)).to.equal(clock.ms + 600_000)
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
    expect(sent.text).to.include(file.id)
  })

  // [460]
  it('accept one upload, even if several arrive at once, and expire after ten minutes', async () => {
    const [used, raced, expired] = [await request(), await request(), await request()]
    await put(used)
    expect([refusalOf(await put(used)), (await submit(used)).status]).to.deep.equal([GONE, 410])
    const names = ['1.pdf', '2.pdf', '3.pdf']
    const sent = await Promise.all(names.map(async (name) => await put(raced, name)))
    expect(sent.map(({ status }) => status).sort()).to.deep.equal([201, 410, 410])
    clock.ms += 600_000
    expect(refusalOf(await put(expired))).to.equal(GONE)
    expect((await fetch(expired)).status).to.equal(410)
    clock.ms -= 600_000
    expect(await files()).to.have.length(2)
  })

  // [462]
  it('are not used up by a rejected file', async () => {
    const [url, logo, before] = [await request(), await request('LOGO'), onDisk()]
    for (const [to, name, bytes, refusal, sentence] of [
      [url, 'guide.pdf', large, '413 invalid_request', 'too large'],
      [url, 'guide.png', pdf, '415 unsupported_file', 'This type of file'],
      [url, 'a.svg', svg, '415 unsupported_file', 'This type of file'],
      [url, '../x.pdf', pdf, '400 invalid_request', 'The file is empty'],
      [url, 'x.pdf', Buffer.alloc(0), '400 invalid_request', 'The file is empty'],
      [logo, 'guide.pdf', pdf, '415 unsupported_file', 'This type of file'],
    ] as const) {
      expect(refusalOf(await put(to, name, bytes)), name).to.equal(refusal)
      const { status, text } = await submit(to, name, bytes)
      expect(refusal, name).to.match(new RegExp(`^${status} `))
      expect(text, name).to.include(sentence)
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
  it('cannot be guessed, and stop working when the client loses access or the person loses the role', async () => {
    const url = await request()
    const sealed = url.replace(/[^/]*\.(?=[^/]*$)/, 'AAAA.')
    for (const wrong of [`${url}x`, url.slice(0, -1), sealed, `${url}.x`])
      expect(refusalOf(await put(wrong)), wrong).to.equal(GONE)
    const owner = { site_id: 'sit_northlight', role: 'owner' } as const
    await change(kysely(), 'site_role', owner, { person_id: 'per_sam' })
    expect(refusalOf(await put(url))).to.equal(GONE)
    await change(kysely(), 'site_role', owner, { person_id: 'per_olivia' })
    const own = await request()
    await change(kysely(), 'oauth_grant', {}, { ended_at: 1, end_reason: 'the client revoked it' })
    expect(refusalOf(await put(own))).to.equal(GONE)
    expect(await files().catch(() => [])).to.deep.equal([])
  })
})

describe('the kind of a file', () => {
  const zip = `PK\x03\x04${'\0'.repeat(26)}`
  for (const [title, bytes, mediaType] of [
    ['a PNG', png, 'image/png'],
    ['a JPEG', Buffer.from('ffd8ffe000104a464946', 'hex'), 'image/jpeg'],
    ['a WebP', 'RIFF\x10\0\0\0WEBPVP8 ', 'image/webp'],
    ['a WAV', 'RIFF\x10\0\0\0WAVEfmt ', undefined],
    ['a GIF', 'GIF89a\x01\0\x01\0', 'image/gif'],
    ['a PDF', pdf, 'application/pdf'],
    ['a PDF behind something else', `\n${pdf}`, undefined],
    ['a ZIP', `${zip}folder/`, 'application/zip'],
    ['an EPUB', `${zip}mimetypeapplication/epub+zip`, 'application/epub+zip'],
    ['an MP3 with a tag', 'ID3\x04\0', 'audio/mpeg'],
    ['an MP3 without one', Buffer.from('fffb9064', 'hex'), 'audio/mpeg'],
    ['an AAC', Buffer.from('fff15080', 'hex'), undefined],
    ['an MP4', '\0\0\0\x18ftypmp42\0\0\0\0', 'video/mp4'],
    ['a HEIC', '\0\0\0\x18ftypheic\0\0\0\0', undefined],
    ['an SVG', '<?xml version="1.0"?><svg/>', undefined],
    ['a page', '<!doctype html><script>1</script>', undefined],
    ['a script', '#!/bin/sh\n', undefined],
    ['nothing', '', undefined],
  ] as const) {
    it(`of ${title} is ${mediaType ?? 'unknown'}`, () => {
      const head = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes
      expect(kindOfFile(head)?.mediaType).to.equal(mediaType)
    })
  }

  it('must match the file name extension, in upper or lower case', () => {
    const kind = kindOfFile(pdf)
    const fits = ['A.PDF', 'pdf', 'a.pdf.html'].map((name) => kind && fitsName(kind, name))
    expect(fits).to.deep.equal([true, false, false])
  })
})

it('a download has the requested part (RFC 9110 §14)', () => {
  expect(rangeOf('bytes=0-', 10)).to.deep.equal({ start: 0, end: 9 })
  expect(rangeOf('bytes=3-100', 10)).to.deep.equal({ start: 3, end: 9 })
  expect(rangeOf('bytes=-100', 10)).to.deep.equal({ start: 0, end: 9 })
  expect([rangeOf('bytes=10-', 10), rangeOf('bytes=-0', 10)]).to.deep.equal(['beyond', 'beyond'])
  for (const whole of ['', 'bytes=-', 'bytes=5-4', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=a-b'])
    expect(rangeOf(whole, 10), whole).to.equal(undefined)
})

it('a slow S3-compatible storage may take longer for an upload, by its size, but not for other requests', async () => {
  await using host = await serve((request, response) => {
    request.resume()
    if (request.method === 'PUT') setTimeout(() => response.end(), 600)
  })
  const keys = { region: 'x', accessKeyId: 'x', secretAccessKey: 'x' }
  const location = { endpoint: host.url, bucket: 'b', ...keys }
  const storage = s3Storage(location, { answerMs: 300, uploadBytesPerSecondMin: 10 })
  const path = join(temporaryFolder(), 'draft')
  writeFileSync(path, pdf)
  const sha256 = createHash('sha256').update(pdf).digest('hex')
  const draft = { path, sha256, sizeBytes: pdf.length, mediaType: 'application/pdf' }
  await storage.put('key', { ...draft, [Symbol.asyncDispose]: async () => {} })
  expect(await rejection(storage.get('key'))).to.include({ error: 'temporarily_unavailable' })
})
