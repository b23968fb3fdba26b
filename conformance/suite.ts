import { z } from 'zod'

import { ask } from './ask.ts'
import type { SuiteConfiguration } from './configuration.ts'
import type { Plan } from './plans.ts'

/** The REST API of a running suite. A failed call rejects with an Error that names the response or the unreachable host. */
export type Suite = ReturnType<typeof openSuite>

export interface SuiteAddress {
  readonly url: string
  /** Created on the suite's pages. A suite in development mode needs none. */
  readonly token: string | undefined
  /** Whether to accept any certificate, because that of a local suite is self-signed. */
  readonly insecure: boolean
}

/** Longer than 30 s, the longest time that the suite delays a response. */
const CALL_TIMEOUT_MS = 60_000

export const suiteStates = ['CONFIGURED', 'WAITING', 'FINISHED', 'INTERRUPTED'] as const

const created = z.object({ id: z.string() })
const createdPlan = created.extend({
  modules: z.array(
    z.object({ testModule: z.string(), variant: z.record(z.string(), z.string()).nullish() }),
  ),
})
const state = z.object({ state: z.enum(suiteStates).optional(), timeout: z.boolean().optional() })
const info = z.object({
  status: z.string(),
  result: z.enum(['PASSED', 'WARNING', 'REVIEW', 'SKIPPED', 'FAILED', 'UNKNOWN']).nullish(),
})
const running = z.object({
  browser: z.object({ urls: z.array(z.string()).default([]) }).optional(),
})
const log = z.array(
  z.object({
    src: z.string().optional(),
    result: z.string().optional(),
    msg: z.unknown().optional(),
  }),
)

export type Module = z.output<typeof createdPlan>['modules'][number]

export function openSuite(address: SuiteAddress) {
  const base = bareUrl(address.url)
  const send = makeSend(address)
  const call = async (method: string, path: string, about: Call = {}): Promise<unknown> => {
    const content = (await send(method, path, about)).content.toString()
    return content === '' ? undefined : JSON.parse(content)
  }
  return {
    version: async () => JSON.stringify(await call('GET', '/api/server')),
    createPlan: async ({ name, variant }: Plan, configuration: SuiteConfiguration) =>
      createdPlan.parse(
        await call('POST', '/api/plan', {
          query: { planName: name, variant: JSON.stringify(variant) },
          body: configuration,
        }),
      ),
    /** Creates a run of a module. All modules start automatically, except the one for key rotation. */
    async create(planId: string, { testModule, variant }: Module): Promise<string> {
      const query = { test: testModule, plan: planId, variant: JSON.stringify(variant ?? {}) }
      return created.parse(await call('POST', '/api/runner', { query })).id
    },
    start: async (id: string) => void (await call('POST', `/api/runner/${id}`)),
    cancel: async (id: string) => void (await call('DELETE', `/api/runner/${id}`)),
    /** Waits until a module reaches one of the states. @returns the state, or undefined after the timeout */
    async waitFor(id: string, states: readonly (typeof suiteStates)[number][], timeoutMs: number) {
      const query = { states: states.join(','), timeoutMs: String(timeoutMs) }
      return state.parse(await call('GET', `/api/runner/${id}/wait-state`, { query })).state
    },
    info: async (id: string) => info.parse(await call('GET', `/api/info/${id}`)),
    /** Lists the URLs that the suite wants to visit, but has no browser task for. */
    async waitingVisits(id: string): Promise<readonly string[]> {
      return running.parse(await call('GET', `/api/runner/${id}`)).browser?.urls ?? []
    },
    /** Returns the logs of a plan as a zip of HTML and JSON, signed by the suite. */
    exportPlan: async (planId: string) =>
      (await send('GET', `/api/plan/exporthtml/${planId}`, {})).content,
    // Pages for people: of a plan, and of a module with its screenshots.
    planPage: (planId: string) => `${base}/plan-detail.html?plan=${planId}`,
    modulePage: (id: string) => `${base}/log-detail.html?log=${id}`,
    /** Lists the failures and warnings of a module. */
    async faults(id: string): Promise<readonly string[]> {
      return log
        .parse(await call('GET', `/api/log/${id}`))
        .filter(({ result }) => result === 'FAILURE' || result === 'WARNING')
        .map(({ src, result, msg }) => `${result} ${src ?? ''}: ${String(msg)}`)
    },
  }
}

interface Call {
  readonly query?: Readonly<Record<string, string>>
  readonly body?: object
}

function makeSend({ url, token, insecure }: SuiteAddress) {
  const base = bareUrl(url)
  return async (method: string, path: string, { query, body }: Call) => {
    const target = new URL(base + path)
    target.search = new URLSearchParams(query).toString()
    const answer = await ask(target, {
      method,
      rejectUnauthorized: !insecure,
      timeoutMs: CALL_TIMEOUT_MS,
      // `content-type` tells the suite that the caller is a program, so send it even without a body.
      headers: {
        accept: 'application/json, application/zip',
        'content-type': 'application/json',
        ...(token !== undefined && { authorization: `Bearer ${token}` }),
      },
      ...(body && { body: JSON.stringify(body) }),
    }).catch((cause: Error) => {
      throw new Error(`The suite at ${target.origin} cannot be reached: ${cause.message}`, {
        cause,
      })
    })
    const { status, content } = answer
    if (status < 200 || status > 299) {
      const said = content.toString().slice(0, 500)
      throw new Error(`The suite responded to ${method} ${path} with ${status}: ${said}`)
    }
    return answer
  }
}

const bareUrl = (url: string) => url.replace(/\/$/, '')
