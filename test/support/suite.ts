import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

import { makeCertificate } from '../../conformance/certificate.ts'

/** How a module behaves in the suite below. */
export type ModuleScript =
  | { readonly ends: 'PASSED' | 'WARNING' | 'REVIEW' | 'SKIPPED' | 'FAILED' }
  | { readonly ends: 'INTERRUPTED' }
  /** No browser task fits this address, and the module waits for a person. */
  | { readonly wants: string }

export interface SuiteServer extends AsyncDisposable {
  readonly url: string
  /** The token that it demands, as the public suite does. */
  readonly token: string
  /** Every call, as method, path and query. */
  readonly calls: readonly string[]
  /** The configuration of the plan that was created last. */
  configuration(): unknown
}

/**
 * A server that speaks the REST calls of the OpenID Foundation's suite and shows the page that its
 * browser is sent back to. It tests nothing: each module ends as it is told.
 */
export async function startSuite(
  modules: Readonly<Record<string, ModuleScript>> = {},
): Promise<SuiteServer> {
  const { certificate, privateKey } = makeCertificate('localhost')
  const calls: string[] = []
  const token = 'a-token-of-the-suite'
  const runs: { readonly name: string; started: boolean }[] = []
  let configuration: unknown
  const answers: readonly (readonly [form: RegExp, answer: Answer])[] = [
    [/^GET \/api\/server$/, () => [200, { version: 'of a test' }]],
    [
      /^POST \/api\/plan$/,
      ({ body }) => {
        configuration = JSON.parse(body)
        const listed = Object.keys(modules).map((testModule) => ({ testModule, variant: null }))
        return [201, { id: 'a-plan', name: 'a plan', modules: listed }]
      },
    ],
    [
      /^POST \/api\/runner$/,
      ({ query }) => {
        const name = query.get('test') ?? ''
        runs.push({ name, started: name !== 'oidcc-server-rotate-keys' })
        return [201, { id: String(runs.length - 1), name, url: '' }]
      },
    ],
    [
      /^POST \/api\/runner\/(\d+)$/,
      ({ id }) => {
        const run = runs[id]
        if (run) run.started = true
        return [200, {}]
      },
    ],
    [/^DELETE \/api\/runner\/\d+$/, () => [200, {}]],
    [
      /^GET \/api\/runner\/(\d+)\/wait-state$/,
      ({ id, query }) => {
        const state = stateOf(modules, runs[id])
        return [
          200,
          query.get('states')?.split(',').includes(state) ? { state } : { timeout: true },
        ]
      },
    ],
    [
      /^GET \/api\/runner\/(\d+)$/,
      ({ id }) => {
        const script = modules[runs[id]?.name ?? ''] ?? { wants: '' }
        return [200, { browser: { urls: 'wants' in script ? [script.wants] : [] } }]
      },
    ],
    [
      /^GET \/api\/info\/(\d+)$/,
      ({ id }) => {
        const script = modules[runs[id]?.name ?? ''] ?? { wants: '' }
        return [200, { status: 'FINISHED', result: 'ends' in script ? script.ends : null }]
      },
    ],
    [
      /^GET \/api\/log\/\d+$/,
      () => [
        200,
        [
          { src: 'CheckAll', result: 'SUCCESS', msg: 'well' },
          { src: 'CheckOne', result: 'FAILURE', msg: 'not well' },
          // It says nothing of the requests that it records.
          { src: 'CallEndpoint', http: 'request' },
        ],
      ],
    ],
  ]
  const server = createServer({ key: privateKey, cert: certificate }, async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', 'https://localhost')
    if (pathname.startsWith('/test/')) {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end('<!doctype html><title>back</title><p id="submission_complete">Complete</p>')
      return
    }
    calls.push(`${request.method} ${request.url}`)
    const [status, answer] = answerTo(request, await text(request), searchParams)
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  }).listen(0, 'localhost')
  await once(server, 'listening')

  function answerTo(request: IncomingMessage, body: string, query: URLSearchParams) {
    const asked = `${request.method} ${request.url?.replace(/\?.*/, '')}`
    if (request.headers.authorization !== `Bearer ${token}`) return [401, {}] as const
    for (const [form, answer] of answers) {
      const match = form.exec(asked)
      if (match) return answer({ body, query, id: Number(match[1]) })
    }
    return [404, { error: `no such call: ${asked}` }] as const
  }

  return {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    token,
    calls,
    configuration: () => configuration,
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

type Answer = (call: {
  readonly body: string
  readonly query: URLSearchParams
  readonly id: number
}) => readonly [status: number, answer: unknown]

function stateOf(
  modules: Readonly<Record<string, ModuleScript>>,
  run: { readonly name: string; readonly started: boolean } | undefined,
): string {
  const script = modules[run?.name ?? '']
  if (!run?.started) return 'CONFIGURED'
  if (!script || 'wants' in script) return 'WAITING'
  return script.ends === 'INTERRUPTED' ? 'INTERRUPTED' : 'FINISHED'
}
