import { type RequestOptions, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { buffer } from 'node:stream/consumers'

import { readCertificate } from './serve.ts'

export interface Asked extends RequestOptions {
  readonly timeoutMs: number
  readonly body?: string
  /** The only certificate to trust. By default, those that Node.js trusts. */
  readonly ca?: string
  readonly rejectUnauthorized?: boolean
}

/** Sends a request, and returns any response. `fetch` cannot trust a certificate for one request only. */
export async function ask(target: URL, { body, timeoutMs, ...options }: Asked) {
  const request = target.protocol === 'https:' ? requestHttps : requestHttp
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; content: Buffer }>()
  const signal = AbortSignal.timeout(timeoutMs)
  const sent = request(target, { ...options, signal }, (answer) => {
    buffer(answer).then((content) => resolve({ status: answer.statusCode ?? 0, content }), reject)
  })
  sent.once('error', reject)
  sent.end(body)
  return await promise
}

/** A service under test. Requests trust the certificate in `folder`. If there is none, `insecure` accepts any. */
export interface ServiceAddress {
  readonly baseUrl: string
  /** The folder of a service that `serve` started. */
  readonly folder: string | undefined
  readonly insecure?: boolean
}

const SERVICE_TIMEOUT_MS = 10_000

/** Reads a public document of the service under test. */
export async function askService(address: ServiceAddress, path: string): Promise<unknown> {
  const { baseUrl, folder, insecure = false } = address
  const ca = folder === undefined ? undefined : readCertificate(folder)
  const trust = ca === undefined ? { rejectUnauthorized: !insecure } : { ca }
  const asked = { ...trust, timeoutMs: SERVICE_TIMEOUT_MS }
  const { content } = await ask(new URL(baseUrl + path), asked).catch((cause: Error) => {
    throw new Error(
      `${baseUrl} cannot be reached: ${cause.message}. Start the service, and check that --data names its folder.`,
      { cause },
    )
  })
  return JSON.parse(content.toString())
}
