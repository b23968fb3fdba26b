import type { Browser } from 'playwright-core'

import { notRun, type Outcome, RUN_OVER, tryInstalled } from '../support/driven.ts'
import { sam } from '../support/gatehouse.ts'
import { install } from '../support/install.ts'
import type { Client } from './campus.ts'
import { installModules } from './install-modules.ts'
import type { Library } from './library-table.ts'
import { makeApplicationUser } from './person.ts'
import { exampleOf, startExample } from './program.ts'
import type { Recorder, Wire } from './recorder.ts'

const LIBRARY_TIMEOUT_MS = 120_000

/** Sam's name at the Member API. */
const NAME = 'Sam Student'
/** The name in the response, which every example shows. */
const NAME_SHOWN = `"${NAME}"`
/** How long to watch whether an application shows a person that it should have rejected. */
const SETTLE_MS = 1_500
/** How long to wait for an application that does not verify, and therefore shows the person. */
const FOOLED_TIMEOUT_MS = 20_000

interface Run {
  readonly recorder: Recorder
  readonly browser: Browser
  /** Aborts when the time limit of the whole run has passed. */
  readonly over: AbortSignal
}

/** Installs a library, and takes its example through a sign-in, a refresh and a sign-out. */
export async function runLibrary(client: Client, run: Run): Promise<Outcome> {
  const { library, settings } = client
  const { package: wanted } = library
  if (run.over.aborted) return notRun(RUN_OVER)
  const installed =
    'name' in wanted
      ? await install(wanted, run.over)
      : await installModules(wanted, exampleOf(library), run.over)
  return await tryInstalled(installed, run.over, async (folder, hear) => {
    run.recorder.forget(settings.CLIENT_ID)
    const complaints: string[] = []
    await using example = await startExample(library, folder, settings)
    const { refusals } = run.recorder.of(settings.CLIENT_ID)
    hear(() => [...refusals, ...complaints, example.transcript()].join('\n'))
    await walk(client, run, complaints)
    return ''
  })
}

/** Uses the application like a person, and checks what was sent. */
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
    ...{ text: 'Sign in', pages: ['logout'] },
    isNew: () => wire.signOuts.length > 0,
  })
  const [signOut] = wire.signOuts
  expect(signOut?.get('post_logout_redirect_uri'), settings.SIGNED_OUT_URI, 'the way back')
  expect(wire.refusals, [], 'what the service refused')

  recorder.forge(settings.CLIENT_ID)
  const isFooled = library.idToken === 'none'
  const shown = await user.read('login', {
    text: NAME_SHOWN,
    waitMs: isFooled ? FOOLED_TIMEOUT_MS : SETTLE_MS,
    isAnswered: () => wire.forged > 0,
  })
  if (wire.forged === 0) throw new Error(`no forged id_token was sent, and the page says: ${shown}`)
  expect(shown.includes(NAME_SHOWN), isFooled, 'a forged id_token signs a person in')
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
