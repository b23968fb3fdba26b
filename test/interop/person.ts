import { setTimeout as delay } from 'node:timers/promises'

import { expect } from 'chai'
import type { Browser, Page } from 'playwright-core'

import type { Answers } from '../../tools/token/headless-person.ts'
import { answerPage, isVisible, newLocalContext } from '../support/driven.ts'

const LOOK_EVERY_MS = 50
const ARRIVE_TIMEOUT_MS = 25_000

interface Sitting {
  readonly browser: Browser
  /** The user fills in the pages at this URL. All other pages belong to the application. */
  readonly serviceUrl: string
  readonly appUrl: string
  readonly person: Answers
  readonly signal: AbortSignal
  /** Collects the errors and warnings of the pages. */
  readonly complaints: string[]
}

/** A step that a person takes in an application, named by the path to open or the id of the button to press. */
type Step = 'login' | 'refresh' | 'logout'

/** The conditions under which a step counts as done. */
interface Arrival {
  /** A text that the application shows at the end. */
  readonly text: string
  /** The ids of the service's pages that the user must pass through, in order. */
  readonly pages: readonly string[]
  /** Whether the page can already show the new state. Single-page applications show their old text for a moment. */
  readonly isNew: () => boolean
}

/** Opens a browser context and simulates a person who uses an application. Fills in the service's pages. */
export async function makeApplicationUser(sitting: Sitting) {
  const { browser, serviceUrl, appUrl, person, signal, complaints } = sitting
  const context = await newLocalContext(browser)
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
    const id = await answerPage(page, person)
    if (id !== undefined) answered.push(id)
  }
  /** Takes a step and waits until it is done. Returns false after the time limit. */
  const take = async (step: Step, isDone: () => Promise<boolean>) => {
    await begin(page, appUrl, step)
    const deadlineMs = performance.now() + ARRIVE_TIMEOUT_MS
    while (!(await isDone())) {
      if (performance.now() > deadlineMs || signal.aborted) return false
      await goOn()
      await delay(LOOK_EVERY_MS)
    }
    return true
  }
  return {
    /** Takes a step. Throws if `text` does not appear, or if the service shows pages other than `pages`. */
    async arrive(step: Step, { text, pages, isNew }: Arrival): Promise<void> {
      answered.length = 0
      const hasArrived = await take(step, async () => {
        if (atService() || !isNew() || answered.length < pages.length) return false
        return (await textOf(page)).includes(text)
      })
      const seen = answered.join(', ')
      if (!hasArrived) {
        const at = `${page.url().slice(0, 300)} after ${seen || 'no page'}`
        throw new Error(`“${text}” is not new at ${at}: ${await textOf(page)}`)
      }
      expect(seen, `pages of the ${step}`).to.equal(pages.join(', '))
    },
    /** Takes a step, waits until `isNew()`, then up to `waitMs` for `text`. Returns the text of the page. */
    async read(step: Step, { text, isNew }: Omit<Arrival, 'pages'>, waitMs: number) {
      await take(step, async () => isNew())
      const untilMs = performance.now() + waitMs
      while (!(await textOf(page)).includes(text) && performance.now() < untilMs)
        await delay(LOOK_EVERY_MS)
      return await textOf(page)
    },
    [Symbol.asyncDispose]: async () => await context.close(),
  }
}

/** Submits a form with which the application asks for confirmation, if the page has one. */
async function agree(page: Page): Promise<void> {
  const button = 'form button[type="submit"]'
  // Ignore a failed click, because the page may redirect meanwhile.
  if (await isVisible(page, button)) await page.click(button).catch(() => {})
}

/** Presses the button of a step in a single-page application, or opens its address. */
async function begin(page: Page, appUrl: string, step: Step): Promise<void> {
  const button = `button#${step}`
  if (page.url().startsWith(appUrl) && (await isVisible(page, button)))
    return await page.click(button)
  // A script may redirect before the page has loaded.
  await page.goto(`${appUrl}/${step}`).catch((error: unknown) => {
    if (page.url() === 'about:blank') throw error
  })
}

async function textOf(page: Page): Promise<string> {
  return await page.innerText('body', { timeout: 1_000 }).catch(() => '')
}
