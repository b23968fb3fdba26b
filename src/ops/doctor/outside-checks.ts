import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { TLSSocket } from 'node:tls'

import { z } from 'zod'

import { paths } from '../../platform/http/paths.ts'
import { type CheckName, type Finding, found, ok } from './checks.ts'

/** A person waits, and a client would not wait longer either. */
const ANSWER_TIMEOUT_MS = 3_000

/** No answer of the service is longer; anything else is not read to its end. */
const ANSWER_CHARACTERS_MAX = 1_000_000

/** `Date` has whole seconds, and the answer took a moment. */
const CLOCK_DIFFERENCE_MAX_MS = 5_000

const DAY_MS = 86_400_000
const CERTIFICATE_DAYS_MIN = 21

/** Any page may be that of a client. */
const foreignPage = { origin: 'https://a-page-of-a-client.example' }

/** An answer as it arrived; redirects are not followed. */
interface OutsideAnswer {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Whether it came over a connection that had answered before. */
  readonly reusedConnection: boolean
  /** When the certificate of the server ends, in epoch milliseconds; absent for http. */
  readonly certificateEndsAt: number | undefined
  /** When it arrived, by the clock of this machine. */
  readonly arrivedAt: number
}

type Ask = (path: string, headers?: Record<string, string>) => Promise<OutsideAnswer>

/**
 * Reads discovery as a client does, from outside: through names, proxies and caches that may change it.
 *
 * @param demanded whether the operator asked for it; otherwise a service that is not running is no fault
 */
export async function checkOutside(baseUrl: string, demanded: boolean): Promise<Finding[]> {
  const { Agent, request } = baseUrl.startsWith('https:') ? https : http
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const ask: Ask = async (path, headers = foreignPage) =>
    await readAnswer(request(baseUrl + path, { agent, headers }))
  try {
    return await judgeDiscovery(baseUrl, ask, demanded)
  } finally {
    agent.destroy()
  }
}

/**
 * Asks as a client far away does: by name, over one connection that is kept, with the authorities that
 * this machine trusts (NODE_EXTRA_CA_CERTS adds to them).
 */
async function readAnswer(asked: http.ClientRequest): Promise<OutsideAnswer> {
  const late = new Error('it did not answer in time')
  const timer = setTimeout(() => asked.destroy(late), ANSWER_TIMEOUT_MS)
  try {
    const [answer] = (await once(asked.end(), 'response')) as [IncomingMessage]
    const { socket, headers, statusCode: status = 0 } = answer
    const certificateEndsAt =
      socket instanceof TLSSocket ? Date.parse(socket.getPeerCertificate().valid_to) : undefined
    let text = ''
    for await (const chunk of answer.setEncoding('utf8')) {
      text += chunk
      if (text.length > ANSWER_CHARACTERS_MAX) throw new Error('its answer has no end')
    }
    const { reusedSocket: reusedConnection } = asked
    return { status, headers, text, reusedConnection, certificateEndsAt, arrivedAt: Date.now() }
  } finally {
    clearTimeout(timer)
  }
}

async function judgeDiscovery(baseUrl: string, ask: Ask, demanded: boolean): Promise<Finding[]> {
  let first: OutsideAnswer
  try {
    first = await ask(paths.openidConfiguration)
  } catch (error) {
    return [whyUnreachable(baseUrl, error, demanded)]
  }
  const { status, headers } = first
  if (status >= 300 && status < 400) {
    return [found('outside.redirects', `Discovery leads away, to ${headers.location ?? 'nowhere'}`)]
  }
  if (status !== 200) return [found('outside.status', `Discovery is answered with ${status}`)]
  try {
    const findings = [
      ...judgeMetadata(baseUrl, first),
      ...judgeHeaders(baseUrl, first),
      ...judgeTime(first),
      ...(await judgeOthers(ask)),
    ]
    if (findings.length > 0) return findings
    return [ok(`From outside, discovery at ${baseUrl} is as the service says it.`)]
  } catch (error) {
    return [found('outside.unreachable', `${baseUrl} stopped answering: ${reasonOf(error)}`)]
  }
}

