import type { Middleware } from 'koa'

import type { LoggedRequest } from '../http/request-log.ts'
import type { StoreGuard } from '../store/guarded-stores.ts'
import { describeUse } from '../store/store-use.ts'
import { countsOf } from './count-request.ts'
import type { Metrics } from './registry.ts'
import type { Send, Traces } from './traces.ts'

/** Whoever measures, where anybody does. */
export interface Watchers {
  readonly metrics?: Metrics | undefined
  readonly traces?: Traces | undefined
}

/** A request to another service, with the headers by which that may join the trace. */
export type Outgoing = <Result>(
  purpose: string,
  send: (headers: Readonly<Record<string, string>>) => Promise<Result>,
) => Promise<Result>

/**
 * What stands around the parts of a service that somebody watches. Without a watcher each of these gives
 * back what it was given, so that nothing stands there.
 */
export interface Watch {
  readonly guard: (guard: StoreGuard) => StoreGuard
  readonly fetch: (send: Send) => Send
  readonly signIn: <Attempt, Outcome extends { readonly kind: string }>(
    signIn: (attempt: Attempt) => Promise<Outcome>,
  ) => (attempt: Attempt) => Promise<Outcome>
  readonly outgoing: Outgoing
  /** Begins the trace of a request. */
  readonly trace: Middleware | undefined
  readonly hear: (line: LoggedRequest) => void
  readonly hearTask: (task: string, outcome: 'succeeded' | 'failed') => void
}

export function makeWatch({ metrics, traces }: Watchers): Watch {
  return {
    guard: (guard) => {
      const traced = traces ? traces.guard(guard) : guard
      return metrics ? timed(traced, metrics) : traced
    },
    fetch: (send) => {
      const traced = traces ? traces.fetch(send) : send
      return metrics ? countedFetch(traced, metrics) : traced
    },
    signIn: (signIn) => (metrics ? countedSignIn(signIn, metrics) : signIn),
    outgoing: traces ? traces.outgoing : async (_purpose, send) => await send({}),
    trace: traces?.middleware,
    hear: (line) => {
      if (!metrics) return
      for (const { metric, labels, seconds } of countsOf(line)) {
        if (seconds === undefined) metrics.add(metric, labels)
        else metrics.time(metric, labels, seconds)
      }
    },
    hearTask: (task, outcome) => {
      metrics?.add('gatehouse_task_runs_total', { task, outcome })
      if (outcome === 'failed') return
      metrics?.set('gatehouse_task_last_success_timestamp_seconds', { task }, Date.now() / 1000)
    },
  }
}

function timed(guard: StoreGuard, metrics: Metrics): StoreGuard {
  return async (call, isFailure, use) => {
    const { store } = use
    const startedAtMs = performance.now()
    const failed = (error: unknown) => {
      const isOfStore = isFailure(error)
      if (isOfStore) metrics.add('gatehouse_store_failures_total', { store })
      return isOfStore
    }
    try {
      return await guard(call, failed, use)
    } finally {
      const { operation } = describeUse(use)
      const seconds = (performance.now() - startedAtMs) / 1000
      metrics.time('gatehouse_store_duration_seconds', { store, operation }, seconds)
    }
  }
}

/** Nothing is posted but notices of sign-outs. */
function countedFetch(send: Send, metrics: Metrics): Send {
  return async (input, init) => {
    const purpose = init?.method === 'POST' ? 'notice' : 'document'
    const count = (outcome: string) =>
      metrics.add('gatehouse_outgoing_requests_total', { purpose, outcome })
    try {
      const response = await send(input, init)
      count(response.ok ? 'answered' : 'refused')
      return response
    } catch (error) {
      count('failed')
      throw error
    }
  }
}

function countedSignIn<Attempt, Outcome extends { readonly kind: string }>(
  signIn: (attempt: Attempt) => Promise<Outcome>,
  metrics: Metrics,
) {
  const count = (outcome: string) => metrics.add('gatehouse_sign_ins_total', { outcome })
  return async (attempt: Attempt): Promise<Outcome> => {
    try {
      const outcome = await signIn(attempt)
      count(outcome.kind)
      return outcome
    } catch (error) {
      count('failed')
      throw error
    }
  }
}
