import { once } from 'node:events'
import { globSync } from 'node:fs'
import { request } from 'node:http'

import { expect } from 'chai'

import { readScope } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { attachment, rangeOf } from '../src/school/files/download-routes.ts'
import { fitsName, kindOf } from '../src/school/files/file-kinds.ts'
import { type Operator, startOperator } from './support/admin-api.ts'
import { pdf, png, removeDemoFiles, type Sending, sendFile } from './support/files.ts'
import type { RunningService } from './support/gatehouse.ts'
import { memberToken, readMember, readOnly } from './support/member-api.ts'
import { eventually } from './support/programs.ts'
import { forEachDatabase } from './support/storages.ts'
import { answerOf, refusalOf } from './support/wire.ts'

const OTHER_SITE = 'sit_open_kitchen'
const PRODUCT = 'dig_shot_list'

forEachDatabase('files of a site', (start) => {
  let running: RunningService
  let operator: Operator
  let nowMs = Date.now()
  before(async () => {
    running = await start({
      now: () => nowMs,
      policy: (policy) => ({
        ...policy,
        files: { ...policy.files, fileBytesMax: 100_000, siteBytesMax: 400_000 },
      }),
    })
    await removeDemoFiles(running)
    operator = await startOperator(running)
  })
  after(async () => await running?.[Symbol.asyncDispose]())

  const send = async (sending: Partial<Sending> = {}) =>
    await sendFile({ ...operator, name: 'shots.pdf', bytes: pdf, ...sending })
  /** Everything on the disk of the service: files, and uploads on their way. */
  const onDisk = () => globSync('files/*/*', { cwd: running.config.dataDir })
  const kysely = () => running.service.stores.database.kysely
  const give = async (fileId: string | null, productId = PRODUCT) =>
    await operator.run(
      'mutation ($productId: ID!, $fileId: ID) { setDigitalProductFile(productId: $productId, fileId: $fileId) { id file { id } } }',
      { productId, fileId },
    )
  const bought = async () => {
    const token = await memberToken(running.url, readOnly)
    const { viewer } = await readMember<{
      viewer: {
        digitalProducts: { nodes: { id: string; fileName: string; downloadUrl: string | null }[] }
      }
    }>(
      { url: running.url, token },
      '{ viewer { digitalProducts { nodes { id fileName downloadUrl } } } }',
    )
    return viewer.digitalProducts.nodes.find(({ id }) => id === 'pur_sam_shot_list')
  }
  const remove = async (id: string) =>
    await operator.run('mutation ($id: ID!) { deleteFile(id: $id) { deletedId } }', { id })

  it('are kept once for each content and name, audited, and listed', async () => {
    const [first, second, again] = [await send(), await send({ name: 'other.pdf' }), await send()]
    expect([first.status, second.status, again.status]).to.deep.equal([201, 201, 200])
    expect(again.body).to.deep.equal(first.body)
    expect(first.body).to.include({
      name: 'shots.pdf',
      mediaType: 'application/pdf',
      sizeBytes: pdf.length,
    })
    expect(second.body.sha256).to.equal(first.body.sha256)
    const { files } = await operator.run(
      '{ files { totalCount nodes { id name mediaType sizeBytes sha256 } } }',
    )
    expect(files.totalCount).to.equal(2)
    expect(files.nodes).to.deep.include(first.body)
    const found = await operator.run('{ files(search: "OTHER") { nodes { name } } }')
    expect(found.files.nodes).to.deep.equal([{ name: 'other.pdf' }])
    const [event] = await kysely()
      .selectFrom('audit_event')
      .selectAll()
      .where('action', '=', 'file.create')
      .orderBy('occurred_at')
      .execute()
    expect(event).to.include({ actor_person_id: 'per_olivia', site_id: 'sit_northlight' })
    await remove(second.body.id)
    expect(onDisk()).to.have.length(1)
  })

  it('that come slowly are few at once, whatever there is of others', async () => {
    const unfinished = () => {
      const stopping = new AbortController()
      let pulled = 0
      const slow = new ReadableStream({
        async pull(to) {
          pulled += 1
          if (pulled > 1) await once(stopping.signal, 'abort')
          else to.enqueue(new Uint8Array(pdf))
        },
      })
      const answer = send({ bytes: slow, signal: stopping.signal }).catch(() => undefined)
      return { answer, stop: () => stopping.abort() }
    }
    const before = onDisk().length
    const slow = Array.from({ length: 16 }, unfinished)
    await eventually(10_000, async () => expect(onDisk().length - before).to.equal(16))
    const refused = await send({ name: 'one-more.pdf' })
    expect([refused.status, refused.body.error]).to.deep.equal([429, 'too_many_requests'])
    expect(refused.headers.get('retry-after')).to.equal('5')
    for (const { stop } of slow) stop()
    await Promise.all(slow.map(async ({ answer }) => await answer))
    await eventually(10_000, async () => expect(onDisk().length).to.equal(before))
    expect((await send({ name: 'one-more.pdf' })).status).to.equal(201)
    const { files } = await operator.run('{ files(search: "one-more") { nodes { id } } }')
    await remove(files.nodes[0].id)
  })

  it('that come twice at once are one', async () => {
    const sent = await Promise.all([1, 2, 3].map(() => send({ name: 'at-once.pdf' })))
    expect(new Set(sent.map(({ body }) => body.id)).size).to.equal(1)
    expect(onDisk()).to.have.length(2)
    await remove(sent[0]?.body.id)
  })

  // [threat 30]
  it('are what their bytes are: markup, another type and another name are refused', async () => {
    const before = onDisk()
    const refused = async (sending: Partial<Sending>) => {
      const answer = await send(sending)
      return `${refusalOf(answer)}: ${answer.body.error_description}`
    }
    const svg = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"><script>1</script></svg>')
    expect(await refused({ name: 'logo.svg', bytes: svg, mediaType: 'image/svg+xml' })).to.match(
      /^415 unsupported_file: the file was rejected: its bytes are not one of image\/png, /,
    )
    expect(await refused({ name: 'logo.png', bytes: svg })).to.match(/^415 unsupported_file/)
    expect(await refused({ name: 'a.html', bytes: Buffer.from('<!doctype html>') })).to.match(
      /^415 unsupported_file/,
    )
    expect(await refused({ mediaType: 'image/png' })).to.equal(
      '415 unsupported_file: the file was rejected: its bytes are application/pdf, but its Content-Type is image/png',
    )
    expect(await refused({ name: 'shots.html' })).to.equal(
      '415 unsupported_file: the file was rejected: its bytes are application/pdf, but its name does not end in .pdf',
    )
    expect(onDisk()).to.deep.equal(before)
  })

  it('have names that are no paths', async () => {
    for (const name of ['', ' ', '../x.pdf', 'a/b.pdf', 'a\\b.pdf', '.pdf', 'a\r\n.pdf', 'a\0.pdf'])
      expect(refusalOf(await send({ name })), JSON.stringify(name)).to.equal('400 invalid_request')
    expect(refusalOf(await send({ name: `${'x'.repeat(200)}.pdf` }))).to.equal(
      '400 invalid_request',
    )
    expect(refusalOf(await send({ bytes: Buffer.alloc(0) }))).to.equal('400 invalid_request')
  })

  it('end at their limits, whether they say their length or not, and nothing is left', async () => {
    const before = onDisk()
    const large = Buffer.alloc(100_001, pdf)
    expect(refusalOf(await send({ bytes: large }))).to.equal('413 invalid_request')
    const bytes = new Blob([large]).stream()
    expect(refusalOf(await send({ bytes }))).to.equal('413 invalid_request')
    const sent = []
    for (const index of [1, 2, 3, 4, 5])
      sent.push(await send({ name: `${index}.pdf`, bytes: Buffer.alloc(90_000 + index, pdf) }))
    expect(sent.map(({ status }) => status)).to.deep.equal([201, 201, 201, 201, 413])
    expect(sent[4]?.body.error).to.equal('limit_reached')
    for (const { body } of sent.slice(0, 4)) await remove(body.id)
    expect(onDisk()).to.deep.equal(before)
  })

  it('that break off leave nothing', async () => {
    const before = onDisk()
    const outgoing = request(`${running.url}${paths.adminFiles}?name=cut.pdf`, {
      method: 'POST',
      headers: { authorization: `Bearer ${operator.token}`, 'content-length': '50000' },
    })
    outgoing.on('error', () => {})
    outgoing.write(Buffer.alloc(1000, pdf))
    await eventually(10_000, async () => expect(onDisk()).to.have.length(before.length + 1))
    outgoing.destroy()
    await eventually(10_000, async () => expect(onDisk()).to.deep.equal(before))
    const { files } = await operator.run('{ files(search: "cut") { totalCount } }')
    expect(files.totalCount).to.equal(0)
  })

  it('need the scope, a token, and POST', async () => {
    const reader = await startOperator(running, { scopes: [readScope('courses')] })
    const refused = await sendFile({ ...reader, name: 'shots.pdf', bytes: pdf })
    expect(refusalOf(refused)).to.equal('403 insufficient_scope')
    expect(refused.headers.get('www-authenticate')).to.include('courses:read storage:write"')
    expect(refusalOf(await send({ token: undefined }))).to.equal('401 invalid_token')
    const got = await answerOf(await fetch(running.url + paths.adminFiles))
    expect([got.status, got.headers.get('allow')]).to.deep.equal([405, 'POST'])
  })

  it('of another site are not there', async () => {
    const { body } = await send({ name: 'hers.pdf' })
    await kysely()
      .updateTable('stored_file')
      .set({ site_id: OTHER_SITE })
      .where('id', '=', body.id)
      .execute()
    const args = { id: body.id }
    expect((await operator.run('query ($id: ID!) { file(id: $id) { id } }', args)).file).to.equal(
      null,
    )
    for (const change of [
      'deleteFile(id: $id) { deletedId }',
      `setDigitalProductFile(productId: "${PRODUCT}", fileId: $id) { id }`,
    ])
      expect((await operator.refused(`mutation ($id: ID!) { ${change} }`, args)).code).to.equal(
        'NOT_FOUND',
      )
    const ours = await send()
    const theirs = { productId: 'dig_sunday_recipes', fileId: ours.body.id }
    expect(
      await operator.refused(
        'mutation ($productId: ID!, $fileId: ID) { setDigitalProductFile(productId: $productId, fileId: $fileId) { id } }',
        theirs,
      ),
    ).to.deep.include({ code: 'NOT_FOUND' })
  })

  describe('as downloads of members', () => {
    it('are sent whole and in part, to be saved and never shown', async () => {
      expect((await bought())?.downloadUrl).to.equal(null)
      const { body } = await send({ name: 'Zwölf "Einstellungen".pdf' })
      expect((await give(body.id)).setDigitalProductFile.file).to.deep.equal({ id: body.id })
      const purchase = await bought()
      expect(purchase?.fileName).to.equal('Zwölf "Einstellungen".pdf')
      const address = String(purchase?.downloadUrl)
      const whole = await fetch(address)
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
      const part = async (range: string, ifRange = '') => {
        const response = await fetch(address, { headers: { range, 'if-range': ifRange } })
        const { status, headers } = response
        return [status, headers.get('content-range'), (await response.text()).length]
      }
      const size = pdf.length
      expect(await part('bytes=2-5')).to.deep.equal([206, `bytes 2-5/${size}`, 4])
      expect(await part('bytes=-3')).to.deep.equal([
        206,
        `bytes ${size - 3}-${size - 1}/${size}`,
        3,
      ])
      expect(await part('bytes=9999-')).to.deep.equal([416, `bytes */${size}`, 0])
      expect(await part('bytes=2-5', '"another"')).to.deep.equal([200, null, size])
      const head = await fetch(address, { method: 'HEAD' })
      expect(head.headers.get('content-length')).to.equal(String(size))
      // The address is worth as much as a token for some minutes.
      expect(running.log.join('')).not.to.include(new URL(address).pathname)
    })

    it('have addresses that expire and cannot be changed', async () => {
      const address = String((await bought())?.downloadUrl)
      const status = async (url: string) => (await fetch(url)).status
      expect(await status(address)).to.equal(200)
      expect(await status(address.replace(/\.pdf$/, '.txt'))).to.equal(404)
      const [, token = ''] = /files\/([^/]+)\//.exec(address) ?? []
      const forged = Buffer.from(token, 'base64url')
      forged[forged.length - 3] = (forged[forged.length - 3] ?? 0) ^ 1
      expect(await status(address.replace(token, forged.toString('base64url')))).to.equal(404)
      nowMs += 601_000
      expect(await status(address)).to.equal(404)
      nowMs -= 601_000
      expect(await status(address)).to.equal(200)
    })

    it('end with the purchase, the role, the account and the file', async () => {
      const address = String((await bought())?.downloadUrl)
      const status = async () => (await fetch(address)).status
      const during = async (change: () => Promise<unknown>, back: () => Promise<unknown>) => {
        await change()
        const then = await status()
        await back()
        expect(await status()).to.equal(200)
        return then
      }
      const { order_id: orderId } = await kysely()
        .selectFrom('digital_product_purchase')
        .select('order_id')
        .where('id', '=', 'pur_sam_shot_list')
        .executeTakeFirstOrThrow()
      const refund = async (refunded_at: number | null) =>
        await kysely()
          .updateTable('customer_order')
          .set({ refunded_at })
          .where('id', '=', String(orderId))
          .execute()
      expect(
        await during(
          () => refund(1),
          () => refund(null),
        ),
      ).to.equal(404)
      const disable = async (disabled_at: number | null) =>
        await kysely()
          .updateTable('person')
          .set({ disabled_at })
          .where('id', '=', 'per_sam')
          .execute()
      expect(
        await during(
          () => disable(1),
          () => disable(null),
        ),
      ).to.equal(404)
      const roles = await kysely()
        .selectFrom('site_role')
        .selectAll()
        .where('person_id', '=', 'per_sam')
        .execute()
      expect(
        await during(
          () => kysely().deleteFrom('site_role').where('person_id', '=', 'per_sam').execute(),
          () => kysely().insertInto('site_role').values(roles).execute(),
        ),
      ).to.equal(404)
      const { body } = await send({ name: 'next.pdf' })
      await give(body.id)
      expect(await status(), 'the address is for the file of before').to.equal(404)
    })

    it('keep their file from being removed', async () => {
      const { body } = await send({ name: 'next.pdf' })
      const removal = 'mutation ($id: ID!) { deleteFile(id: $id) { deletedId } }'
      expect((await operator.refused(removal, { id: body.id })).code).to.equal('CONFLICT')
      await give(null)
      expect((await bought())?.downloadUrl).to.equal(null)
      await remove(body.id)
      expect((await operator.refused(removal, { id: body.id })).code).to.equal('NOT_FOUND')
    })

    it('are changed by operators, as the audit trail says', async () => {
      const events = await kysely()
        .selectFrom('audit_event')
        .select(['actor_person_id', 'before', 'after'])
        .where('action', '=', 'digital_product.file')
        .orderBy('occurred_at')
        .execute()
      expect(events).to.have.length(3)
      expect(events[0]?.actor_person_id).to.equal('per_olivia')
      const before = events.map((event) => JSON.parse(event.before ?? '').fileId)
      expect(before.filter((fileId) => fileId === null)).to.have.length(1)
    })
  })
})