function whyUnreachable(baseUrl: string, error: unknown, demanded: boolean): Finding {
  const reason = reasonOf(error)
  if (/CERT|SELF_SIGNED|ALTNAME|UNABLE_TO/.test(reason)) {
    return found(
      'outside.untrusted',
      `The certificate of ${baseUrl} is not trusted here (${reason})`,
    )
  }
  const check = demanded ? 'outside.unreachable' : 'outside.silent'
  return found(check, `Nothing answers at ${baseUrl}: ${reason}`)
}

/** The code that the system gave, such as ECONNREFUSED, or the sentence of the error. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error ? String(error.code) : error.message
}

/** An answer in this form, or nothing. */
function readJson<Form extends z.ZodType>(text: string, form: Form): z.output<Form> | undefined {
  try {
    return form.safeParse(JSON.parse(text)).data
  } catch {
    return undefined
  }
}

function judgeMetadata(baseUrl: string, { text }: OutsideAnswer): Finding[] {
  const metadata = readJson(text, z.looseObject({ issuer: z.string() }))
  if (!metadata) return [found('outside.issuer', 'Discovery is no JSON with an issuer')]
  const { issuer } = metadata
  if (issuer !== baseUrl) {
    return [found('outside.issuer', `Discovery names the issuer ${issuer}, not ${baseUrl}`)]
  }
  const away = Object.entries(metadata)
    .filter(([name]) => /_(endpoint|uri)$/.test(name) && !/^op_|service_doc/.test(name))
    .filter(([, address]) => URL.parse(String(address))?.origin !== baseUrl)
    .map(([name, address]) => `${name} ${address}`)
  if (away.length === 0) return []
  return [found('outside.endpoints', `Discovery names addresses elsewhere: ${away.join(', ')}`)]
}

/** What a proxy or a cache may take away from an answer of discovery. */
function judgeHeaders(baseUrl: string, { headers }: OutsideAnswer): Finding[] {
  const lost = [
    ...['x-content-type-options', 'x-frame-options', 'x-request-id', 'content-security-policy'],
    ...(baseUrl.startsWith('https:') ? ['strict-transport-security'] : []),
  ].filter((name) => headers[name] === undefined)
  const { 'access-control-allow-origin': origin, 'cache-control': caching = 'absent' } = headers
  const judged: readonly (readonly [isWell: boolean, CheckName, string])[] = [
    [
      origin === '*',
      'outside.cors',
      'Pages of other origins cannot read discovery: Access-Control-Allow-Origin is not *',
    ],
    [
      /\bmax-age=[1-9]/.test(caching),
      'outside.uncacheable',
      `Discovery cannot be kept: Cache-Control is ${caching}`,
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

async function judgeOthers(ask: Ask): Promise<Finding[]> {
  const findings: Finding[] = []
  const { status: keyStatus, text, reusedConnection } = await ask(paths.jwks)
  const keys = readJson(text, keySet)?.keys ?? []
  if (keyStatus !== 200 || keys.length === 0 || keys.some((key) => 'd' in key)) {
    findings.push(found('outside.key-set', `The key set is answered with ${keyStatus}, not keys`))
  }
  if (!reusedConnection) {
    findings.push(found('outside.connections', 'A connection is closed after one answer'))
  }
  for (const path of [paths.authorizationServer, paths.protectedResource]) {
    const { status } = await ask(path)
    if (status !== 200) findings.push(found('outside.status', `${path} is answered with ${status}`))
  }
  // A worthless token is refused as invalid; one that did not arrive is asked for.
  const refused = await ask(paths.userinfo, { authorization: 'Bearer of-the-doctor' })
  if (!/error="invalid_token"/.test(refused.headers['www-authenticate'] ?? '')) {
    const sentence = `A token in the header is not seen by the service (answer ${refused.status})`
    findings.push(found('outside.authorization-lost', sentence))
  }
  return findings
}
