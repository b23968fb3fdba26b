import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'

import type { Page as View } from '../../views/layout.ts'
import { stylesheet } from '../../views/stylesheet.ts'
import { openBrowser, overflows, violations } from '../support/browser.ts'
import { hrefOf, markupOf, pages, pagesWith, policy } from '../support/sample-pages.ts'
import { requireProgram } from '../support/skipped.ts'

describe('pages in a browser', () => {
  let browser: Browser
  let served: Served

  before(async function () {
    requireProgram(this, 'chromium')
    browser = await openBrowser()
    served = await serve()
  })

  after(async () => {
    await browser?.close()
    await served?.[Symbol.asyncDispose]()
  })

  // Colors and widths have nothing to do with each other.
  const settings = [
    { colorScheme: 'light', width: 360 },
    { colorScheme: 'dark', width: 1280 },
  ] as const
  for (const { colorScheme, width } of settings) {
    it(`have no barrier, ${colorScheme} at ${width} px`, async () => {
      await using context = await browser.newContext({
        colorScheme,
        viewport: { width, height: 740 },
        reducedMotion: 'reduce',
      })
      const page = await context.newPage()
      const complaints: string[] = []
      page.on('console', (message) => complaints.push(message.text()))
      for (const name of Object.keys(served.pages)) {
        await page.goto(`${served.url}/${name}`)
        // What strangers wrote changes the width of a page, and nothing that axe looks at.
        const found = name in pages ? await violations(page) : []
        if (await overflows(page)) found.push('scrolls to the side')
        complaints.push(...found.map((violation) => `${name}: ${violation}`))
      }
      expect(complaints).to.deep.equal([])
    })
  }

  it('let every control be reached by Tab, and show where the focus is', async () => {
    await using context = await browser.newContext({ viewport: { width: 360, height: 740 } })
    const page = await context.newPage()
    for (const name of Object.keys(pages)) {
      await page.goto(`${served.url}/${name}`)
      const missed = await missedByTab(page)
      expect(missed, name).to.deep.equal([])
    }
  })

  it('send the answer, and the refusal without the answer', async () => {
    await using context = await browser.newContext()
    const page = await context.newPage()
    await page.goto(`${served.url}/sign-in`)
    await page.fill('#login', 'ada@harbour.example')
    await page.fill('#password', 'secret')
    await page.click('#login-cancel')
    expect(await page.textContent('body')).to.equal('/deny csrf=a-secret')

    await page.goto(`${served.url}/site-choice`)
    await page.getByLabel('Night College').check()
    await page.click('#site-submit')
    expect(await page.textContent('body')).to.equal('/answer csrf=a-secret&site=sit_2')

    await page.goto(`${served.url}/sign-out`)
    await page.click('#logout-confirm')
    expect(await page.textContent('body')).to.equal('/out xsrf=x&logout=yes')

    await page.goto(`${served.url}/sign-out`)
    await page.click('#logout-cancel')
    expect(await page.textContent('body')).to.equal('/out xsrf=x')
  })
})

interface Served extends AsyncDisposable {
  readonly url: string
  readonly pages: Record<string, View>
}

/** The pages behind the headers that they really have; a POST is answered with what it carried. */
async function serve(): Promise<Served> {
  const long = pagesWith(`${'Extraordinarily'.repeat(12)} and \u202egnol\u202c`)
  const all: Record<string, View> = {
    ...pages,
    ...Object.fromEntries(Object.entries(long).map(([name, page]) => [`long-${name}`, page])),
  }
  const server = createServer(async (request, response) => {
    const path = request.url ?? '/'
    response.setHeader('content-security-policy', policy)
    if (path === hrefOf(stylesheet)) {
      response.setHeader('content-type', 'text/css')
      response.end(stylesheet.content)
      return
    }
    if (request.method === 'POST') {
      let body = ''
      for await (const chunk of request) body += chunk
      response.end(`${path} ${body}`)
      return
    }
    const page = all[path.slice(1)]
    response.writeHead(page ? 200 : 404, { 'content-type': 'text/html; charset=utf-8' })
    response.end(page && markupOf(page))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    pages: all,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Goes round the page by Tab (a group of radio buttons is one stop) and says what was not met. */
async function missedByTab(page: Page): Promise<string[]> {
  const describe = `(element) => element.name === 'site' ? 'site' : element.id || element.textContent`
  const controls: string[] = await page.evaluate(
    `[...document.querySelectorAll('a[href], button, input:not([type=hidden])')].map(${describe})`,
  )
  const met = new Set<string>()
  // One press more than there are controls, because the page itself is a stop on the way round.
  for (let press = 0; press <= controls.length + 1; press += 1) {
    if (await page.evaluate('document.activeElement !== document.body')) {
      met.add(await page.evaluate(`(${describe})(document.activeElement)`))
      const outline = await page.evaluate('getComputedStyle(document.activeElement).outlineWidth')
      expect(outline, 'the focus is visible').to.equal('3px')
    }
    await page.keyboard.press('Tab')
  }
  return [...new Set(controls)].filter((control) => !met.has(control))
}
