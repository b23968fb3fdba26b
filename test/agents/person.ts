import type { Browser } from 'playwright-core'

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

/** Signs in and consents in a new browser. Returns the text of the client's page, or throws an error page's. */
export async function authorize(asked: Authorization): Promise<string> {
  await using context = await newLocalContext(asked.browser)
  const page = await context.newPage()
  page.setDefaultTimeout(STEP_TIMEOUT_MS)
  const isOurs = () => page.url().startsWith(`${asked.serviceUrl}/`)
  // A client that ends as soon as it has its code may not serve its own page.
  const leftOrThrow = (error: unknown) => {
    if (isOurs() || page.url() === 'about:blank') throw error
  }
  await page.goto(asked.address).catch(leftOrThrow)
  for (let step = 0; step < STEPS_MAX && isOurs(); step += 1)
    await answerPage(page, asked.person).catch(leftOrThrow)
  if (isOurs()) throw new Error(`the sign-in did not leave ${page.url()}`)
  return await page.innerText('body').catch(() => '')
}

/** Signs in to the page on which changes wait, and approves them. */
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