describe('the kind of a file', () => {
  const cases: readonly (readonly [string, string | Buffer, string | undefined])[] = [
    ['a PNG', png, 'image/png'],
    ['a JPEG', Buffer.from('ffd8ffe000104a464946', 'hex'), 'image/jpeg'],
    ['a WebP', 'RIFF\x10\0\0\0WEBPVP8 ', 'image/webp'],
    ['a WAV', 'RIFF\x10\0\0\0WAVEfmt ', undefined],
    ['a GIF', 'GIF89a\x01\0\x01\0', 'image/gif'],
    ['a PDF', pdf, 'application/pdf'],
    ['a PDF behind something else', `\n${pdf}`, undefined],
    ['a ZIP', `PK\x03\x04${'\0'.repeat(26)}folder/`, 'application/zip'],
    ['an EPUB', `PK\x03\x04${'\0'.repeat(26)}mimetypeapplication/epub+zip`, 'application/epub+zip'],
    ['an MP3 with a tag', 'ID3\x04\0', 'audio/mpeg'],
    ['an MP3 without one', Buffer.from('fffb9064', 'hex'), 'audio/mpeg'],
    ['an AAC', Buffer.from('fff15080', 'hex'), undefined],
    ['an MP4', '\0\0\0\x18ftypmp42\0\0\0\0', 'video/mp4'],
    ['a HEIC', '\0\0\0\x18ftypheic\0\0\0\0', undefined],
    ['an SVG', '<?xml version="1.0"?><svg/>', undefined],
    ['a page', '<!doctype html><script>1</script>', undefined],
    ['a script', '#!/bin/sh\n', undefined],
    ['nothing', '', undefined],
  ]
  for (const [title, bytes, mediaType] of cases) {
    it(`of ${title} is ${mediaType ?? 'none that is kept'}`, () => {
      const head = typeof bytes === 'string' ? Buffer.from(bytes, 'latin1') : bytes
      expect(kindOf(head)?.mediaType).to.equal(mediaType)
    })
  }

  it('has names that end as it does, in any case of letters', () => {
    const kind = kindOf(pdf)
    expect(kind && fitsName(kind, 'A.PDF')).to.equal(true)
    expect(kind && fitsName(kind, 'pdf')).to.equal(false)
    expect(kind && fitsName(kind, 'a.pdf.html')).to.equal(false)
  })
})

describe('a download', () => {
  it('has the part that was asked for (RFC 9110 §14)', () => {
    expect(rangeOf('bytes=0-', 10)).to.deep.equal({ start: 0, end: 9 })
    expect(rangeOf('bytes=3-100', 10)).to.deep.equal({ start: 3, end: 9 })
    expect(rangeOf('bytes=-100', 10)).to.deep.equal({ start: 0, end: 9 })
    expect(rangeOf('bytes=10-', 10)).to.equal('beyond')
    expect(rangeOf('bytes=-0', 10)).to.equal('beyond')
    for (const whole of ['', 'bytes=-', 'bytes=5-4', 'bytes=0-1,3-4', 'lines=1-2', 'bytes=a-b'])
      expect(rangeOf(whole, 10), whole).to.equal(undefined)
  })

  it('has a name that ends no header (RFC 6266, RFC 8187)', () => {
    expect(attachment('a"b\\c\r\n.pdf')).to.equal(
      'attachment; filename="a_b_c__.pdf"; filename*=UTF-8\'\'a%22b%5Cc%0D%0A.pdf',
    )
    expect(attachment("it's (1)*.pdf")).to.include("filename*=UTF-8''it%27s%20%281%29%2A.pdf")
  })
})
