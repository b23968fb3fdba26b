import { readFileSync } from 'node:fs'

import { expect } from 'chai'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

import type { sam } from './gatehouse.ts'
import { findProgram } from './programs.ts'
import { requireProgram } from './skipped.ts'

/** Starts Chromium without a window. Prefers the headless shell, which needs half as much processor time. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findProgram('chromium-headless-shell') ?? findProgram('chromium')
  if (executablePath === undefined)
    throw new Error('Chromium is not installed; install chromium or chromium-headless-shell')
  return await chromium.launch({
    executablePath,
    args: [
      ...['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
      ...['--disable-component-update', '--disable-sync', '--no-first-run'],
    ],
  })
}

interface Opening extends BrowserContextOptions {
  /** The path or URL to open, by default none. */
  readonly at?: string
  /** The person to sign in on that page. If `shows` is given, waits until the next page shows this element. */
  readonly as?: Person
  readonly shows?: string
}

/**
 * Starts one browser for the tests of a block. Returns a function that opens a page in a new context, in which paths are
 * resolved against the service's URL.
 */
export function sharedBrowser(service?: () => { readonly url: string }) {
  let browser: Browser | undefined
  before(async function () {
    requireProgram(this, 'chromium')
    browser = await openBrowser()
  })
  after(async () => await browser?.close())
  return async ({ at, as, shows, ...options }: Opening = {}) => {
    if (!browser)
      throw new Error('the browser runs only during the tests of its block; open pages in a test')
    const base = service && { baseURL: service().url }
    const page = await (await browser.newContext({ ...base, ...options })).newPage()
    const complaints: string[] = []
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text())
    })
    page.on('pageerror', (error) => complaints.push(String(error)))
    if (at !== undefined) await page.goto(at)
    if (as) await signInAs(page, as, shows)
    return { page, complaints }
  }
}

type Person = Pick<typeof sam, 'login' | 'password'>

/** Fills in and submits the sign-in page. Waits for the element `shows` of the next page, if given. */
export async function signInAs(page: Page, { login, password }: Person, shows?: string) {
  await page.fill('#login', login)
  await page.fill('#password', password)
  await page.click('#login-submit')
  if (shows !== undefined) await page.locator(shows).waitFor()
}

export async function signInAt(page: Page, address: string, ...rest: [Person, shows?: string]) {
  await page.goto(address)
  await signInAs(page, ...rest)
}

/** Moves the focus with Tab to the element, and presses Enter. Waits for the element `shows`, if given. */
export async function press(page: Page, selector: string, shows?: string): Promise<void> {
  let isThere: unknown = false
  for (let presses = 0; !isThere; presses += 1) {
    if (presses === 60) throw new Error(`Tab does not reach ${selector}`)
    await page.keyboard.press('Tab')
    isThere = await page.evaluate(`document.activeElement.matches(${JSON.stringify(selector)})`)
  }
  await page.keyboard.press('Enter')
  if (shows !== undefined) await page.locator(shows).waitFor()
}

/** Fills in a field and those that follow, then presses Enter. Waits for the element `shows`, if given. */
export async function typeInFields(
  page: Page,
  values: readonly string[],
  { from, shows }: { from?: string; shows?: string } = {},
): Promise<void> {
  // Without `from`, the page focuses its first field, but only after its load event.
  await (from === undefined ? page.locator('input:focus').waitFor() : page.focus(from))
  for (const [position, value] of values.entries()) {
    if (position > 0) await page.keyboard.press('Tab')
    await page.keyboard.press('Control+A')
    await page.keyboard.type(value)
  }
  await page.keyboard.press('Enter')
  if (shows !== undefined) await page.locator(shows).waitFor()
}

/** Expects no axe violations in light and dark mode on a phone, and no horizontal scrolling there and on a desktop. */
export async function look(page: Page, name: string, shows = 'main'): Promise<void> {
  await page.locator(shows).waitFor()
  await page.evaluate('for (const each of document.querySelectorAll("details")) each.open = true')
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme })
    for (const width of [1280, 360]) {
      await page.setViewportSize({ width, height: 800 })
      expect(await overflows(page), `${name} at ${width}`).to.equal(false)
    }
    expect(await violations(page), `${name} in ${colorScheme}`).to.deep.equal([])
  }
  await page.setViewportSize({ width: 1280, height: 800 })
}

/** Opens each path, and checks its page with `look`. */
export async function lookAt(page: Page, ...paths: readonly string[]): Promise<void> {
  for (const path of paths) {
    await page.goto(path)
    await look(page, path)
  }
}

const axeSource = readFileSync(new URL(import.meta.resolve('axe-core/axe.min.js')), 'utf8')

export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  return await page.evaluate(`axe.run().then(({ violations }) =>
    violations.map(({ id, nodes }) => [id, ...nodes.map(({ html }) => html)].join(' ')))`)
}

export async function overflows(page: Page): Promise<boolean> {
  return await page.evaluate('document.documentElement.scrollWidth > innerWidth')
}
