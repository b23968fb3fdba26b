import type { Browser, BrowserContext, Page } from 'playwright-core'

import { isLoopbackUrl } from '../../src/platform/http/loopback.ts'
import type { Answers } from '../../tools/token/headless-person.ts'
import { openBrowser, signInAs } from './browser.ts'
import type { Installed } from './install.ts'
import { findProgram, isContinuousIntegration } from './programs.ts'

/** The outcome of testing a third-party program against the service. */
export interface Outcome {
  /** `known`: failed as the table of tested programs states. */
  readonly kind: 'passed' | 'known' | 'failed' | 'not run'
  readonly detail: string
  readonly transcript: string
}

export const RUN_OVER = 'the time limit of the run had passed'

export function notRun(detail: string): Outcome {
  return { kind: 'not run', detail, transcript: '' }
}

/** Tries an installed program. `work` returns the detail of a success, or throws the failure. */
export async function tryInstalled(
  installed: Installed,
  over: AbortSignal,
  work: (folder: string, hear: (transcript: () => string) => void) => Promise<string>,
): Promise<Outcome> {
  if (over.aborted) return notRun(RUN_OVER)
  if (installed.kind === 'missing') return notRun(installed.why)
  return await attempt(over, async () => {
    let transcript = () => ''
    try {
      const detail = await work(installed.folder, (next) => {
        transcript = next
      })
      return { kind: 'passed', detail, transcript: transcript() }
    } catch (error) {
      const detail = error instanceof Error ? error.message : String(error)
      return { kind: 'failed', detail, transcript: transcript() }
    }
  })
}

/** Tries a program and times it. In continuous integration, retries a failure once, and notes this in the detail. */
export async function attempt(over: AbortSignal, tryOut: () => Promise<Outcome>): Promise<Outcome> {
  const first = await timed(over, tryOut)
  if (first.kind !== 'failed' || !isContinuousIntegration) return first
  const second = await timed(over, tryOut)
  return { ...second, detail: `${second.detail}, at a second attempt; the first: ${first.detail}` }
}

async function timed(over: AbortSignal, tryOut: () => Promise<Outcome>): Promise<Outcome> {
  const startedMs = performance.now()
  const { kind, detail, transcript } = await tryOut()
  if (over.aborted) return { ...notRun(RUN_OVER), transcript }
  const seconds = ((performance.now() - startedMs) / 1000).toFixed(1)
  return { kind, detail: `${detail} (${seconds} s)`.trim(), transcript }
}

/** Opens the browser of a run. Without Chromium, returns undefined, or throws in continuous integration. */
export async function openRunBrowser(opened: AsyncDisposableStack) {
  if (findProgram('chromium') === undefined && !isContinuousIntegration) return undefined
  return opened.adopt(await openBrowser(), (closing) => closing.close())
}

export async function inParallel<T>(
  all: readonly T[],
  atOnce: number,
  work: (one: T) => Promise<void>,
): Promise<void> {
  const waiting = all.values()
  const worker = async () => {
    for (const one of waiting) await work(one)
  }
  await Promise.all(Array.from({ length: atOnce }, worker))
}

export function makeReport(verbose: boolean) {
  const counts = { passed: 0, known: 0, failed: 0, 'not run': 0 }
  return {
    print(title: string, { kind, detail, transcript }: Outcome): void {
      counts[kind] += 1
      process.stdout.write(`${kind.padEnd(8)} ${title} ${detail}\n`)
      if (transcript === '' || (kind !== 'failed' && !verbose)) return
      const lines = transcript.trim().split('\n').slice(0, 40)
      process.stdout.write(`${lines.map((line) => `         | ${line}`).join('\n')}\n`)
    },
    /** Prints the totals and ends the process, because an abandoned program may keep handles open. */
    finish(): never {
      const { passed, known, failed, 'not run': skipped } = counts
      process.stdout.write(`${passed + known} passed, ${failed} failed, ${skipped} skipped\n`)
      process.exit(failed === 0 ? 0 : 1)
    },
  }
}

/** Opens a browser context that loads nothing from other machines. */
export async function newLocalContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext()
  await context.route('**', async (route) => {
    await (isLoopbackUrl(route.request().url()) ? route.continue() : route.abort())
  })
  return context
}

const submits = {
  login: '#login-submit',
  site: '#site-submit',
  consent: '#consent-approve',
  logout: '#logout-confirm',
}

/** Whether an element is visible; false while the page changes. */
export async function isVisible(page: Page, selector: string): Promise<boolean> {
  return await page
    .locator(selector)
    .isVisible()
    .catch(() => false)
}

/** Completes a page of the service as a person who agrees. Returns the id of the page; throws for an error page. */
export async function answerPage(page: Page, person: Answers): Promise<string | undefined> {
  for (const [id, submit] of Object.entries(submits)) {
    if (!(await isVisible(page, submit))) continue
    const before = page.url()
    await (id === 'login' ? signInAs(page, person) : page.click(submit))
    await page.waitForURL((url) => url.href !== before, { waitUntil: 'commit' })
    return id
  }
  if (!(await isVisible(page, '#error-page'))) return undefined
  const shown = await page.locator('#error-page').innerText()
  throw new Error(`the service shows an error page: ${shown}`)
}
