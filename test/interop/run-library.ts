import { expect } from 'chai'
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
/** The name as it appears in the JSON response, which every example shows. */
const NAME_SHOWN = `"${NAME}"`
/** How long to check that an application that verifies id_tokens does not show Sam's name after a forged one. */
const SETTLE_MS = 1_500
/** How long to wait for an application that does not verify id_tokens to show Sam's name after a forged one. */
const FOOLED_TIMEOUT_MS = 20_000

export interface Run {
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
  const fetched = 'tokens that fetched member data'
  expect(wire.memberAnswers, fetched).to.deep.equal(['authorization_code'])

  await user.arrive('refresh', {
    ...{ text: NAME, pages: [] },
    isNew: () => wire.memberAnswers.at(-1) === 'refresh_token',
  })

  await user.arrive('logout', {
    ...{ text: 'Sign in', pages: ['logout'] },
    isNew: () => wire.signOuts.length > 0,
  })
  const wayBack = wire.signOuts[0]?.get('post_logout_redirect_uri')
  expect(wayBack, 'the way back').to.equal(settings.SIGNED_OUT_URI)
  expect(wire.refusals, 'what the service refused').to.deep.equal([])

  recorder.forge(settings.CLIENT_ID)
  const isFooled = library.idToken === 'none'
  const waitMs = isFooled ? FOOLED_TIMEOUT_MS : SETTLE_MS
  const isNew = () => wire.forged > 0
  const shown = await user.read('login', { text: NAME_SHOWN, isNew }, waitMs)
  if (wire.forged === 0) throw new Error(`no forged id_token was sent, and the page says: ${shown}`)
  expect(shown.includes(NAME_SHOWN), 'a forged id_token signs a person in').to.equal(isFooled)
}

function checkAuthorization({ authorizations }: Wire, { nonce }: Library, issuer: string): void {
  const { code_challenge_method, resource, ...asked } = Object.fromEntries(authorizations[0] ?? [])
  const sent = [code_challenge_method, resource]
  expect(sent, 'PKCE and resource of the authorization request').to.deep.equal(['S256', issuer])
  const bound = ['code_challenge', 'state', 'nonce'].filter((name) => asked[name])
  const expected = ['code_challenge', 'state', ...(nonce === 'none' ? [] : ['nonce'])]
  expect(bound, 'what the authorization request is bound to').to.deep.equal(expected)
}

function checkExchange({ tokenRequests }: Wire, library: Library, issuer: string): void {
  const sent = tokenRequests.map((request) => [
    ...[request.fields.get('grant_type'), request.fields.get('resource')],
    authenticationOf(request),
  ])
  const expected = ['authorization_code', issuer, library.authentication]
  expect(sent, `requests for tokens: ${JSON.stringify(sent)}`).to.deep.equal([expected])
}

function authenticationOf({ basic, fields }: Wire['tokenRequests'][number]) {
  if (basic) return 'client_secret_basic'
  return fields.has('client_secret') ? 'client_secret_post' : 'none'
}
