import { once } from '../src/api/graphql/once.ts'
import { scopeNames } from '../src/directory/scopes/catalogue.ts'
import { paths } from '../src/platform/http/paths.ts'
import { asResourceServer, authorizeUrl, codeVerifier } from '../test/support/client.ts'
import { notes, sam } from '../test/support/gatehouse.ts'
import { operatorToken } from '../test/support/mcp.ts'
import { eventually } from '../test/support/programs.ts'
import { type Fields, postForm } from '../test/support/wire.ts'
import { type HeadlessPerson, makeHeadlessPerson } from '../tools/token/headless-person.ts'

export const CONNECTIONS = 32

const BROWSERS = 8
const PREPARE_TIMEOUT_MS = 30_000

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
  /** Returns a family that no other connection uses, so no two connections use the same refresh token. */
  chainOf(connection: number): Chain
}

/** The paths of a server, and how clients authenticate there. */
interface Protocol {
  readonly endpoints: Readonly<
    Record<'token' | 'userinfo' | 'introspection' | 'discovery' | 'jwks', string>
  >
  /** Form fields that authenticate the recipient of all tokens (`client`) and the introspecting party (`caller`). */
  readonly client: Fields
  readonly caller: Fields
}

/** The tokens and codes for requests to one server. */
export interface Supply extends Protocol {
  /** The value of the Host header. */
  readonly host: string
  readonly chains: readonly OwnChain[]
  /** Creates codes, and returns the forms that exchange them. A code lives for one minute. */
  codeForms(count: number): Promise<Fields[]>
  /** Returns an access token of an operator, who signs in at the first call. */
  operatorToken(): Promise<string>
  readonly copies?: Copies
}

/**
 * Signs in with some browsers, which can then obtain codes without another sign-in. Requests tokens from the bare
 * engine without `resource`, because that costs the engine less.
 */
export async function makeSupply(
  url: string,
  kind: 'ours' | 'bare',
  copies?: Copies,
): Promise<Supply> {
  const resource = kind === 'bare' ? undefined : url
  const scope = kind === 'bare' ? { scope: 'openid profile email' } : {}
  const start = authorizeUrl(url, { ...scope, resource })
  const browsers: Browser[] = []
  for (let i = 0; i < BROWSERS; i += 1) {
    const person = makeHeadlessPerson(sam)
    await codeFor(person, start)
    browsers.push(() => codeFor(person, start))
  }
  const supply = await collectTokens(url, browsers, {
    endpoints: { ...paths, discovery: paths.openidConfiguration },
    client: { client_id: notes.clientId },
    caller: asResourceServer,
    resource,
  })
  return { ...supply, ...(copies && { copies }) }
}

/** Obtains a new code with a browser in which a person is signed in. */
export type Browser = () => Promise<string>

/** Exchanges a code for each connection, and returns the supply of requests. */
export async function collectTokens(
  url: string,
  browsers: readonly Browser[],
  { resource, ...protocol }: Protocol & { readonly resource?: string | undefined },
): Promise<Supply> {
  const formOf = (code: string): Fields => ({
    ...{ grant_type: 'authorization_code', code, code_verifier: codeVerifier },
    ...{ redirect_uri: notes.redirectUri, resource, ...protocol.client },
  })
  const chains = await Promise.all(
    Array.from({ length: CONNECTIONS }, (_, index) =>
      eventually(PREPARE_TIMEOUT_MS, async (): Promise<OwnChain> => {
        const code = (await browsers[index % browsers.length]?.()) ?? ''
        const { status, body, text } = await postForm(url + protocol.endpoints.token, formOf(code))
        if (status !== 200) throw new Error(`no tokens: ${text}`)
        return { refreshToken: body.refresh_token, accessToken: body.access_token }
      }),
    ),
  )
  return {
    ...protocol,
    host: new URL(url).host,
    chains,
    codeForms: async (count) => (await collectCodes(browsers, count)).map(formOf),
    operatorToken: once(() => operatorToken(url, scopeNames('operator').join(' '))),
  }
}

async function collectCodes(browsers: readonly Browser[], count: number): Promise<string[]> {
  const codes: string[] = []
  await Promise.all(
    browsers.map(async (browser, index) => {
      for (let i = index; i < count; i += browsers.length) codes.push(await browser())
    }),
  )
  return codes
}

/** Obtains a code. Retries, because storage may time out on a busy machine. */
async function codeFor(browser: HeadlessPerson, start: URL): Promise<string> {
  return await eventually(PREPARE_TIMEOUT_MS, async () => {
    const { searchParams } = await browser.authorize(start, notes.redirectUri)
    const code = searchParams.get('code')
    if (code === null) throw new Error(`no code came back: ${searchParams}`)
    return code
  })
}
