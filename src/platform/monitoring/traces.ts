import { AsyncLocalStorage } from 'node:async_hooks'

import {
  DiagLogLevel,
  diag,
  isSpanContextValid,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Context as TraceContext,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import { BatchSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import type { Context, Middleware } from 'koa'
import type { Logger } from 'pino'

import packageJson from '../../../package.json' with { type: 'json' }
import { logFields, requestIdOf, routeOf } from '../http/request-log.ts'
import type { StoreGuard } from '../store/guarded-stores.ts'
import { describeUse } from '../store/store-use.ts'
import { type SamplerSettings, samplerOf } from './sampler.ts'
import { readTraceparent, writeTraceparent } from './traceparent.ts'

/** Sends a request to the server of a client. */
export type Send = (address: string, init?: RequestInit) => Promise<Response>

/** Where spans go, and of which requests there are any. */
export interface TraceSettings extends SamplerSettings {
  /** The whole address, of OTLP over HTTP in protobuf. */
  readonly address: string
  readonly serviceName: string
  /** How long one sending may take with its repetitions, also when the process ends. */
  readonly sendWithinMs: number
  /** Whether the trace that a caller names is gone on with. */
  readonly trustParent: boolean
}

/** Spans of requests, of calls to stores, and of requests to others. */
export interface Traces extends AsyncDisposable {
  readonly middleware: Middleware
  readonly guard: (guard: StoreGuard) => StoreGuard
  readonly fetch: (send: Send) => Send
  readonly outgoing: <Result>(
    purpose: string,
    send: (headers: Readonly<Record<string, string>>) => Promise<Result>,
  ) => Promise<Result>
}

/** The trace of the running request; there is none outside of one. */
type Running = AsyncLocalStorage<TraceContext>

/**
 * A span has the pattern of an address, a status, the kind and the table of a statement, and the host that
 * a request goes to. It never has an address, a query, a header, a value of a statement, or a name of
 * anybody.
 */
export function openTraces(settings: TraceSettings, logger: Logger): Traces {
  const { version } = packageJson
  reportTo(logger)
  const exporter = new OTLPTraceExporter({
    url: settings.address,
    timeoutMillis: settings.sendWithinMs,
  })
  const own = { 'service.name': settings.serviceName, 'service.version': version }
  const provider = new TracerProvider({
    // What the standard variables say comes last, and wins.
    resource: defaultResource()
      .merge(resourceFromAttributes(own))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(settings),
    spanProcessors: [new BatchSpanProcessor({ exporter })],
  })
  const tracer = provider.getTracer('gatehouse', version)
  const running: Running = new AsyncLocalStorage()
  const outgoing = makeOutgoing(tracer, running)
  return {
    middleware: traceRequest(tracer, running, settings.trustParent),
    guard: (guard) => tracedGuard(guard, tracer, running),
    fetch: (send) => async (input, init) => {
      const { host } = new URL(input)
      return await outgoing(host, async (headers) => {
        const all = new Headers(init?.headers)
        for (const [name, value] of Object.entries(headers)) all.set(name, value)
        return await send(input, { ...init, headers: all })
      })
    },
    outgoing,
    async [Symbol.asyncDispose]() {
      // It sends what is left, and tries again for as long as one sending may take.
      await provider.shutdown().catch((error: unknown) => say(logger, String(error)))
    },
  }
}

function traceRequest(tracer: Tracer, running: Running, trustParent: boolean): Middleware {
  return (ctx, next) => {
    const parent = trustParent ? readTraceparent(ctx.get('traceparent')) : undefined
    const base = parent ? trace.setSpanContext(ROOT_CONTEXT, parent) : ROOT_CONTEXT
    const span = tracer.startSpan(ctx.method, { kind: SpanKind.SERVER }, base)
    if (span.isRecording()) {
      logFields(ctx).trace = span.spanContext().traceId
      endWithAnswer(ctx, span)
    }
    return running.run(trace.setSpan(base, span), next)
  }
}

/** The route is known when the request has taken it. */
function endWithAnswer(ctx: Context, span: Span): void {
  ctx.res.once('close', () => {
    const route = routeOf(ctx)
    const { statusCode, writableFinished } = ctx.res
    const status = writableFinished ? statusCode : GONE
    span.updateName(`${ctx.method} ${route}`)
    span.setAttributes({
      'http.request.method': ctx.method,
      'http.route': route,
      'http.response.status_code': status,
      'gatehouse.request_id': requestIdOf(ctx),
    })
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR })
    span.end()
  })
}

const GONE = 499
const systems = { sqlite: 'sqlite', postgres: 'postgresql', redis: 'redis' } as const

function tracedGuard(guard: StoreGuard, tracer: Tracer, running: Running): StoreGuard {
  return async (call, isFailure, use) => {
    const parent = running.getStore()
    if (!parent || !isSampled(parent)) return await guard(call, isFailure, use)
    const { operation, name } = describeUse(use)
    const attributes = {
      'db.system.name': systems[use.store],
      'db.operation.name': operation,
      'db.query.summary': name,
    }
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent)
    return await endsWith(span, guard(call, isFailure, use))
  }
}

function makeOutgoing(tracer: Tracer, running: Running): Traces['outgoing'] {
  return async (host, send) => {
    const parent = running.getStore() ?? ROOT_CONTEXT
    const attributes = { 'server.address': host }
    const span = tracer.startSpan(`send ${host}`, { kind: SpanKind.CLIENT, attributes }, parent)
    return await endsWith(span, send({ traceparent: writeTraceparent(span.spanContext()) }))
  }
}

async function endsWith<Result>(span: Span, work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    // The message of an error may hold a value.
    span.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
  }
}

function isSampled(context: TraceContext): boolean {
  const found = trace.getSpanContext(context)
  return (
    found !== undefined &&
    isSpanContextValid(found) &&
    (found.traceFlags & TraceFlags.SAMPLED) !== 0
  )
}

const REASON_LENGTH_MAX = 200

/** That spans cannot be sent is for the log, and for nobody who waits. */
function reportTo(logger: Logger): void {
  const told = (reason: string) => say(logger, reason)
  const silent = () => {}
  const diagnostics = { error: told, warn: told, info: silent, debug: silent, verbose: silent }
  diag.setLogger(diagnostics, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}

function say(logger: Logger, reason: string): void {
  logger.warn({ cause: reason.slice(0, REASON_LENGTH_MAX) }, 'spans could not be sent')
}
