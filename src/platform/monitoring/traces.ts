import { AsyncLocalStorage } from 'node:async_hooks'

import {
  DiagLogLevel,
  defaultTextMapGetter,
  defaultTextMapSetter,
  diag,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Context as TraceContext,
  TraceFlags,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import { W3CTraceContextPropagator } from '@opentelemetry/core'
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto'
import {
  defaultResource,
  detectResources,
  envDetector,
  resourceFromAttributes,
} from '@opentelemetry/resources'
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace'
import type { Context, Middleware } from 'koa'
import type { Logger } from 'pino'

import packageJson from '../../../package.json' with { type: 'json' }
import { CALLER_GONE, logFields, requestIdOf, routeOf } from '../http/request-log.ts'
import type { SendOutgoing } from '../outgoing/guarded-fetch.ts'
import type { StoreGuard } from '../store/guarded-stores.ts'
import { describeUse } from '../store/store-use.ts'

/** Where to export spans, and which requests to sample. */
export interface TraceSettings {
  readonly sampler: `${'' | 'parentbased_'}${'always_on' | 'always_off' | 'traceidratio'}`
  /** The share of requests to sample, from 0 to 1, for samplers with a ratio. */
  readonly ratio: number
  /** The full URL of the OTLP endpoint, for protobuf over HTTP. */
  readonly address: string
  readonly serviceName: string
  /** The time limit of one export, including its retries. */
  readonly sendWithinMs: number
  /** Whether to continue the caller's trace. */
  readonly trustParent: boolean
}

/** Sends a request with a header that continues the trace. */
export type Outgoing = <Result>(
  host: string,
  send: (headers: Readonly<Record<string, string>>) => Promise<Result>,
) => Promise<Result>

export type Traces = ReturnType<typeof openTraces>

/** Reads and writes the headers `traceparent` and `tracestate`. */
const propagator = new W3CTraceContextPropagator()

/** The trace of the current request; undefined outside of requests. */
type Running = AsyncLocalStorage<TraceContext>

/**
 * Creates spans for requests, store calls and outgoing requests, and exports them. A span contains a route and status,
 * the kind and table of a statement, or the host of an outgoing request. It never contains a full path, a query, a
 * header, statement values or personal data.
 */
export function openTraces(settings: TraceSettings, logger: Logger) {
  const { version } = packageJson
  logDiagnostics(logger)
  const { address: url, sendWithinMs: timeoutMillis } = settings
  const own = { 'service.name': settings.serviceName, 'service.version': version }
  const provider = new TracerProvider({
    // OTEL_RESOURCE_ATTRIBUTES is merged last, so it takes precedence.
    resource: defaultResource()
      .merge(resourceFromAttributes(own))
      .merge(detectResources({ detectors: [envDetector] })),
    sampler: makeSampler(settings.sampler, settings.ratio),
    spanProcessors: [
      new BatchSpanProcessor({ exporter: new OTLPTraceExporter({ url, timeoutMillis }) }),
    ],
  })
  const tracer = provider.getTracer('gatehouse', version)
  const running: Running = new AsyncLocalStorage()
  const outgoing: Outgoing = async (host, send) => {
    const parent = running.getStore() ?? ROOT_CONTEXT
    const attributes = { 'server.address': host }
    const span = tracer.startSpan(`send ${host}`, { kind: SpanKind.CLIENT, attributes }, parent)
    const headers: Record<string, string> = {}
    propagator.inject(trace.setSpan(parent, span), headers, defaultTextMapSetter)
    // Omit `tracestate`: it contains data from the caller, and the other server may belong to a third party.
    const { traceparent = '' } = headers
    return await endSpanAfter(span, send({ traceparent }))
  }
  return {
    middleware: traceRequest(tracer, running, settings.trustParent),
    guard: (guard: StoreGuard) => tracedGuard(guard, tracer, running),
    fetch:
      (send: SendOutgoing): SendOutgoing =>
      async (input, init) =>
        await outgoing(new URL(input).host, async (headers) => {
          const all = { ...Object.fromEntries(new Headers(init?.headers)), ...headers }
          return await send(input, { ...init, headers: all })
        }),
    outgoing,
    async [Symbol.asyncDispose]() {
      // Export the remaining spans.
      await provider.shutdown().catch((error: unknown) => logExportFailure(logger, String(error)))
    },
  }
}

function traceRequest(tracer: Tracer, running: Running, trustParent: boolean): Middleware {
  return (ctx, next) => {
    const base = trustParent
      ? propagator.extract(ROOT_CONTEXT, ctx.headers, defaultTextMapGetter)
      : ROOT_CONTEXT
    const span = tracer.startSpan(ctx.method, { kind: SpanKind.SERVER }, base)
    if (span.isRecording()) {
      logFields(ctx).trace = span.spanContext().traceId
      endWithResponse(ctx, span)
    }
    return running.run(trace.setSpan(base, span), next)
  }
}

/** Ends the span when the response closes. Until then, the route and status are not known. */
function endWithResponse(ctx: Context, span: Span): void {
  ctx.res.once('close', () => {
    const route = routeOf(ctx)
    const { statusCode, writableFinished } = ctx.res
    const status = writableFinished ? statusCode : CALLER_GONE
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

const systems = { sqlite: 'sqlite', postgres: 'postgresql', redis: 'redis' } as const

function tracedGuard(guard: StoreGuard, tracer: Tracer, running: Running): StoreGuard {
  return async (call, isFailure, use) => {
    const parent = running.getStore()
    const flags = parent ? trace.getSpanContext(parent)?.traceFlags : undefined
    if (((flags ?? TraceFlags.NONE) & TraceFlags.SAMPLED) === 0)
      return await guard(call, isFailure, use)
    const { operation, name } = describeUse(use)
    const attributes = {
      'db.system.name': systems[use.store],
      'db.operation.name': operation,
      'db.query.summary': name,
    }
    const span = tracer.startSpan(name, { kind: SpanKind.CLIENT, attributes }, parent)
    return await endSpanAfter(span, guard(call, isFailure, use))
  }
}

async function endSpanAfter<Result>(span: Span, work: Promise<Result>): Promise<Result> {
  try {
    return await work
  } catch (error) {
    // The message of a store error may contain a value, so the span omits it.
    span.setStatus({ code: SpanStatusCode.ERROR })
    throw error
  } finally {
    span.end()
  }
}

const REASON_LENGTH_MAX = 200

/** Logs the errors and warnings of OpenTelemetry. A failed export does not affect requests. */
function logDiagnostics(logger: Logger): void {
  const warn = (reason: string) => logExportFailure(logger, reason)
  const silent = () => {}
  const diagnostics = { error: warn, warn, info: silent, debug: silent, verbose: silent }
  diag.setLogger(diagnostics, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true })
}

function logExportFailure(logger: Logger, reason: string): void {
  logger.warn({ cause: reason.slice(0, REASON_LENGTH_MAX) }, 'traces could not be exported')
}

function makeSampler(name: string, ratio: number): Sampler {
  const [, root] = /^parentbased_(.*)/.exec(name) ?? []
  if (root !== undefined) return new ParentBasedSampler({ root: makeSampler(root, ratio) })
  if (name === 'traceidratio') return new TraceIdRatioBasedSampler(ratio)
  return name === 'always_off' ? new AlwaysOffSampler() : new AlwaysOnSampler()
}
