import { startOperator } from '../support/admin-api.ts'
import { sharedBrowser } from '../support/browser.ts'
import { pdf } from '../support/files.ts'
import { startService } from '../support/gatehouse.ts'

const MEGABYTE = 1_048_576

describe('an upload link in a browser', () => {
  const open = sharedBrowser()

  it('takes the second file after the first was too large, without scripts [462]', async () => {
    await using running = await startService()
    const { value } = await startOperator(running)
    const { url } = await value('mutation { requestUpload { url } }')
    const { page } = await open({
      javaScriptEnabled: false,
      viewport: { width: 360, height: 640 },
      locale: 'ja',
    })
    await page.goto(url)
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
})
