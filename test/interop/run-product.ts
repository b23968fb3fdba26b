import { setTimeout as delay } from 'node:timers/promises'

import { answerPage, newLocalContext, type Outcome, tryInstalled } from '../support/driven.ts'
import { sam } from '../support/gatehouse.ts'
import { cacheFolder, type Installed, install } from '../support/install.ts'
import { findProgram } from '../support/programs.ts'
import type { Client } from './campus.ts'
import type { Product, StartedProduct } from './products.ts'
import type { Run } from './run-library.ts'

const SIGN_IN_TIMEOUT_MS = 60_000
const LOOK_EVERY_MS = 100

/** `arrival` is the URL to which products finally redirect the browser. */
type ProductRun = Run & { readonly arrival: string }

/** Installs and starts a product, and signs a person in to it through the service. */
export async function runProduct(client: Client<Product>, run: ProductRun): Promise<Outcome> {
  const { library, settings } = client
  const installed = await installProduct(library, run.over)
  return await tryInstalled(installed, run.over, async (folder, hear) => {
    await using product = await library.start({ ...settings, ARRIVAL: run.arrival }, folder)
    const { refusals } = run.recorder.of(settings.CLIENT_ID)
    hear(() => [...refusals, product.transcript()].join('\n'))
    const email = await signIn(client, product, run)
    if (email !== sam.login) throw new Error(`signed in as ${email}`)
    return ''
  })
}

/** Returns the e-mail address that the product knows after the sign-in. */
async function signIn(client: Client<Product>, product: StartedProduct, run: ProductRun) {
  await using context = await newLocalContext(run.browser)
  const page = await context.newPage()
  await page.goto(product.signInUrl)
  const deadlineMs = performance.now() + SIGN_IN_TIMEOUT_MS
  while (!page.url().startsWith(run.arrival)) {
    if (performance.now() > deadlineMs || run.over.aborted) {
      const text = await page.innerText('body').catch(() => '')
      throw new Error(`no sign-in: ${page.url().slice(0, 200)} shows ${text.slice(0, 300)}`)
    }
    const atService = page.url().startsWith(`${run.recorder.url}/`)
    await (atService ? answerPage(page, sam) : product.goOn?.(page))
    await delay(LOOK_EVERY_MS)
  }
  const [asked] = run.recorder.of(client.settings.CLIENT_ID).authorizations
  if (asked?.get('code_challenge_method') !== 'S256') throw new Error('the product sent no PKCE')
  return await product.person(new URL(page.url()))
}

async function installProduct(
  { package: wanted, version }: Product,
  over: AbortSignal,
): Promise<Installed> {
  if (wanted.registry !== 'program') return await install(wanted, over)
  return findProgram(wanted.program) === undefined
    ? { kind: 'missing', why: `${wanted.program} ${version} is not on PATH` }
    : { kind: 'installed', folder: cacheFolder }
}
