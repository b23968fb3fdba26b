import { exportJWK, generateKeyPair, type JWTPayload, SignJWT } from 'jose'

import { standardClaims } from '../../src/directory/people/provider-presets.ts'
import type { SendOutgoing } from '../../src/platform/outgoing/guarded-fetch.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { authorizeUrl } from './client.ts'
import { editList, insert } from './database.ts'
import {
  flushing,
  policyWith,
  portal,
  type RunningService,
  sam,
  startService,
} from './gatehouse.ts'
import { decode, hiddenField, makePagePerson, textOf } from './page-person.ts'
import { addApp } from './two-factors.ts'
import { encode, type Fields } from './wire.ts'

export type Person = ReturnType<typeof makeHeadlessPerson>

/** Opens a URL and follows redirects until it reaches a page or a redirect to another origin. */
export async function follow(person: Person, start: URL, init: RequestInit = {}) {
  let [url, sent] = [start, init]
  for (let step = 0; step < 10; step += 1) {
    const response = await person.open(url, sent)
    const location = response.headers.get('location')
    const target = location === null ? undefined : new URL(location, url)
    if (!target || target.origin !== start.origin) {
      const { status, headers } = response
      return { status, headers, url, target, text: await response.text() }
    }
    ;[url, sent] = [target, {}]
  }
  throw new Error(`${start} redirects in a loop`)
}

type Page = Awaited<ReturnType<typeof follow>>

export const problemOf = (page: Page) => textOf(page, 'login-problem')
export const noteOf = (page: Page) => textOf(page, 'login-note')
/** The error with which the browser returned to the application. */
export const refusalIn = ({ target }: Page) => target?.searchParams.get('error')
export const isSignedIn = ({ target, text }: Page) =>
  Boolean(target?.searchParams.get('code')) || text.includes('id="consent-page"')

/** Starts a service whose identity provider is `campus`, where the service is the client `portal`. */
export async function startAtCampus(campus: RunningService): Promise<RunningService> {
  const { clientId: client_id, clientSecret } = portal
  const provider = {
    ...{ id: 'campus', name: 'Campus', issuer: campus.url, clientId: client_id },
    ...{ claims: standardClaims, domains: ['campus.example'] },
  }
  const service = await startService({
    ...{ host: 'localhost', now: () => Date.now() },
    environment: { IDENTITY_PROVIDER_SECRETS: `campus=${clientSecret}` },
    policy: policyWith({ ...flushing, signIn: { identityProviders: [provider] } }),
    fetch: async (address, init) => await fetch(address, init as RequestInit),
  })
  const uri = `${service.url}/sign-in/callback/campus`
  await editList(campus.kysely, client_id, 'redirect_uris', (uris) => [...uris, uri])
  return service
}

/** Opens the sign-in page of an authorization, and follows the link to a provider. */
export async function leave({ url }: Pick<RunningService, 'url'>, provider: string, fields = {}) {
  const person = makeHeadlessPerson(sam)
  const page = await follow(person, authorizeUrl(url, fields))
  const href = new RegExp(`id="provider-${provider}"[^>]*href="([^"]+)"`).exec(page.text)?.[1]
  const left = await follow(person, new URL(decode(href ?? 'none'), url))
  return { person, page, left, asked: left.target?.searchParams ?? new URLSearchParams() }
}

type Returning = { provider: string; iss: string; said?: Lie; fields?: Fields; sends?: Fields }

/** Signs in with a provider whose responses `said` falsifies. `sends` replaces parameters of the callback. */
export async function signInWith(
  network: Awaited<ReturnType<typeof makeLyingProviders>>,
  { url }: Pick<RunningService, 'url'>,
  { provider, iss, said = {}, fields = {}, sends = {} }: Returning,
) {
  // Falsify the metadata before the first request, because the service caches it.
  network.says(said.metadata ? { metadata: said.metadata } : {})
  const { person, asked } = await leave({ url }, provider, fields)
  network.hears(asked)
  network.says(said)
  const query = encode({ iss, code: 'c', state: asked.get('state') ?? '', ...sends })
  const callback = new URL(`/sign-in/callback/${provider}?${query}`, url)
  return { person, callback, page: await follow(person, callback) }
}

