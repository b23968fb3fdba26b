import { authorizeUrl, codeVerifier, exchange } from '../test/support/client.ts'
import { notes, sam } from '../test/support/gatehouse.ts'
import { eventually } from '../test/support/programs.ts'
import type { Fields } from '../test/support/wire.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../tools/token/headless-person.ts'

export const CONNECTIONS = 32

const BROWSERS = 8
const PREPARE_TIMEOUT_MS = 10_000

/** A family of refresh tokens, of which the present one is known. */
export interface Chain {
  refreshToken: string
}

/** The tokens of one connection: the refresh tokens that follow one another are its own. */
interface OwnChain extends Chain {
  readonly accessToken: string
}

/** Tokens of the grants that a store was filled with, which are asked for at random. */
export interface Copies {
  accessToken(): string
  /** One that no other connection is given, so that none is refreshed twice at once. */
  chainOf(connection: number): Chain
}

/** What the requests to one server are made of. */
export interface Supply {
  /** For the Host header. */
  readonly host: string
  readonly chains: readonly OwnChain[]
  /** New codes, as the forms that exchange them. A code lives a minute. */
  codeForms(count: number): Promise<Fields[]>
  readonly copies?: Copies
}

/**
 * Signs in at some browsers; each gets its further codes without a page, through the whole flow.
 * The bare engine is asked for tokens without a resource, which costs it less.
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

/** On a machine that has much else to do storage may be late; what is prepared is asked for again. */
async function codeFor(browser: HeadlessPerson, start: URL): Promise<string> {
  return await eventually(PREPARE_TIMEOUT_MS, async () => {
    const { searchParams } = await browser.authorize(start, notes.redirectUri)
    const code = searchParams.get('code')
    if (code === null) throw new Error(`no code came back: ${searchParams}`)
    return code
  })
}
