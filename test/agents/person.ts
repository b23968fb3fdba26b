import type { Browser, BrowserContext, Page } from 'playwright-core'

import { isLoopbackUrl } from '../../src/platform/http/loopback.ts'
import type { Answers } from '../../tools/token/headless-person.ts'

const STEP_TIMEOUT_MS = 20_000
const STEPS_MAX = 8

export interface Authorization {
  readonly browser: Browser
  /** The service, whose pages are answered; any other page is the client's. */
  readonly serviceUrl: string
  /** Where the client sends its user. */
  readonly address: string
  readonly person: Answers
}

/**
 * A person in a new browser: opens the address that a client gives them, signs in, allows what is
 * asked, and arrives at the client's own page.
 *
 * @returns what they read there
 * @throws with the words of the page when the service refuses
 */
export async function authorize({ browser, ...asked }: Authorization): Promise<string> {
  const context = await browser.newContext()
  try {
    await stayHere(context)
    const page = await context.newPage()
    page.setDefaultTimeout(STEP_TIMEOUT_MS)
    // A client that ends as soon as it has its code may leave its own page unanswered.
    await page.goto(asked.address).catch((error: unknown) => leftOrThrow(page, asked, error))
    for (let step = 0; step < STEPS_MAX && isOurs(page, asked); step += 1) {
      await answer(page, asked).catch((error: unknown) => leftOrThrow(page, asked, error))
    }
    if (isOurs(page, asked)) throw new Error(`the sign-in did not leave ${page.url()}`)
    return await page.innerText('body').catch(() => '')
  } finally {
    await context.close()
  }
}

/** Nothing of a client's page is fetched from elsewhere. */
async function stayHere(context: BrowserContext): Promise<void> {
  await context.route('**', async (route) => {
    await (isLoopbackUrl(route.request().url()) ? route.continue() : route.abort())
  })
}

function isOurs(page: Page, { serviceUrl }: Pick<Authorization, 'serviceUrl'>): boolean {
  return page.url().startsWith(`${serviceUrl}/`)
}

async function answer(page: Page, { person }: Pick<Authorization, 'person'>): Promise<void> {
  if (await page.locator('#error-page').isVisible()) {
    throw new Error(`the service says: ${await page.locator('#error-page').innerText()}`)
  }
  const before = page.url()
  if (await page.locator('#login').isVisible()) {
    await page.fill('#login', person.login)
    await page.fill('#password', person.password)
    await page.click('#login-submit')
  } else if (await page.locator('#site-submit').isVisible()) {
    await page.click('#site-submit')
  } else {
    await page.click('#consent-approve')
  }
  await page.waitForURL((url) => url.href !== before, { waitUntil: 'commit' })
}

/** A page that cannot be shown is the client's affair once the browser has left the service. */
function leftOrThrow(page: Page, asked: Pick<Authorization, 'serviceUrl'>, error: unknown): void {
  if (isOurs(page, asked) || page.url() === 'about:blank') throw error
}
