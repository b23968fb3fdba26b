import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

import { startCommand } from '../../test/interop/program.ts'
import { codeChallenge } from '../../test/support/client.ts'
import { notes, sam } from '../../test/support/gatehouse.ts'
import type { Installed } from '../../test/support/install.ts'
import { encode } from '../../test/support/wire.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { type Cores, pinned } from '../cores.ts'
import { type Browser, CONNECTIONS } from '../prepared-tokens.ts'
import type { Measured } from '../rounds.ts'

/** Another authorization server, in one exact version from a package registry. */
export interface Peer {
  readonly name: string
  readonly version: string
  install(signal: AbortSignal): Promise<Installed>
  /** Starts the peer on an empty database, and signs in to get the tokens for the load. */
  start(folder: string, place: Place): Promise<StartedPeer>
}

/** Where a peer runs. */
export interface Place {
  readonly port: number
  readonly url: string
  /** The URL of an empty PostgreSQL database, which needs no password. */
  readonly databaseUrl: string
  readonly cores: Cores | undefined
}

export type StartedPeer = AsyncDisposable & Pick<Measured, 'pid' | 'supply' | 'urls'>

/** The number of database connections for a peer, the same as for the service. */
export const DATABASE_CONNECTIONS = 10
/** For a peer whose requests sometimes take two connections. With fewer, its requests could block each other. */
export const MORE_DATABASE_CONNECTIONS = CONNECTIONS + 4
export const SCOPE = 'openid profile email'

const START_TIMEOUT_MS = 300_000
const STEPS_MAX = 10

export const run = promisify(execFile)

/** Starts a server on its core, and waits until it answers at a URL. Discards its log, like that of the service. */
export async function startServer(
  command: readonly string[],
  variables: Readonly<Record<string, string>>,
  { url, cores }: Pick<Place, 'url' | 'cores'>,
) {
  const quiet = ['/bin/sh', '-c', 'exec "$@" > /dev/null', 'sh', ...pinned(cores, command)]
  return await startCommand(quiet, variables, url, START_TIMEOUT_MS)
}

/** Returns the URL of an authorization request to a peer. */
export function requestUrl(endpoint: string, clientId: string, scope: string): URL {
  const fields = {
    ...{ response_type: 'code', client_id: clientId, redirect_uri: notes.redirectUri, scope },
    // Hydra rejects a short `state`.
    ...{ state: 'the-state-of-the-bench', code_challenge: codeChallenge },
    code_challenge_method: 'S256',
  }
  return new URL(`${endpoint}?${encode(fields)}`)
}

/** The next request of a person. */
export type Step = readonly [url: URL, init?: RequestInit]
export type Person = ReturnType<typeof makeHeadlessPerson>

/** Returns the next step for a page, given its URL and response. */
export type Answer = (page: URL, response: Response) => Promise<Step>

/**
 * Signs in with one new browser at a time, because a newly started server needs seconds for many simultaneous sign-ins.
 *
 * @param signIn signs the person in before the authorization request
 */
export async function openBrowsers(
  start: URL,
  answer: Answer,
  signIn?: (person: Person) => Promise<void>,
): Promise<Browser[]> {
  const browsers: Browser[] = []
  for (let i = 0; i < CONNECTIONS; i += 1) {
    const person = makeHeadlessPerson(sam)
    await signIn?.(person)
    const browser = () => browse(person, start, answer)
    await browser()
    browsers.push(browser)
  }
  return browsers
}

/** Follows redirects and answers pages, until a redirect has a code. */
async function browse(person: Person, start: URL, answer: Answer): Promise<string> {
  let step: Step = [start]
  for (let count = 0; count < STEPS_MAX; count += 1) {
    const [url, init] = step
    if (url.href.startsWith(notes.redirectUri)) {
      const code = url.searchParams.get('code')
      if (code !== null) return code
      throw new Error(`no code: ${url.search}`)
    }
    const response = await person.open(url, init)
    const location = response.headers.get('location')
    step = location === null ? await answer(url, response) : [new URL(location, url)]
  }
  throw new Error(`no code from ${start.origin}`)
}
