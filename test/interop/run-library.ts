import type { Browser } from 'playwright-core'

import { sam } from '../support/gatehouse.ts'
import { type Installed, install } from '../support/install.ts'
import type { Client } from './campus.ts'
import { installModules } from './install-modules.ts'
import type { Library } from './library-table.ts'
import { makeApplicationUser } from './person.ts'
import { exampleOf, startExample } from './program.ts'
import type { Recorder, Wire } from './recorder.ts'

const LIBRARY_TIMEOUT_MS = 120_000

/** What the Member API calls Sam. */
const NAME = 'Sam Student'
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

/** Installs a library, and takes its example through a sign-in, a refresh and a sign-out. */
export async function runLibrary(client: Client, run: Run): Promise<Outcome> {
  const { library } = client
  const notRun = (detail: string): Outcome => ({ library, kind: 'not run', detail, transcript: '' })
  if (run.over.aborted) return notRun(RUN_OVER)
  const installed = await fetchLibrary(library, run.over)
  if (installed.kind === 'missing') return notRun(run.over.aborted ? RUN_OVER : installed.why)
  const startedMs = performance.now()
  const { problem, transcript } = await tryOut(client, installed.folder, run)
  const seconds = `${((performance.now() - startedMs) / 1000).toFixed(1)} s`
  if (run.over.aborted) return notRun(RUN_OVER)
  return problem === undefined
    ? { library, kind: 'passed', detail: seconds, transcript }
    : { library, kind: 'failed', detail: `${problem} (${seconds})`, transcript }
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

  expect(await user.arrive('login', NAME), ['login', 'consent'], 'pages of the sign-in')
  checkAuthorization(wire, library, settings.ISSUER)
  checkExchange(wire, library, settings.ISSUER)
  expect(wire.memberAnswers, ['authorization_code'], 'tokens that fetched member data')

  await user.arrive('refresh', NAME)
  expect(wire.memberAnswers.at(-1), 'refresh_token', 'the grant that fetched member data last')

  expect(await user.arrive('logout', SIGNED_OUT), ['logout'], 'pages of the sign-out')
  const [signOut] = wire.signOuts
  expect(signOut?.get('post_logout_redirect_uri'), settings.SIGNED_OUT_URI, 'the way back')
  expect(wire.refusals, [], 'what the service refused')

  recorder.forge(settings.CLIENT_ID)
  const shown = await user.read('login', () => wire.forged > 0)
  if (wire.forged === 0) throw new Error(`no forged id_token was sent, and the page says: ${shown}`)
  expect(
    shown.includes(`"${NAME}"`),
    library.idToken === 'nobody',
    'a forged id_token signs somebody in',
  )
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
