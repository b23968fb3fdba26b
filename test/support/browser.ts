import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'

import { type Browser, chromium, type Page } from 'playwright-core'

import { findProgram } from './programs.ts'

/**
 * A browser without a window that talks to nobody but the pages of the test. Where there is Chromium's own
 * shell without windows it is that, which takes half of the processor time.
 */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findProgram('chromium-headless-shell') ?? findProgram('chromium')
  if (executablePath === undefined) throw new Error('this machine has no Chromium')
  return await chromium.launch({
    executablePath,
    args: [
      '--no-sandbox',
      '--disable-gpu',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
      '--no-first-run',
    ],
  })
}

const axeSource = readFileSync(
  createRequire(import.meta.url).resolve('axe-core/axe.min.js'),
  'utf8',
)

interface Axe {
  run(): Promise<{ violations: { id: string; nodes: { html: string }[] }[] }>
}

/** What an accessibility scan (axe-core, all of its rules) finds wrong with a page. */
export async function violations(page: Page): Promise<string[]> {
  await page.evaluate(axeSource)
  return await page.evaluate(async () => {
    const { violations: found } = await (globalThis as unknown as { axe: Axe }).axe.run()
    return found.map(({ id, nodes }) => `${id} ${nodes.map((node) => node.html).join(' ')}`)
  })
}

/** Whether a page is wider than its window, so that a person would have to scroll sideways. */
export async function overflows(page: Page): Promise<boolean> {
  return await page.evaluate('document.documentElement.scrollWidth > innerWidth')
}
