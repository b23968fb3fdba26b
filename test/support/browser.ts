import { existsSync } from 'node:fs'

import { type Browser, chromium } from 'playwright-core'

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']

/** Where the machine has its browser; nothing is downloaded for the tests. */
export function findBrowser(): string | undefined {
  return places.find((place) => existsSync(place))
}

/** A browser without a window that talks to nobody but the pages of the test. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findBrowser()
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
