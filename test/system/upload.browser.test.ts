import { startOperator } from '../support/admin-api.ts'
import { sharedBrowser } from '../support/browser.ts'
import { pdf } from '../support/files.ts'
import { serve } from '../support/serve.ts'
import { sharedService } from '../support/storages.ts'

const MEGABYTE = 1_048_576

describe('an upload link in a browser', () => {
  const service = sharedService()
  const open = sharedBrowser(service)
  const requestUpload = async () => {
    const { value } = await startOperator(service())
    const { url } = await value('mutation { requestUpload { url } }')
    return { value, url }
  }

  it('takes the second file after the first was too large, without scripts [462]', async () => {
    const { value, url } = await requestUpload()
    const viewport = { width: 360, height: 640 }
    const { page } = await open({ javaScriptEnabled: false, viewport, locale: 'ja', at: url })
    const send = async (name: string, buffer: Buffer) => {
      await page.setInputFiles('#file', { name, mimeType: 'application/pdf', buffer })
      await page.click('#upload')
      await page.waitForLoadState()
    }
    await send('large.pdf', Buffer.alloc(25 * MEGABYTE, pdf))
    expect(await page.textContent('#file-problem')).to.include('ファイルが大きすぎます')
    await send('案内 "1".pdf', Buffer.concat([pdf, Buffer.alloc(3 * MEGABYTE, '\r\n--')]))
    const id = await page.textContent('#file-id')
    const { nodes } = await value('{ files { nodes { id name sizeBytes } } }')
    const sizeBytes = pdf.length + 3 * MEGABYTE
    expect(nodes[0]).to.deep.equal({ id, name: '案内 "1".pdf', sizeBytes })
    await page.goto(url)
    expect(await page.textContent('h1')).to.equal('このリンクは無効です')
  })

  it('takes a file that a page of another origin sends with PUT, but shows that page nothing else (design 28)', async () => {
    const { value, url } = await requestUpload()
    await using host = await serve((_request, response) => response.end('a host'))
    const { page } = await open({ at: host.url })
    const send = async (to: string, method: string, credentials: 'omit' | 'include' = 'omit') =>
      await page.evaluate(
        async ([address, verb, sent, text]) => {
          const body = new Blob([text], { type: 'application/pdf' })
          const request = { method: verb, credentials: sent, ...(verb === 'PUT' && { body }) }
          return await fetch(address, request).then(({ status }) => status, String)
        },
        [to, method, credentials, String(pdf)] as const,
      )
    const named = `${url}?name=guide.pdf`
    expect(await send(url, 'GET')).to.include('Failed to fetch')
    expect(await send(named, 'DELETE')).to.include('Failed to fetch')
    expect(await send(named, 'PUT', 'include')).to.include('Failed to fetch')
    expect(await send(named, 'PUT')).to.equal(201)
    expect(await send(named, 'PUT')).to.equal(410)
    expect((await value('{ files { nodes { name } } }')).nodes[0].name).to.equal('guide.pdf')
  })
})
