import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  ParentBasedSampler,
  type Sampler,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace'

/** The names of the samplers that OpenTelemetry has for everybody. */
export type SamplerName =
  | 'always_on'
  | 'always_off'
  | 'traceidratio'
  | `parentbased_${'always_on' | 'always_off' | 'traceidratio'}`

export interface SamplerSettings {
  readonly sampler: SamplerName
  /** The share of requests of which there are spans, from 0 to 1, where the sampler has one. */
  readonly ratio: number
}

/** Of which requests there are spans. */
export function samplerOf({ sampler, ratio }: SamplerSettings): Sampler {
  const root = rootOf(sampler, ratio)
  return sampler.startsWith('parentbased_') ? new ParentBasedSampler({ root }) : root
}

function rootOf(sampler: SamplerName, ratio: number): Sampler {
  if (sampler.endsWith('traceidratio')) return new TraceIdRatioBasedSampler(ratio)
  return sampler.endsWith('always_off') ? new AlwaysOffSampler() : new AlwaysOnSampler()
}
