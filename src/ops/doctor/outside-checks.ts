import { z } from 'zod'

import { paths } from '../../platform/http/paths.ts'
import { parseJson } from '../../platform/http/strict-json.ts'
import { type Finding, type Findings, found, ok } from './checks.ts'

const ANSWER_TIMEOUT_MS = 3_000

/** The maximum response length. All expected responses are far shorter. */
const ANSWER_CHARACTERS_MAX = 1_000_000

/** The Origin header of a page on another origin. */
const foreignPage = { origin: 'https://a-page-of-a-client.example' }

type Ask = ReturnType<typeof makeAsk>
type OutsideAnswer = Awaited<ReturnType<Ask>>

/** Checks discovery, keys and UserInfo as clients reach them, through DNS, proxies and caches. */
export async function checkOutside(baseUrl: string, mustRespond: boolean): Promise<Finding[]> {
  const ask = makeAsk(baseUrl)
  let first: OutsideAnswer
  try {
    first = await ask(paths.openidConfiguration)
  } catch (error) {
    return [whyUnreachable(baseUrl, error, mustRespond)]
  }
  const { status, headers } = first
  if (status >= 300 && status < 400) {
    const target = headers.get('location') ?? 'an unknown URL (the Location header is missing)'
    return [found('outside.redirects', `Discovery redirects to ${target}`)]
  }
  if (status !== 200) return [found('outside.status', `Discovery responds with status ${status}`)]
  try {
    const findings = [
      ...judgeMetadata(baseUrl, first),
      ...judgeHeaders(baseUrl, first),
      ...(await Array.fromAsync(judgeOthers(ask))),
    ]
    if (findings.length > 0) return findings
    return [ok(`Discovery arrives unchanged through ${baseUrl}.`)]
  } catch (error) {
    return [found('outside.unreachable', `${baseUrl} stopped responding: ${reasonOf(error)}`)]
  }
}

/**
 * Creates a function that sends a request and reads the response, without following redirects. The function trusts
 * the certificate authorities built into Node.js and those in NODE_EXTRA_CA_CERTS.
 */
function makeAsk(baseUrl: string) {
  return async (path: string, headers: Record<string, string> = foreignPage) => {
    const signal = AbortSignal.timeout(ANSWER_TIMEOUT_MS)
    const answer = await fetch(baseUrl + path, { headers, signal, redirect: 'manual' })
    let text = ''
    for await (const chunk of answer.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      text += chunk
      if (text.length > ANSWER_CHARACTERS_MAX) throw new Error('the response is too long')
    }
    return { status: answer.status, headers: answer.headers, text }
  }
}

function whyUnreachable(baseUrl: string, error: unknown, mustRespond: boolean): Finding {
  const reason = reasonOf(error)
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/.test(reason)) {
    const sentence = `The certificate of ${baseUrl} is not trusted on this machine (${reason})`
    return found('outside.untrusted', sentence)
  }
  const check = mustRespond ? 'outside.unreachable' : 'outside.silent'
  return found(check, `${baseUrl} does not respond: ${reason}`)
}

/** Returns the error code of the cause, such as ECONNREFUSED, or else a message. */
function reasonOf(error: unknown): string {
  const { cause, message } = error as Error & { readonly cause?: NodeJS.ErrnoException }
  return cause?.code ?? cause?.message ?? message
}

function* judgeMetadata(baseUrl: string, { text }: OutsideAnswer): Generator<Finding> {
  const { data: metadata } = z.looseObject({ issuer: z.string() }).safeParse(parseJson(text))
  if (metadata?.issuer !== baseUrl) {
    const issuer = metadata?.issuer ?? 'missing'
    return yield found('outside.issuer', `Discovery's issuer must be ${baseUrl}, but is ${issuer}`)
  }
  const foreign = Object.entries(metadata)
    .filter(([name]) => /_(endpoint|uri)$/.test(name) && !/^op_|service_doc/.test(name))
    .filter(([, address]) => URL.parse(String(address))?.origin !== baseUrl)
    .map(([name, address]) => `${name} ${address}`)
  if (foreign.length > 0) {
    yield found('outside.endpoints', `Discovery lists URLs at other origins: ${foreign.join(', ')}`)
  }
}

/** Finds headers that a proxy or cache removed or changed. */
function* judgeHeaders(baseUrl: string, { headers }: OutsideAnswer): Generator<Finding> {
  const unreadable =
    'Pages from other origins cannot read discovery: Access-Control-Allow-Origin is not *'
  if (headers.get('access-control-allow-origin') !== '*') yield found('outside.cors', unreadable)
  const lost = [
    ...['x-content-type-options', 'x-frame-options', 'x-request-id', 'content-security-policy'],
    ...(baseUrl.startsWith('https:') ? ['strict-transport-security'] : []),
  ].filter((name) => !headers.has(name))
  if (lost.length > 0) {
    yield found('outside.headers-lost', `Response headers are missing: ${lost.join(', ')}`)
  }
}

const keySet = z.object({ keys: z.array(z.looseObject({ kid: z.string() })).min(1) })

async function* judgeOthers(ask: Ask): Findings {
  const { status: keyStatus, text } = await ask(paths.jwks)
  const keys = keySet.safeParse(parseJson(text)).data?.keys ?? []
  if (keyStatus !== 200 || keys.length === 0 || keys.some((key) => 'd' in key)) {
    const sentence = `The key set (status ${keyStatus}) lacks public keys or contains a private key`
    yield found('outside.key-set', sentence)
  }
  for (const path of [paths.authorizationServer, paths.protectedResource]) {
    const { status } = await ask(path)
    if (status !== 200) yield found('outside.status', `${path} responds with status ${status}`)
  }
  // The challenge for an invalid token has the code `invalid_token`. Without a token, it has no code (RFC 6750 §3.1).
  const refused = await ask(paths.userinfo, { authorization: 'Bearer not-a-token' })
  if (!/error="invalid_token"/.test(refused.headers.get('www-authenticate') ?? '')) {
    const sentence = `The service does not receive the Authorization header (status ${refused.status})`
    yield found('outside.authorization-lost', sentence)
  }
}
