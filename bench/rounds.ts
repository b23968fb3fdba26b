import { processorSeconds } from './cores.ts'
import { type OperationName, operations } from './operations.ts'
import type { Options } from './options.ts'
import { CONNECTIONS, type Supply } from './prepared-tokens.ts'
import type { Progress } from './progress.ts'
import { type Load, runLoad } from './wire-client.ts'

/** A server to measure, and the tokens for its requests. */
export interface Measured {
  readonly name: string
  readonly kind: 'ours' | 'bare' | 'peer'
  readonly url: string
  /** The URLs of operations whose port differs from that of `url`. */
  readonly urls?: Partial<Record<OperationName, string>>
  /** The server process. Its processor time includes that of its children. */
  readonly pid: number
  readonly supply: Supply
}

/** The figures of one operation on one server: medians over the rounds. */
export interface Figure {
  /** The user and system time of the server for one request, at 32 connections. */
  readonly processorMicroseconds: number
  readonly requestsPerSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** At one connection. */
  readonly aloneP50Ms: number
  readonly aloneP99Ms: number
  /** The share of responses with a status other than 200, usually because of the storage timeout. */
  readonly failedShare: number
  readonly answerBytes: number
}

export type Figures = Map<string, Map<OperationName, Figure>>

/** The maximum share of failed requests, for example after the storage timeout. Above it, `loadOf` measures again. */
const FAILED_SHARE_MAX = 0.1
const ATTEMPTS_MAX = 5

/** The minimum number of responses for a meaningful percentile and processor time. */
const ANSWERS_MIN = 500
const ANSWERS_OF_CONNECTION_MIN = 100

/** The number of codes to prepare for each second. Neither the service nor the bare engine exchanges more. */
export const CODES_PER_SECOND = { one: 700, many: 1400 }
/** The same number for peers, which create codes slowly. If a peer exchanges all its codes, the load ends early. */
const CODES_OF_PEER_PER_SECOND = { one: 100, many: 300 }

/**
 * Yields each operation on each server in each round. Changes the order of the servers in each round, so other load on
 * the machine affects all of them alike. Round 0 is not counted, because servers are still compiling hot functions.
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

/** Measures each operation on each server that has it, in turn. */
export async function measureRounds(
  servers: readonly Measured[],
  {
    operations: names,
    rounds,
    seconds,
    warmUpSeconds,
  }: Pick<Options, 'operations' | 'rounds' | 'seconds' | 'warmUpSeconds'>,
  progress: Progress,
): Promise<Figures> {
  const samples = new Map<string, Figure[]>()
  for (const { round, name, server } of turns(rounds, names, servers)) {
    if (server.kind !== 'ours' && !operations[name].standard) continue
    progress.step(`${operations[name].title}, ${server.name}`)
    const sample = await measureOnce(server, name, round === 0 ? warmUpSeconds : seconds)
    const key = `${server.name} ${name}`
    if (round > 0) samples.set(key, [...(samples.get(key) ?? []), sample])
  }
  const figuresOf = (server: Measured) =>
    names.flatMap((name) => {
      const taken = samples.get(`${server.name} ${name}`)
      return taken ? [[name, medians(taken)] as const] : []
    })
  return new Map(servers.map((server) => [server.name, new Map(figuresOf(server))]))
}

async function measureOnce(server: Measured, name: OperationName, seconds: number) {
  const aloneSeconds = seconds / 2
  const codesPerSecond = server.kind === 'peer' ? CODES_OF_PEER_PER_SECOND : CODES_PER_SECOND
  const alone = await loadOf(server, name, {
    connections: 1,
    requests: Math.ceil(aloneSeconds * codesPerSecond.one),
    seconds: aloneSeconds,
  })
  const many = await loadOf(server, name, {
    connections: CONNECTIONS,
    requests: Math.ceil(seconds * codesPerSecond.many),
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

interface Stretch {
  readonly connections: number
  /** The number of requests to prepare, if each can be used only once. */
  readonly requests: number
  readonly seconds: number
}

/** Runs one stretch of load, and repeats it if many requests fail. Returns its results and the cost of a request. */
export async function loadOf(server: Measured, name: OperationName, stretch: Stretch) {
  for (let attempt = 1; ; attempt += 1) {
    const sources = await operations[name].prepare(server.supply, stretch)
    const before = processorSeconds(server.pid)
    const load = await runLoad(server.urls?.[name] ?? server.url, sources, {
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

/** Calls UserInfo on some connections for some seconds. */
export async function loadUserInfo(
  { url, supply }: Pick<Measured, 'url' | 'supply'>,
  connections: number,
  seconds: number,
): Promise<Load> {
  const sources = await operations.userinfo.prepare(supply, { connections, requests: 0 })
  return await runLoad(url, sources, { seconds })
}

function rotated<T>(list: readonly T[], by: number): T[] {
  const start = by % list.length
  return [...list.slice(start), ...list.slice(0, start)]
}

/** Returns the median of each property of the samples. */
export function medians<Sample extends object>(samples: readonly Sample[]): Sample {
  const [first] = samples
  const names = Object.keys(first ?? {}) as (keyof Sample)[]
  const medianOf = (name: keyof Sample) => median(samples.map((sample) => Number(sample[name])))
  return Object.fromEntries(names.map((name) => [name, medianOf(name)])) as Sample
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5)
}

export function percentile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN
}
