import { processorSeconds } from './cores.ts'
import { type OperationName, operations } from './operations.ts'
import type { Options } from './options.ts'
import type { Progress } from './progress.ts'
import { CONNECTIONS, type Supply } from './supply.ts'
import { type Load, runLoad } from './wire-client.ts'

/** A server under load, and what its requests are made of. */
export interface Measured {
  readonly name: string
  readonly kind: 'ours' | 'bare'
  readonly url: string
  readonly pid: number
  readonly supply: Supply
}

/** One operation on one server: medians over the rounds. */
export interface Figure {
  /** User and system time of the server for one request, at 32 connections. */
  readonly processorMicroseconds: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** At one connection. */
  readonly aloneP50Ms: number
  readonly aloneP99Ms: number
  /** Answers that were not 200, of all answers; usually storage that was late. */
  readonly failedShare: number
  readonly answerBytes: number
}

export type Figures = Map<string, Map<OperationName, Figure>>

/**
 * On a machine that has much else to do the limit on storage refuses some requests. A stretch in
 * which it refused more than this is taken again.
 */
const FAILED_SHARE_MAX = 0.1
const ATTEMPTS_MAX = 5

/** Fewer answers are no percentile, and less processor time than the kernel counts in. */
const ANSWERS_MIN = 500
const ANSWERS_OF_CONNECTION_MIN = 100

/** More than any of the servers exchanges in a second, and few enough to be made beforehand. */
const CODES_PER_SECOND = { one: 700, many: 1400 }

/**
 * Every operation on every server in each round, the servers one right after the other and in
 * another order each time, so that what the machine does meanwhile hits all of them alike. Round 0
 * compiles the code paths and fills the pools, and is not counted.
 */
export function* turns<Name, Server>(
  rounds: number,
  names: readonly Name[],
  servers: readonly Server[],
): Generator<{ readonly round: number; readonly name: Name; readonly server: Server }> {
  for (let round = 0; round <= rounds; round += 1) {
    for (const name of names) {
      for (const server of rotated(servers, round)) yield { round, name, server }
    }
  }
}

/** Measures the operations on each server that has them, in turns. */
export async function measureRounds(
  servers: readonly Measured[],
  { operations: names, rounds, seconds }: Pick<Options, 'operations' | 'rounds' | 'seconds'>,
  progress: Progress,
): Promise<Figures> {
  const samples = new Map<string, Sample[]>()
  for (const { round, name, server } of turns(rounds, names, servers)) {
    if (server.kind === 'bare' && !operations[name].bare) continue
    progress.step(`${operations[name].title}, ${server.name}`)
    const sample = await measureOnce(server, name, round === 0 ? seconds / 2 : seconds)
    if (round > 0) noteIn(samples, `${server.name} ${name}`, sample)
  }
  const figuresOf = (server: Measured) =>
    names.flatMap((name) => {
      const taken = samples.get(`${server.name} ${name}`)
      return taken ? [[name, medians(taken)] as const] : []
    })
  return new Map(servers.map((server) => [server.name, new Map(figuresOf(server))]))
}

type Sample = Figure

async function measureOnce(
  server: Measured,
  name: OperationName,
  seconds: number,
): Promise<Sample> {
  const aloneSeconds = seconds / 2
  const alone = await loadOf(server, name, {
    connections: 1,
    requests: Math.ceil(aloneSeconds * CODES_PER_SECOND.one),
    seconds: aloneSeconds,
  })
  const many = await loadOf(server, name, {
    connections: CONNECTIONS,
    requests: Math.ceil(seconds * CODES_PER_SECOND.many),
    seconds,
  })
  const failed = alone.failed + many.failed
  const good = alone.tookMs.length + many.tookMs.length
  return {
    processorMicroseconds: many.processorMicroseconds,
    requestsPerSecond: many.tookMs.length / many.elapsedSeconds,
    p50Ms: percentile(many.tookMs, 0.5),
    p99Ms: percentile(many.tookMs, 0.99),
    aloneP50Ms: percentile(alone.tookMs, 0.5),
    aloneP99Ms: percentile(alone.tookMs, 0.99),
    failedShare: failed / (failed + good),
    answerBytes: many.answerBytes,
  }
}

/** One stretch of load, with what it cost the server. */
export interface CostedLoad extends Load {
  readonly processorMicroseconds: number
}

export interface Stretch {
  readonly connections: number
  /** How many requests are prepared, where they can be used once only. */
  readonly requests: number
  readonly seconds: number
}

export async function loadOf(
  server: Measured,
  name: OperationName,
  stretch: Stretch,
): Promise<CostedLoad> {
  for (let attempt = 1; ; attempt += 1) {
    const sources = await operations[name].prepare(server.supply, stretch)
    const before = processorSeconds(server.pid)
    const load = await runLoad(server.url, sources, {
      seconds: stretch.seconds,
      answersMin: Math.min(ANSWERS_MIN, ANSWERS_OF_CONNECTION_MIN * stretch.connections),
    })
    const usedSeconds = processorSeconds(server.pid) - before
    const answers = load.tookMs.length + load.failed
    if (load.failed <= answers * FAILED_SHARE_MAX) {
      return { ...load, processorMicroseconds: (usedSeconds / answers) * 1e6 }
    }
    if (attempt < ATTEMPTS_MAX) continue
    const { failed, firstFailure } = load
    throw new Error(`${server.name}, ${name}: ${failed} of ${answers} failed: ${firstFailure}`)
  }
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const start = by % list.length
  return [...list.slice(start), ...list.slice(0, start)]
}

function noteIn<T>(lists: Map<string, T[]>, key: string, value: T): void {
  const list = lists.get(key) ?? []
  lists.set(key, list)
  list.push(value)
}

function medians(samples: readonly Sample[]): Figure {
  const of = (name: keyof Sample) => median(samples.map((sample) => sample[name]))
  return {
    processorMicroseconds: of('processorMicroseconds'),
    requestsPerSecond: of('requestsPerSecond'),
    p50Ms: of('p50Ms'),
    p99Ms: of('p99Ms'),
    aloneP50Ms: of('aloneP50Ms'),
    aloneP99Ms: of('aloneP99Ms'),
    failedShare: of('failedShare'),
    answerBytes: of('answerBytes'),
  }
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
