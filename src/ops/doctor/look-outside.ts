import { z } from 'zod'

import { paths } from '../../platform/http/paths.ts'
import { type Ask, makeAsk, type OutsideAnswer } from './ask.ts'
import { type CheckName, type Finding, found, ok } from './checks.ts'

/** Somebody waits, and a client would not wait longer either. */
const ANSWER_TIMEOUT_MS = 3_000

/** `Date` has whole seconds, and the answer took a moment. */
const CLOCK_DIFFERENCE_MAX_MS = 5_000

const DAY_MS = 86_400_000
const CERTIFICATE_DAYS_MIN = 21

/** Any page may be that of a client. */
const foreignPage = { origin: 'https://a-page-of-a-client.example' }

/**
 * Reads discovery as a client does, from outside: through names, proxies and caches that may change it.
 *
 * @param demanded whether somebody asked for it; a service that is not running is no fault otherwise
 */
export async function lookOutside(
  baseUrl: string,
  { demanded }: { readonly demanded: boolean },
): Promise<Finding[]> {
  using ask = makeAsk(ANSWER_TIMEOUT_MS)
  let first: OutsideAnswer
  try {
    first = await ask(baseUrl + paths.openidConfiguration, foreignPage)
  } catch (error) {
    return [whyUnreachable(baseUrl, error, demanded)]
  }
  const broken = whyUnreadable(first)
  if (broken) return [broken]
  try {
    const findings = [
      ...judgeMetadata(baseUrl, first),
      ...judgeHeaders(baseUrl, first),
      ...judgeTime(first),
      ...(await judgeOthers(baseUrl, ask)),
    ]
    if (findings.length > 0) return findings
    return [ok(`From outside, discovery at ${baseUrl} is as the service says it.`)]
  } catch (error) {
    return [found('outside.unreachable', `${baseUrl} stopped answering: ${wordsOf(error)}`)]
  }
}

function whyUnreachable(baseUrl: string, error: unknown, demanded: boolean): Finding {
  const code = error instanceof Error && 'code' in error ? String(error.code) : ''
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/.test(code)) {
    return found('outside.untrusted', `The certificate of ${baseUrl} is not trusted here (${code})`)
  }
  const check = demanded ? 'outside.unreachable' : 'outside.silent'
  return found(check, `Nothing answers at ${baseUrl}: ${wordsOf(error)}`)
}

function wordsOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error ? String(error.code) : error.message
}

function whyUnreadable({ status, headers }: OutsideAnswer): Finding | undefined {
  if (status >= 300 && status < 400) {
    return found('outside.redirects', `Discovery leads away, to ${headers.location ?? 'nowhere'}`)
  }
  return status === 200
    ? undefined
    : found('outside.status', `Discovery is answered with ${status}`)
}

const metadata = z.looseObject({ issuer: z.string() })

function judgeMetadata(baseUrl: string, { text }: OutsideAnswer): Finding[] {
  const { data } = metadata.safeParse(parsed(text))
  if (!data) return [found('outside.issuer', 'Discovery is no JSON with an issuer')]
  if (data.issuer !== baseUrl) {
    return [found('outside.issuer', `Discovery names the issuer ${data.issuer}, not ${baseUrl}`)]
  }
  const away = Object.entries(data)
    .filter(([name]) => /_(endpoint|uri)$/.test(name) && !/^op_|service_doc/.test(name))
    .filter(([, address]) => URL.parse(String(address))?.origin !== baseUrl)
    .map(([name, address]) => `${name} ${address}`)
  if (away.length === 0) return []
  return [found('outside.endpoints', `Discovery names addresses elsewhere: ${away.join(', ')}`)]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** What a proxy or a cache may take away from an answer of discovery. */
function judgeHeaders(baseUrl: string, { headers }: OutsideAnswer): Finding[] {
  const lost = [
    ...['x-content-type-options', 'x-frame-options', 'x-request-id', 'content-security-policy'],
    ...(baseUrl.startsWith('https:') ? ['strict-transport-security'] : []),
  ].filter((name) => headers[name] === undefined)
  const judged: readonly (readonly [boolean, CheckName, string])[] = [
    [
      headers['access-control-allow-origin'] === '*',
      'outside.cors',
      'Pages of other origins cannot read discovery: Access-Control-Allow-Origin is not *',
    ],
    [
      /\bmax-age=[1-9]/.test(headers['cache-control'] ?? ''),
      'outside.uncacheable',
      `Discovery cannot be kept: Cache-Control is ${headers['cache-control'] ?? 'absent'}`,
    ],
    [
      lost.length === 0,
      'outside.headers-lost',
      `Headers of the service do not arrive: ${lost.join(', ')}`,
    ],
  ]
  return judged.flatMap(([isWell, check, sentence]) => (isWell ? [] : [found(check, sentence)]))
}

function judgeTime({ headers, arrivedAt, certificateEndsAt }: OutsideAnswer): Finding[] {
  const findings: Finding[] = []
  const difference = Math.abs(Date.parse(headers.date ?? '') - arrivedAt)
  if (difference > CLOCK_DIFFERENCE_MAX_MS) {
    findings.push(found('outside.clock', `Its clock and this one differ by ${difference} ms`))
  }
  if (certificateEndsAt !== undefined) {
    const days = Math.floor((certificateEndsAt - arrivedAt) / DAY_MS)
    const sentence = `The certificate ends in ${days} days`
    if (days < CERTIFICATE_DAYS_MIN) findings.push(found('outside.certificate-ends', sentence))
    else findings.push(ok(`${sentence}.`))
  }
  return findings
}

const keySet = z.object({ keys: z.array(z.looseObject({ kid: z.string() })).min(1) })

async function judgeOthers(baseUrl: string, ask: Ask): Promise<Finding[]> {
  const findings: Finding[] = []
  const keys = await ask(baseUrl + paths.jwks, foreignPage)
  const { data } = keySet.safeParse(parsed(keys.text))
  if (keys.status !== 200 || !data || data.keys.some((key) => 'd' in key)) {
    findings.push(found('outside.key-set', `The key set is answered with ${keys.status}, not keys`))
  }
  if (!keys.reusedConnection) {
    findings.push(found('outside.connections', 'A connection is closed after one answer'))
  }
  for (const path of [paths.authorizationServer, paths.protectedResource]) {
    const { status } = await ask(baseUrl + path, foreignPage)
    if (status !== 200) findings.push(found('outside.status', `${path} is answered with ${status}`))
  }
  // A token that is worth nothing is told so; one that did not arrive is asked for.
  const refused = await ask(baseUrl + paths.userinfo, { authorization: 'Bearer of-the-doctor' })
  if (!/error="invalid_token"/.test(refused.headers['www-authenticate'] ?? '')) {
    const sentence = `A token in the header is not seen by the service (answer ${refused.status})`
    findings.push(found('outside.authorization-lost', sentence))
  }
  return findings
}
