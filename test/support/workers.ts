import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

import { paths } from '../../src/platform/http/paths.ts'
import { withoutLimits } from './limits.ts'
import { configWith, type ServiceProcess, startProcess, type Variables } from './process.ts'
import { eventually } from './programs.ts'

/** A line of the log, of the primary (with `worker`) or of a request at a worker. */
export interface LogLine {
  /** The process that wrote it. */
  readonly pid: number
  /** The process that the primary speaks of. */
  readonly worker?: number
  readonly msg: string
  readonly cause?: string
  readonly id?: string
}

/** A service of several processes, and what its log says of them. */
export interface Workers extends ServiceProcess {
  lines(): LogLine[]
  /** Every worker that ever served, in that order. */
  served(): number[]
  /** Waits until a line says so for the n-th time; gives that line. */
  says(msg: string, times?: number): Promise<LogLine>
}

const SAYS_TIMEOUT_MS = 45_000

/** Starts a service of several processes, and waits until every one of them serves. */
export async function startWorkers(
  count: number,
  variables: Variables = {},
  command?: readonly string[],
): Promise<Workers> {
  // Some send thousands of requests for one person.
  const CONFIG_DIR = configWith(withoutLimits)
  const setup = { LOG_LEVEL: 'info', WORKERS: String(count), CONFIG_DIR, ...variables }
  const service = await startProcess(setup, command)
  const lines = () => readLines(service.output.soFar())
  const saying = (msg: string) => lines().filter((line) => line.msg === msg)
  const workers: Workers = {
    ...service,
    lines,
    served: () => saying('a worker serves').map(({ worker = 0 }) => worker),
    says: async (msg, times = 1) =>
      await eventually(SAYS_TIMEOUT_MS, async () => {
        const line = saying(msg)[times - 1]
        if (!line) throw new Error(`the log did not say ${times} times: ${msg}`)
        return line
      }),
  }
  await workers.says('a worker serves', count)
  return workers
}

/** Throws when a line is not whole. */
export function readLines(output: string): LogLine[] {
  return output
    .slice(0, output.lastIndexOf('\n') + 1)
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))
}

/** A process that has ended and that nobody has asked how (Z) is not alive. */
export function isAlive(pid: number): boolean {
  return /^[^Z\s]/.test(stateOf(pid))
}

/** Whether a signal to stop has had its effect. */
export function isStopped(pid: number): boolean {
  return stateOf(pid).startsWith('T')
}

function stateOf(pid: number): string {
  return spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout
}

/** One connection that is kept open, as a proxy or a client keeps it. */
export interface KeptConnection {
  /** Rejects when the connection breaks before the whole answer is there. */
  get(path: string): Promise<IncomingMessage>
  /** Posts the form when there is one; a path or a whole address of the same service. */
  send(path: string, headers?: Record<string, string>, form?: URLSearchParams): Promise<SentAnswer>
  close(): void
}

export interface SentAnswer {
  readonly answer: IncomingMessage
  readonly body: string
}

export function keepConnection(url: string, headers: Record<string, string> = {}): KeptConnection {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send: KeptConnection['send'] = async (path, own = {}, form) => {
    const type = form && { 'content-type': 'application/x-www-form-urlencoded' }
    const method = form ? 'POST' : 'GET'
    const call = request(new URL(path, url), {
      agent,
      method,
      headers: { ...headers, ...type, ...own },
    })
    call.end(form?.toString())
    const [answer] = (await once(call, 'response')) as [IncomingMessage]
    return { answer, body: await text(answer) }
  }
  return { send, get: async (path) => (await send(path)).answer, close: () => agent.destroy() }
}

/** What a load of several kept connections saw. */
export interface Load {
  /** The status of every answer, or the error instead of one. */
  readonly outcomes: readonly (number | string)[]
  /** Waits until this many more answers have come. */
  progress(more: number): Promise<void>
  /** Ends the load; resolves when the last answer is there. */
  end(): Promise<void>
}

/**
 * Asks for UserInfo and for the key set on every connection, again and again. After an error a connection
 * asks no more.
 *
 * @param pauseMs between two requests of a connection; what is measured here is no speed
 */
export function startLoad(
  { url, accessToken }: { readonly url: string; readonly accessToken: string },
  { connections, pauseMs = 5 }: { readonly connections: number; readonly pauseMs?: number },
): Load {
  const outcomes: (number | string)[] = []
  let going = true
  const one = async (turn: number) => {
    const connection = keepConnection(url, { authorization: `Bearer ${accessToken}` })
    try {
      while (going) {
        const answer = await connection.get(turn % 2 ? paths.userinfo : paths.jwks)
        outcomes.push(answer.statusCode ?? 0)
        if (pauseMs > 0) await delay(pauseMs)
      }
    } catch (error) {
      outcomes.push(String(error))
    }
    connection.close()
  }
  const running = Array.from({ length: connections }, (_, turn) => one(turn))
  return {
    outcomes,
    progress: async (more) => {
      const goal = outcomes.length + more
      await eventually(SAYS_TIMEOUT_MS, async () => {
        if (outcomes.length < goal) throw new Error(`${outcomes.length} of ${goal} answers`)
      })
    },
    end: async () => {
      going = false
      await Promise.all(running)
    },
  }
}
