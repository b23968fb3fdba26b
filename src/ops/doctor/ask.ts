import { Agent as HttpAgent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https'
import { TLSSocket } from 'node:tls'

/** An answer as it arrived; redirects are not followed. */
export interface OutsideAnswer {
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

export type Ask = (url: string, headers?: Record<string, string>) => Promise<OutsideAnswer>

/** Nothing of ours is longer, and what is not ours is not read to its end. */
const ANSWER_CHARACTERS_MAX = 1_000_000

/**
 * Asks as a client far away does: by name, over one connection that is kept, with the authorities that
 * this machine trusts (NODE_EXTRA_CA_CERTS adds to them).
 */
export function makeAsk(timeoutMs: number): Ask & Disposable {
  const options = { keepAlive: true, maxSockets: 1 }
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) }
  const ask: Ask = (url, headers = {}) => {
    const { promise, resolve, reject } = Promise.withResolvers<OutsideAnswer>()
    const secure = url.startsWith('https:')
    const send = secure ? httpsRequest : httpRequest
    const agent = secure ? agents.https : agents.http
    const asked = send(url, { agent, headers, timeout: timeoutMs }, (answer) => {
      let text = ''
      const certificateEndsAt = endOf(answer.socket)
      answer.setEncoding('utf8')
      answer.on('data', (chunk: string) => {
        text += chunk
        if (text.length > ANSWER_CHARACTERS_MAX) asked.destroy(new Error('its answer has no end'))
      })
      answer.on('error', reject)
      answer.on('end', () =>
        resolve({
          status: answer.statusCode ?? 0,
          headers: answer.headers,
          text,
          reusedConnection: asked.reusedSocket,
          certificateEndsAt,
          arrivedAt: Date.now(),
        }),
      )
    })
    const timer = setTimeout(() => asked.destroy(new Error('it did not answer in time')), timeoutMs)
    asked.on('error', reject)
    asked.on('close', () => clearTimeout(timer))
    asked.end()
    return promise
  }
  return Object.assign(ask, {
    [Symbol.dispose]() {
      agents.http.destroy()
      agents.https.destroy()
    },
  })
}

function endOf(socket: unknown): number | undefined {
  if (!(socket instanceof TLSSocket)) return undefined
  return Date.parse(socket.getPeerCertificate().valid_to)
}
