import { text } from 'node:stream/consumers'

import type { Page } from 'playwright-core'

import { stylesheet } from '../../views/stylesheet.ts'
import { overflows, sharedBrowser, violations } from '../support/browser.ts'
import { hrefOf, markupOf, pages, pagesWith, policy } from '../support/sample-pages.ts'
import { serve } from '../support/serve.ts'
import { shared } from '../support/shared.ts'

const long = pagesWith(`${'Extraordinarily'.repeat(12)} and \u202egnol\u202c`)
const longPages = Object.entries(long).map(([name, page]) => [`long-${name}`, page] as const)
const all = { ...pages, ...Object.fromEntries(longPages) }

describe('pages in a browser', () => {
  const served = shared(async () => {
    // Send the Content-Security-Policy of the real pages. The response to a POST repeats its path and body.
    return await serve(async (request, response) => {
      const path = request.url ?? '/'
      const sources = all[path.slice(1)]?.scripts?.map(({ source }) => source).join(' ')
      const scripts = sources === undefined ? '' : `; script-src ${sources}`
      response.setHeader('content-security-policy', policy + scripts)
      if (path === hrefOf(stylesheet)) {
        response.setHeader('content-type', 'text/css').end(stylesheet.content)
      } else if (request.method === 'POST') {
        response.end(`${path} ${await text(request)}`)
      } else {
        response.setHeader('content-type', 'text/html; charset=utf-8')
        response.end(markupOf(all[path.slice(1)]))
      }
    })
  })
  const open = sharedBrowser(served)

  // Colors and widths are independent, so two combinations are enough.
  for (const [colorScheme, width] of [
    ['light', 320],
    ['dark', 1280],
  ] as const) {
    it(`have no accessibility barriers, ${colorScheme} at ${width} px`, async () => {
      const viewport = { width, height: 740 }
      const { page, complaints } = await open({ colorScheme, viewport, reducedMotion: 'reduce' })
      for (const name of Object.keys(all)) {
        await page.goto(name)
        const found = await faultsOf(page, name)
        complaints.push(...found.map((violation) => `${name}: ${violation}`))
      }
      expect(complaints).to.deep.equal([])
    })
  }

  for (const width of [320, 1280]) {
    it(`leave room for the name of a school with a wide logo at ${width} px`, async () => {
      const { page } = await open({ viewport: { width, height: 740 }, at: '/account-of-site' })
      const [logo, name] = [page.locator('.brand img'), page.locator('.brand > span')]
      expect((await logo.boundingBox())?.width).to.be.above(120)
      expect((await name.boundingBox())?.width).to.be.above(90)
    })
  }

  it('let Tab reach every control, and show where the focus is', async () => {
    const { page } = await open({ viewport: { width: 360, height: 740 } })
    for (const name of Object.keys(pages)) {
      await page.goto(name)
      expect(await missedByTab(page), name).to.deep.equal([])
    }
  })

  it('show a password at the press of a button, and send it hidden', async () => {
    const { page, complaints } = await open({ at: '/sign-in' })
    await page.fill('#login', 'ada@harbour.example')
    await page.fill('#password', 'a secret')
    const typeOf = async () => await page.getAttribute('#password', 'type')
    const pressButton = async (name: string) => await page.getByRole('button', { name }).click()
    await pressButton('Show password')
    expect(await typeOf()).to.equal('text')
    await pressButton('Hide password')
    expect(await typeOf()).to.equal('password')
    await pressButton('Show password')
    const stop = `document.querySelector('form').addEventListener('submit', (e) => e.preventDefault())`
    await page.evaluate(stop)
    await page.click('#login-submit')
    expect(await typeOf()).to.equal('password')
    expect(complaints).to.deep.equal([])
  })

  it('send the input, but not with a refusal', async () => {
    const { page } = await open({ at: '/sign-in' })
    await page.fill('#login', 'ada@harbour.example')
    await page.fill('#password', 'secret')
    await page.click('#login-cancel')
    expect(await page.textContent('body')).to.equal('/deny csrf=a-secret')
    await page.goto('/site-choice')
    await page.getByLabel('Night College').check()
    await page.click('#site-submit')
    expect(await page.textContent('body')).to.equal('/answer csrf=a-secret&site=sit_2')
    for (const [button, sent] of [
      ['confirm', '/out xsrf=x&logout=yes'],
      ['cancel', '/out xsrf=x'],
    ]) {
      await page.goto('/sign-out')
      await page.click(`#logout-${button}`)
      expect(await page.textContent('body')).to.equal(sent)
    }
  })
})

async function faultsOf(page: Page, name: string): Promise<string[]> {
  // Long texts change only the width of a page, which axe does not check.
  const found = name in pages ? await violations(page) : []
  if (await shifts(page)) found.push('moves while it loads')
  if (await openMenu(page)) found.push(...(await violations(page)))
  if (await overflows(page)) found.push('scrolls to the side')
  return found
}

/** Whether anything on the page moved after it was first drawn (Layout Instability API). */
async function shifts(page: Page): Promise<boolean> {
  return await page.evaluate(`new Promise((resolve) => {
    const observer = new PerformanceObserver((list) => resolve(list.getEntries().length > 0))
    observer.observe({ type: 'layout-shift', buffered: true })
    setTimeout(() => resolve(false), 20)
  })`)
}

/** Opens the menu of an area, if there is one. A wide screen has a sidebar instead. */
async function openMenu(page: Page): Promise<boolean> {
  const menu = page.locator('.menu:visible')
  const isThere = (await menu.count()) > 0
  if (isThere) await menu.click()
  return isThere
}

/** Presses Tab through the page. Returns the controls that never had the focus. A radio group counts as one control. */
async function missedByTab(page: Page): Promise<string[]> {
  const describe = `(element) => element.type === 'radio' ? element.name : element.id || element.textContent`
  const controls: string[] = await page.evaluate(
    `[...document.querySelectorAll('a[href], button, select, textarea, summary, input:not([type=hidden])')]
      .filter((element) => element.checkVisibility() && !element.matches(':disabled')).map(${describe})`,
  )
  const met = new Set<string>()
  // Press once more than there are controls, because the page itself is a stop.
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
