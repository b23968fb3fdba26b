import { setTimeout as delay } from 'node:timers/promises'

import type { Browser, Page } from 'playwright-core'

import { isLoopbackUrl } from '../../src/platform/http/loopback.ts'
import type { Answers } from '../../tools/token/headless-person.ts'

const LOOK_EVERY_MS = 50
const ARRIVE_TIMEOUT_MS = 25_000

export interface Sitting {
  readonly browser: Browser
  /** The service, whose pages are answered; every other page is the application's. */
  readonly serviceUrl: string
  readonly appUrl: string
  readonly person: Answers
  readonly signal: AbortSignal
  /** Gets what the browser's console says of the pages. */
  readonly complaints: string[]
}

/** What a person does with an application; below its address, or a button of that id, it begins. */
export type Step = 'login' | 'refresh' | 'logout'

/** What somebody goes on for. */
export interface Arrival {
  /** What the application shows then. */
  readonly text: string
  /** The pages of the service on the way. */
  readonly pages: readonly string[]
  /** Whether what is shown can be of now: an application of one page shows for a moment what it showed. */
  readonly isNew: () => boolean
}

export interface Reading {
  readonly text: string
  readonly waitMs: number
  readonly isAnswered: () => boolean
}

/** A person in a new browser who uses an application, and answers the service's pages on the way. */
export async function makeApplicationUser(sitting: Sitting) {
  const { browser, serviceUrl, appUrl, person, signal, complaints } = sitting
  const context = await browser.newContext()
  await context.route('**', async (route) => {
    await (isLoopbackUrl(route.request().url()) ? route.continue() : route.abort())
  })
  const page = await context.newPage()
  page.setDefaultTimeout(ARRIVE_TIMEOUT_MS)
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) complaints.push(message.text())
  })
  page.on('pageerror', (error) => complaints.push(String(error)))
  const answered: string[] = []
  const atService = () => page.url().startsWith(`${serviceUrl}/`)
  const goOn = async () => {
    if (!atService()) return await agree(page)
    const id = await answer(page, person)
    if (id !== undefined) answered.push(id)
  }
  return {
    /**
     * Begins something at the application and goes on until it has come to an end.
     *
     * @throws with what the page shows instead, or with the pages that were others
     */
    async arrive(step: Step, { text, pages, isNew }: Arrival): Promise<void> {
      answered.length = 0
      await begin(page, appUrl, step)
      const deadlineMs = performance.now() + ARRIVE_TIMEOUT_MS
      const isThere = async () =>
        !atService() &&
        isNew() &&
        answered.length >= pages.length &&
        (await textOf(page)).includes(text)
      while (!(await isThere())) {
        if (performance.now() > deadlineMs || signal.aborted) {
          throw new Error(
            `“${text}” is not new at ${shortened(page.url())} after ${answered.join(', ') || 'no page'}: ${await textOf(page)}`,
          )
        }
        await goOn()
        await delay(LOOK_EVERY_MS)
      }
      if (answered.join() !== pages.join()) {
        throw new Error(
          `pages of the ${step}: ${answered.join(', ')} instead of ${pages.join(', ')}`,
        )
      }
    },
    /**
     * Begins something, goes on until the service has given its answer, and looks whether the
     * application says a text then.
     *
     * @param waitMs how long it may take to say it
     * @returns what it says
     */
    async read(step: Step, { text, waitMs, isAnswered }: Reading): Promise<string> {
      const deadlineMs = performance.now() + ARRIVE_TIMEOUT_MS
      await begin(page, appUrl, step)
      while (!isAnswered() && performance.now() < deadlineMs && !signal.aborted) {
        await goOn()
        await delay(LOOK_EVERY_MS)
      }
      const readUntilMs = performance.now() + waitMs
      while (!(await textOf(page)).includes(text) && performance.now() < readUntilMs) {
        await delay(LOOK_EVERY_MS)
      }
      return await textOf(page)
    },
    [Symbol.asyncDispose]: async () => await context.close(),
  }
}

/** An application may ask once more before it leads to the service. */
async function agree(page: Page): Promise<void> {
  const button = 'form button[type="submit"]'
  // The page may lead on by itself meanwhile.
  if (await isVisible(page, button)) await page.click(button).catch(() => {})
}

/** Between two pages there is nothing to see. */
async function isVisible(page: Page, selector: string): Promise<boolean> {
  return await page
    .locator(selector)
    .isVisible()
    .catch(() => false)
}

/** Presses the button for it, in an application of one page, or opens its address. */
async function begin(page: Page, appUrl: string, step: Step): Promise<void> {
  const button = `button#${step}`
  if (page.url().startsWith(appUrl) && (await isVisible(page, button))) {
    return await page.click(button)
  }
  // A page may lead on by script before it has loaded.
  await page.goto(`${appUrl}/${step}`).catch((error: unknown) => {
    if (page.url() === 'about:blank') throw error
  })
}

const buttons = ['login', 'site', 'consent', 'logout'] as const
const submits = {
  login: '#login-submit',
  site: '#site-submit',
  consent: '#consent-approve',
  logout: '#logout-confirm',
}

/**
 * @returns which page of the service was answered, if one was there to be answered
 * @throws with the words of the service when it refuses
 */
async function answer(page: Page, person: Answers): Promise<string | undefined> {
  for (const id of buttons) {
    if (!(await isVisible(page, submits[id]))) continue
    const before = page.url()
    if (id === 'login') {
      await page.fill('#login', person.login)
      await page.fill('#password', person.password)
    }
    await page.click(submits[id])
    await page.waitForURL((url) => url.href !== before, { waitUntil: 'commit' })
    return id
  }
  if (await isVisible(page, '#error-page')) {
    throw new Error(`the service says: ${await page.locator('#error-page').innerText()}`)
  }
  return undefined
}

async function textOf(page: Page): Promise<string> {
  return await page.innerText('body', { timeout: 1_000 }).catch(() => '')
}

function shortened(address: string): string {
  return address.slice(0, 300)
}