export async function submit(person: Person, page: Page, typed: Record<string, string>) {
  const action = decode(/<form method="post" action="([^"]+)"/.exec(page.text)?.[1] ?? '')
  const body = new URLSearchParams({ csrf: hiddenField(page.text), ...typed })
  return await follow(person, new URL(action, page.url), { method: 'POST', body })
}

/** Sets up an authenticator app for Sam. Returns the function that makes its codes. */
export async function setUpApp(service: RunningService) {
  const nowMs = Date.now()
  const { codeAt } = await addApp(makePagePerson(service.url, sam), nowMs - 30_000)
  return (steps: number) => codeAt(nowMs + steps * 30_000)
}

/** Links an identity of a provider to a person. */
export const linkIdentity = async (
  { kysely }: RunningService,
  identity: { provider_id: string; issuer: string; subject: string; person_id: string },
) => await insert(kysely, 'linked_identity', { ...identity, linked_at: 1, last_used_at: 1 })

export const linksOf = async ({ kysely }: RunningService) =>
  await kysely.selectFrom('linked_identity').select(['subject', 'person_id']).execute()

export const ISSUER = 'https://id.acme.example'

/** Returns a `fetch` that responds like an identity provider at every URL, and methods that control its responses. */
export async function makeLyingProviders() {
  const [own, other] = await Promise.all([generateKeyPair('ES256'), generateKeyPair('ES256')])
  let lie: Lie = {}
  let nonce = ''
  const sent: string[] = []
  /** The forms that the token endpoints received. */
  const forms: URLSearchParams[] = []
  const fetch: SendOutgoing = async (address, init) => {
    sent.push(address)
    if (init?.body) forms.push(new URLSearchParams(String(init.body)))
    if (lie.fails) return await lie.fails(address, init?.signal ?? undefined)
    const { origin, pathname } = new URL(address)
    if (pathname.endsWith('/openid-configuration')) {
      return Response.json({
        issuer: origin,
        authorization_endpoint: `${origin}/authorize`,
        token_endpoint: `${origin}/token`,
        jwks_uri: `${origin}/jwks`,
        id_token_signing_alg_values_supported: ['ES256'],
        authorization_response_iss_parameter_supported: true,
        ...JSON.parse(JSON.stringify(lie.metadata ?? {}).replaceAll('ORIGIN', origin)),
      })
    }
    if (pathname === '/jwks') {
      return Response.json({ keys: [{ ...(await exportJWK(own.publicKey)), alg: 'ES256' }] })
    }
    if (pathname === '/userinfo') return Response.json(lie.userinfo ?? {})
    const now = Math.floor(Date.now() / 1000)
    const payload = {
      ...{ iss: origin, aud: 'gatehouse', sub: 'u1', nonce, iat: now, exp: now + 300 },
      ...{ email: 'ada@acme.example', email_verified: true, name: 'Ada', ...lie.claims },
    }
    const id_token = await new SignJWT(payload as JWTPayload)
      .setProtectedHeader({ alg: 'ES256' })
      .sign((lie.foreignKey ? other : own).privateKey)
    return Response.json({ access_token: 'a', token_type: 'Bearer', id_token, ...lie.tokens })
  }
  return {
    fetch,
    sent,
    forms,
    /** Sets the false values of responses until the next call. */
    says: (next: Lie) => {
      lie = next
    },
    hears: (asked: URLSearchParams) => {
      nonce = asked.get('nonce') ?? ''
    },
  }
}

export interface Lie {
  claims?: Record<string, unknown>
  metadata?: Record<string, unknown>
  tokens?: Record<string, unknown>
  userinfo?: Record<string, unknown>
  foreignKey?: boolean
  fails?: (address: string, signal: AbortSignal | undefined) => Promise<Response>
}
