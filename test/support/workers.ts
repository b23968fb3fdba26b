import { spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'

import { paths } from '../../src/platform/http/paths.ts'
import { withoutLimits } from './limits.ts'
import { configWith, startProcess, type Variables } from './process.ts'
import { eventually } from './programs.ts'

interface LogLine {
  readonly pid: number
  /** The process id of the worker to which the primary's log line refers. */
  readonly worker?: number
  readonly msg: string
  readonly cause?: string
  readonly id?: string
}

export type Workers = Awaited<ReturnType<typeof startWorkers>>

const SAYS_TIMEOUT_MS = 45_000

/** Starts a service with several processes, and waits until all of them serve. */
export async function startWorkers(count: number, variables: Variables = {}, command?: string[]) {
  // High limits, because some tests send thousands of requests for one person.
  const CONFIG_DIR = configWith(withoutLimits)
  const setup = { LOG_LEVEL: 'info', WORKERS: String(count), CONFIG_DIR, ...variables }
  const service = await startProcess(setup, command)
  const lines = () => readLines(service.output.soFar())
  const saying = (msg: string) => lines().filter((line) => line.msg === msg)
  const workers = {
    ...service,
    lines,
    /** Returns the process ids of the workers that began to accept requests, in the order of the log. */
    served: () => saying('a worker accepts requests').map(({ worker = 0 }) => worker),
    /** Waits until the log contains a message this many times. Returns the last of these lines. */
    says: async (msg: string, times = 1) =>
      await eventually(SAYS_TIMEOUT_MS, async () => {
        const line = saying(msg)[times - 1]
        if (!line) throw new Error(`the log did not say ${times} times: ${msg}`)
        return line
      }),
  }
  await workers.says('a worker accepts requests', count)
  return workers
}

export function readLines(output: string): LogLine[] {
  const whole = output.split('\n').slice(0, -1)
  return whole.filter(Boolean).map((line) => JSON.parse(line))
}

export function isAlive(pid: number): boolean {
  return /^[^Z\s]/.test(stateOf(pid))
}

export function isStopped(pid: number): boolean {
  return stateOf(pid).startsWith('T')
}

function stateOf(pid: number): string {
  return spawnSync('ps', ['-o', 'stat=', '-p', String(pid)], { encoding: 'utf8' }).stdout
}

export type KeptConnection = ReturnType<typeof keepConnection>

/** Creates a client with one connection that stays open. A request rejects when the connection breaks. */
export function keepConnection(url: string, headers: Record<string, string> = {}) {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const send = async (path: string, own: Record<string, string> = {}, form?: URLSearchParams) => {
    const type = form && { 'content-type': 'application/x-www-form-urlencoded' }
    const call = request(new URL(path, url), {
      ...{ agent, method: form ? 'POST' : 'GET', headers: { ...headers, ...type, ...own } },
    })
    call.end(form?.toString())
    const [answer] = (await once(call, 'response')) as [IncomingMessage]
    return { answer, body: await text(answer) }
  }
  const get = async (path: string) => (await send(path)).answer
  return { send, get, close: () => agent.destroy() }
}

/** Repeats UserInfo and key set requests on several connections. A connection ends at its first error. */
export function startLoad(
  { url, accessToken }: { readonly url: string; readonly accessToken: string },
  { connections, pauseMs = 5 }: { readonly connections: number; readonly pauseMs?: number },
) {
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
    outcomes: outcomes as readonly (number | string)[],
    progress: async (more: number) => {
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
