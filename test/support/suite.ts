import type { IncomingMessage } from 'node:http'
import { createServer } from 'node:https'
import { text } from 'node:stream/consumers'

import { makeCertificate } from '../../conformance/certificate.ts'
import { listen } from './listen.ts'

export type ModuleScript =
  | {
      readonly ends: 'PASSED' | 'WARNING' | 'REVIEW' | 'SKIPPED' | 'FAILED' | 'INTERRUPTED'
      /** The result from the second read on. GONE means a 404 response. */
      readonly later?: 'FAILED' | 'GONE'
    }
  | { readonly breaks: number }
  /** The module waits for a person to open this address, which no browser task matches. */
  | { readonly wants: string }

type Call = { readonly body: string; readonly query: URLSearchParams; readonly id: number }

export type SuiteServer = Awaited<ReturnType<typeof startSuite>>

/** Starts a stub of the REST API of the OpenID Foundation's suite. Each module ends as its script defines. */
export async function startSuite(modules: Readonly<Record<string, ModuleScript>> = {}) {
  const { certificate, privateKey } = makeCertificate('localhost')
  const calls: string[] = []
  const token = 'a-token-of-the-suite'
  const runs: { readonly name: string; started: boolean }[] = []
  const read = new Set<number>()
  let configuration: unknown
  const scriptOf = (id: number) => modules[runs[id]?.name ?? ''] ?? { wants: '' }
  const stateOf = (id: number) => {
    if (!runs[id]?.started) return 'CONFIGURED'
    const script = scriptOf(id)
    if (!('ends' in script)) return 'WAITING'
    return script.ends === 'INTERRUPTED' ? 'INTERRUPTED' : 'FINISHED'
  }
  const answers: Readonly<Record<string, (call: Call) => unknown>> = {
    'GET /api/server': () => ({ version: 'of a test' }),
    'POST /api/plan': ({ body }) => {
      configuration = JSON.parse(body)
      const listed = Object.keys(modules).map((testModule) => ({ testModule, variant: null }))
      return { id: 'a-plan', name: 'a plan', modules: listed }
    },
    'POST /api/runner': ({ query }) => {
      const name = query.get('test') ?? ''
      runs.push({ name, started: name !== 'oidcc-server-rotate-keys' })
      return { id: String(runs.length - 1), name, url: '' }
    },
    'POST /api/runner/:id': ({ id }) => Object.assign(runs[id] ?? {}, { started: true }),
    'DELETE /api/runner/:id': () => ({}),
    'GET /api/runner/:id/wait-state': ({ id, query }) => {
      const state = stateOf(id)
      return query.get('states')?.split(',').includes(state) ? { state } : { timeout: true }
    },
    'GET /api/runner/:id': ({ id }) => {
      const script = scriptOf(id)
      return { browser: { urls: 'wants' in script ? [script.wants] : [] } }
    },
    'GET /api/info/:id': ({ id }) => {
      const script = scriptOf(id)
      const isRead = read.has(id)
      read.add(id)
      if (!('ends' in script) || script.ends === 'INTERRUPTED') {
        return { status: 'FINISHED', result: null }
      }
      if (isRead && script.later === 'GONE') return undefined
      return { status: 'FINISHED', result: (isRead && script.later) || script.ends }
    },
    'GET /api/log/:id': () => [
      { src: 'CheckAll', result: 'SUCCESS', msg: 'well' },
      { src: 'CheckOne', result: 'FAILURE', msg: 'not well' },
      // A recorded request has no message.
      { src: 'CallEndpoint', http: 'request' },
    ],
  }
  const server = createServer({ key: privateKey, cert: certificate }, async (request, response) => {
    const { pathname, searchParams: query } = new URL(request.url ?? '', 'https://localhost')
    if (pathname.startsWith('/test/')) {
      response.writeHead(200, { 'content-type': 'text/html' })
      response.end('<!doctype html><title>back</title><p id="submission_complete">Complete</p>')
      return
    }
    calls.push(`${request.method} ${request.url}`)
    if (pathname.startsWith('/api/plan/exporthtml/')) return void response.end('a zip')
    const script = modules[query.get('test') ?? '']
    if (script && 'breaks' in script) return void response.writeHead(script.breaks).end('down')
    const [status, answer] = answerTo(request, { pathname, query, body: await text(request) })
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(answer))
  })

  function answerTo(
    { method, headers }: IncomingMessage,
    { pathname, ...call }: Omit<Call, 'id'> & { readonly pathname: string },
  ) {
    if (headers.authorization !== `Bearer ${token}`) return [401, {}] as const
    const name = `${method} ${pathname.replace(/\d+/, ':id')}`
    const answer = answers[name]?.({ ...call, id: Number(/\d+/.exec(pathname)) })
    if (answer === undefined) return [404, { error: `no such call: ${name}` }] as const
    return [['POST /api/plan', 'POST /api/runner'].includes(name) ? 201 : 200, answer] as const
  }

  const listening = await listen(server, 'localhost')
  return {
    ...listening,
    url: `https://localhost:${listening.port}`,
    token,
    calls,
    configuration: () => configuration,
  }
}
