import { z } from 'zod'

import { loopbackAddress } from '../platform/http/loopback.ts'

const samplers = [
  'parentbased_always_on',
  'parentbased_always_off',
  'parentbased_traceidratio',
  'always_on',
  'always_off',
  'traceidratio',
] as const

const webAddress = (name: string) =>
  z.url({ protocol: /^https?$/, error: `${name} must be an http or https address` })

/** The variables of what can be seen of the running service; those of traces are OpenTelemetry's own. */
export const monitoringVariables = {
  METRICS_PORT: z
    .string()
    .refine((text) => /^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= 65_535, {
      error: 'METRICS_PORT must be a number from 1 to 65535',
    })
    .transform(Number)
    .optional()
    .describe('Port of /metrics for Prometheus, another than PORT. Empty: no metrics.'),
  METRICS_HOST: z
    .string()
    .default(loopbackAddress)
    .describe('Address of the interface of METRICS_PORT; whoever reaches it can read the metrics.'),
  OTEL_EXPORTER_OTLP_ENDPOINT: webAddress('OTEL_EXPORTER_OTLP_ENDPOINT')
    .optional()
    .describe(
      'Where traces go, by OTLP over HTTP, such as http://127.0.0.1:4318. Empty: no traces. OTEL_EXPORTER_OTLP_HEADERS, _COMPRESSION and _CERTIFICATE are read as OpenTelemetry says.',
    ),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: webAddress('OTEL_EXPORTER_OTLP_TRACES_ENDPOINT')
    .optional()
    .describe('The same for traces alone, as the whole address.'),
  OTEL_EXPORTER_OTLP_PROTOCOL: z
    .literal('http/protobuf', {
      error: 'OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, which every collector takes',
    })
    .default('http/protobuf')
    .describe('How traces are sent.'),
  OTEL_EXPORTER_OTLP_TIMEOUT: z
    .string()
    .refine((text) => /^\d+$/.test(text) && Number(text) >= 100 && Number(text) <= 10_000, {
      error: 'OTEL_EXPORTER_OTLP_TIMEOUT must be a number of milliseconds from 100 to 10000',
    })
    .transform(Number)
    .default(3_000)
    .describe('Milliseconds that one sending may take; the end of the process waits as long.'),
  OTEL_SDK_DISABLED: z
    .enum(['true', 'false'], { error: 'OTEL_SDK_DISABLED must be true or false' })
    .default('false')
    .describe('true: no traces, whatever else is set.'),
  OTEL_SERVICE_NAME: z
    .string()
    .default('gatehouse')
    .describe('What the service is called in traces; OTEL_RESOURCE_ATTRIBUTES adds to it.'),
  OTEL_TRACES_SAMPLER: z
    .enum(samplers, { error: `OTEL_TRACES_SAMPLER must be one of ${samplers.join(', ')}` })
    .default('parentbased_always_on')
    .describe(`Of which requests there are traces: ${samplers.join(', ')}.`),
  OTEL_TRACES_SAMPLER_ARG: z
    .string()
    .refine((text) => /^(0(\.\d+)?|1(\.0+)?)$/.test(text), {
      error: 'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1',
    })
    .transform(Number)
    .default(1)
    .describe('The share of requests of which traceidratio makes traces, from 0 to 1.'),
  TRUST_TRACEPARENT: z
    .enum(['yes', 'no'], { error: 'TRUST_TRACEPARENT must be one of yes, no' })
    .default('no')
    .describe(
      'yes: the header traceparent is gone on with (set it behind a proxy that makes its own only).',
    ),
}

type Variables = z.output<z.ZodObject<typeof monitoringVariables>>

/** Where metrics are read and traces are sent; each is absent when it is off. */
export function monitoringOf(data: Variables) {
  return { metricsAddress: metricsAddressOf(data), traces: tracesOf(data) }
}

function metricsAddressOf({ METRICS_PORT: port, METRICS_HOST: host }: Variables) {
  return port === undefined ? undefined : { host, port }
}

function tracesOf(data: Variables) {
  const base = data.OTEL_EXPORTER_OTLP_ENDPOINT?.replace(/\/$/, '')
  const address =
    data.OTEL_EXPORTER_OTLP_TRACES_ENDPOINT ??
    (base === undefined ? undefined : `${base}/v1/traces`)
  if (address === undefined || data.OTEL_SDK_DISABLED === 'true') return undefined
  return {
    address,
    serviceName: data.OTEL_SERVICE_NAME,
    sendWithinMs: data.OTEL_EXPORTER_OTLP_TIMEOUT,
    sampler: data.OTEL_TRACES_SAMPLER,
    ratio: data.OTEL_TRACES_SAMPLER_ARG,
    trustParent: data.TRUST_TRACEPARENT === 'yes',
  }
}

/** Metrics have a port of their own. */
export function* problemsOfMonitoring(set: NodeJS.ProcessEnv): Generator<string> {
  const { METRICS_PORT: port } = set
  if (port !== undefined && port === (set['PORT'] ?? '3000')) {
    yield 'METRICS_PORT must be another port than PORT'
  }
}
