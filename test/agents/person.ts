import type { Browser } from 'playwright-core'

import type { Answers } from '../../tools/token/headless-person.ts'
import { answerPage, newLocalContext } from '../support/driven.ts'

const STEP_TIMEOUT_MS = 20_000
const STEPS_MAX = 8

interface Authorization {
  readonly browser: Browser
  /** Pages of the service are answered; others are the client's. */
  readonly serviceUrl: string
  /** Where the client sends its user. */
  readonly address: string
  readonly person: Answers
}

/**
 * Opens the address of a client in a new browser, signs in and allows what is asked.
 *
 * @returns the text of the client's own page
 * @throws with the text of an error page
 */
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
  for (let step = 0; step < STEPS_MAX && isOurs(); step += 1) {
    await answerPage(page, asked.person).catch(leftOrThrow)
  }
  if (isOurs()) throw new Error(`the sign-in did not leave ${page.url()}`)
  return await page.innerText('body').catch(() => '')
}
