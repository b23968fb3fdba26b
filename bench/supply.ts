import { authorizeUrl, codeVerifier, exchange } from '../test/support/client.ts'
import { notes, sam } from '../test/support/gatehouse.ts'
import { eventually } from '../test/support/programs.ts'
import type { Fields } from '../test/support/wire.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../tools/token/headless-person.ts'

export const CONNECTIONS = 32

const BROWSERS = 8
const PREPARE_TIMEOUT_MS = 10_000

/** A family of refresh tokens, with its current token. */
export interface Chain {
  refreshToken: string
}

/** The tokens of one connection. No other connection uses the same family. */
interface OwnChain extends Chain {
  readonly accessToken: string
}

/** Tokens of random grants with which a store was filled. */
export interface Copies {
  accessToken(): string
  /** Returns a family that no other connection uses, so no token is refreshed twice at once. */
  chainOf(connection: number): Chain
}

/** The tokens and codes for requests to one server. */
export interface Supply {
  /** The value of the Host header. */
  readonly host: string
  readonly chains: readonly OwnChain[]
  /** Creates codes, and returns the forms that exchange them. A code lives for one minute. */
  codeForms(count: number): Promise<Fields[]>
  readonly copies?: Copies
}

/**
 * Signs in with some browsers, which then get further codes without a page. Requests tokens of the bare engine without
 * `resource`, which costs the engine less.
 */
export async function makeSupply(
  url: string,
  kind: 'ours' | 'bare',
  copies?: Copies,
): Promise<Supply> {
  const fields: Fields =
    kind === 'bare' ? { scope: 'openid profile email', resource: undefined } : {}
  const start = authorizeUrl(url, fields)
  const browsers: HeadlessPerson[] = []
  for (let i = 0; i < BROWSERS; i += 1) {
    const person = makeHeadlessPerson(sam)
    await codeFor(person, start)
    browsers.push(person)
  }
  const resource = kind === 'bare' ? { resource: undefined } : {}
  const chains = await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, index) =>
      eventually(PREPARE_TIMEOUT_MS, async (): Promise<OwnChain> => {
        const code = await codeFor(browsers[index % BROWSERS] ?? makeHeadlessPerson(sam), start)
        const { status, body, text } = await exchange(url, code, resource)
        if (status !== 200) throw new Error(`no tokens: ${text}`)
        return { refreshToken: body.refresh_token, accessToken: body.access_token }
      }),
    ),
  )
  return {
    host: new URL(url).host,
    chains,
    ...(copies && { copies }),
    codeForms: async (count) =>
      (await collectCodes(browsers, start, count)).map((code) => formOf(start, code)),
  }
}

function formOf(start: URL, code: string): Fields {
  return {
    grant_type: 'authorization_code',
    code,
    redirect_uri: notes.redirectUri,
    client_id: notes.clientId,
    code_verifier: codeVerifier,
    resource: start.searchParams.get('resource') ?? undefined,
  }
}

async function collectCodes(
  browsers: readonly HeadlessPerson[],
  start: URL,
  count: number,
): Promise<string[]> {
  const codes: string[] = []
  await Promise.all(
    browsers.map(async (browser, index) => {
      for (let i = index; i < count; i += browsers.length) {
        codes.push(await codeFor(browser, start))
      }
    }),
  )
  return codes
}

/** Gets a code. Retries, because storage may time out on a busy machine. */
async function codeFor(browser: HeadlessPerson, start: URL): Promise<string> {
  return await eventually(PREPARE_TIMEOUT_MS, async () => {
    const { searchParams } = await browser.authorize(start, notes.redirectUri)
    const code = searchParams.get('code')
    if (code === null) throw new Error(`no code came back: ${searchParams}`)
    return code
  })
}
