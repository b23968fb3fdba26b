import type { Browser } from 'playwright-core'

import { sam } from '../support/gatehouse.ts'
import { type Installed, install } from '../support/install.ts'
import { isContinuousIntegration } from '../support/programs.ts'
import type { Client } from './campus.ts'
import { installModules } from './install-modules.ts'
import type { Library } from './library-table.ts'
import { makeApplicationUser } from './person.ts'
import { exampleOf, startExample } from './program.ts'
import type { Recorder, Wire } from './recorder.ts'

const LIBRARY_TIMEOUT_MS = 120_000

/** What the Member API calls Sam. */
const NAME = 'Sam Student'
/** As it stands in the answer, which every example shows. */
const NAME_SHOWN = `"${NAME}"`
/** How long an application may take to show somebody whom it should have refused. */
const SETTLE_MS = 1_500
/** And one that refuses nobody. */
const FOOLED_TIMEOUT_MS = 20_000
/** What an application shows to somebody who is not signed in. */
const SIGNED_OUT = 'Sign in'

const RUN_OVER = 'the time of the run was over'

export interface Run {
  readonly recorder: Recorder
  readonly browser: Browser
  /** When the time of the whole run is over. */
  readonly over: AbortSignal
}

export interface Outcome {
  readonly library: Library
  readonly kind: 'passed' | 'failed' | 'not run'
  readonly detail: string
  /** What the example printed. */
  readonly transcript: string
}

/**
 * Installs a library, and takes its example through a sign-in, a refresh and a sign-out. In continuous
 * integration one that fails has a second attempt, which is named: the machine may have been the reason.
 */
export async function runLibrary(client: Client, run: Run): Promise<Outcome> {
  const { library } = client
  const notRun = (detail: string): Outcome => ({ library, kind: 'not run', detail, transcript: '' })
  if (run.over.aborted) return notRun(RUN_OVER)
  const installed = await fetchLibrary(library, run.over)
  if (installed.kind === 'missing') return notRun(run.over.aborted ? RUN_OVER : installed.why)
  const startedMs = performance.now()
  let tried = await tryOut(client, installed.folder, run)
  const { problem: first } = tried
  if (first !== undefined && isContinuousIntegration && !run.over.aborted) {
    run.recorder.forget(client.settings.CLIENT_ID)
    tried = await tryOut(client, installed.folder, run)
  }
  const { problem, transcript } = tried
  const seconds = `${((performance.now() - startedMs) / 1000).toFixed(1)} s`
  if (run.over.aborted) return notRun(RUN_OVER)
  if (problem !== undefined) {
    return { library, kind: 'failed', detail: `${problem} (${seconds})`, transcript }
  }
  const remark = first === undefined ? '' : `, at a second attempt; the first: ${first}`
  return { library, kind: 'passed', detail: seconds + remark, transcript }
}

async function fetchLibrary(library: Library, signal: AbortSignal): Promise<Installed> {
  const { package: wanted } = library
  return 'name' in wanted
    ? await install(wanted, signal)
    : await installModules(wanted, exampleOf(library), signal)
}

interface Tried {
  readonly problem: string | undefined
  readonly transcript: string
}

async function tryOut(client: Client, folder: string, run: Run): Promise<Tried> {
  const wire = run.recorder.of(client.settings.CLIENT_ID)
  const complaints: string[] = []
  let transcript = () => ''
  try {
    await using example = await startExample(client.library, folder, client.settings)
    transcript = example.transcript
    await walk(client, run, complaints)
    return { problem: undefined, transcript: transcript() }
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { problem, transcript: [...wire.refusals, ...complaints, transcript()].join('\n') }
  }
}

/** Everything that a person does with the application, and what has to have been sent meanwhile. */
async function walk(client: Client, run: Run, complaints: string[]): Promise<void> {
  const { settings, library } = client
  const { recorder, browser, over } = run
  const wire = recorder.of(settings.CLIENT_ID)
  await using user = await makeApplicationUser({
    browser,
    serviceUrl: recorder.url,
    appUrl: settings.APP_URL,
    person: sam,
    signal: AbortSignal.any([over, AbortSignal.timeout(LIBRARY_TIMEOUT_MS)]),
    complaints,
  })

  await user.arrive('login', {
    ...{ text: NAME, pages: ['login', 'consent'] },
    isNew: () => wire.memberAnswers.length > 0,
  })
  checkAuthorization(wire, library, settings.ISSUER)
  checkExchange(wire, library, settings.ISSUER)
  expect(wire.memberAnswers, ['authorization_code'], 'tokens that fetched member data')

  await user.arrive('refresh', {
    ...{ text: NAME, pages: [] },
    isNew: () => wire.memberAnswers.at(-1) === 'refresh_token',
  })

  await user.arrive('logout', {
    ...{ text: SIGNED_OUT, pages: ['logout'] },
    isNew: () => wire.signOuts.length > 0,
  })
  const [signOut] = wire.signOuts
  expect(signOut?.get('post_logout_redirect_uri'), settings.SIGNED_OUT_URI, 'the way back')
  expect(wire.refusals, [], 'what the service refused')

  recorder.forge(settings.CLIENT_ID)
  const isFooled = library.idToken === 'nobody'
  const shown = await user.read('login', {
    text: NAME_SHOWN,
    waitMs: isFooled ? FOOLED_TIMEOUT_MS : SETTLE_MS,
    isAnswered: () => wire.forged > 0,
  })
  if (wire.forged === 0) throw new Error(`no forged id_token was sent, and the page says: ${shown}`)
  expect(shown.includes(NAME_SHOWN), isFooled, 'a forged id_token signs somebody in')
}

function checkAuthorization({ authorizations }: Wire, library: Library, issuer: string): void {
  const [asked] = authorizations
  expect(asked?.get('code_challenge_method'), 'S256', 'code_challenge_method')
  expect(asked?.get('resource'), issuer, 'resource of the authorization request')
  for (const name of ['code_challenge', 'state', 'nonce']) {
    const wanted = name !== 'nonce' || library.nonce !== 'none'
    expect(Boolean(asked?.get(name)), wanted, `${name} in the authorization request`)
  }
}

function checkExchange({ tokenRequests }: Wire, library: Library, issuer: string): void {
  const [exchange, ...more] = tokenRequests
  expect(more.length, 0, 'further requests for tokens')
  expect(exchange?.fields.get('grant_type'), 'authorization_code', 'grant_type')
  expect(exchange?.fields.get('resource'), issuer, 'resource of the token request')
  expect(authenticationOf(exchange), library.authentication, 'authentication of the client')
}

function authenticationOf(request: Wire['tokenRequests'][number] | undefined) {
  if (request?.basic) return 'client_secret_basic'
  return request?.fields.has('client_secret') ? 'client_secret_post' : 'none'
}

function expect<T>(seen: T, wanted: T, what: string): void {
  const [left, right] = [JSON.stringify(seen), JSON.stringify(wanted)]
  if (left !== right) throw new Error(`${what}: ${left} instead of ${right}`)
}
