import type { Browser, Page } from 'playwright-core'

import type { Answers } from '../../tools/token/headless-person.ts'
import { answerPage, isVisible, newLocalContext } from '../support/driven.ts'

const STEP_TIMEOUT_MS = 20_000
const STEPS_MAX = 8

interface Authorization {
  readonly browser: Browser
  readonly serviceUrl: string
  readonly address: string
  readonly person: Answers
}

/** Signs in and consents in a new browser. Returns the text of the client's page. Throws the text of an error page. */
export async function authorize(asked: Authorization): Promise<string> {
  await using context = await newLocalContext(asked.browser)
  const page = await context.newPage()
  // If a client exits as soon as it receives the code, its callback page may fail to load.
  await page.goto(asked.address).catch((error: unknown) => {
    if (page.url() === 'about:blank') throw error
  })
  await answerPages(page, asked)
  return await page.innerText('body').catch(() => '')
}

/** Fills in and submits the pages of the service until the browser leaves the service. */
export async function answerPages(
  page: Page,
  { serviceUrl, person }: Pick<Authorization, 'serviceUrl' | 'person'>,
): Promise<void> {
  page.setDefaultTimeout(STEP_TIMEOUT_MS)
  const isOurs = () => !page.isClosed() && page.url().startsWith(`${serviceUrl}/`)
  for (let step = 0; step < STEPS_MAX && isOurs(); step += 1) {
    await answerPage(page, person).catch((error: unknown) => {
      if (isOurs()) throw error
    })
  }
  if (isOurs()) throw new Error(`the sign-in did not leave ${page.url()}`)
}

/** Opens the approval page, signs in and approves the change. Returns the text of the page. */
export async function approve({ browser, address, person }: Omit<Authorization, 'serviceUrl'>) {
  await using context = await newLocalContext(browser)
  const page = await context.newPage()
  page.setDefaultTimeout(STEP_TIMEOUT_MS)
  await page.goto(address)
  for (let step = 0; step < STEPS_MAX && !(await isVisible(page, '#approve')); step += 1)
    await answerPage(page, person)
  await page.click('#approve')
  return await page.innerText('main')
}
