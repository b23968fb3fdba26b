import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, globSync, rmSync } from 'node:fs'
import { createServer, Socket } from 'node:net'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

/** The programs that tests start, none of which a contributor needs to have. */
export type ProgramName =
  | 'redis-server'
  | 'postgres'
  | 'initdb'
  | 'chromium'
  | 'chromium-headless-shell'
  | 'openssl'
  | 'nginx'
  | 'caddy'
  | 'traefik'
  | 'envoy'
  | 'go'
  | 'uvicorn'
  | 'moto_server'
  | 'promtool'

// biome-ignore lint/style/noProcessEnv: where programs are is a fact of the machine, not of the service
const inherited = process.env
const { PATH: searchPath = '', PG_BIN: postgresFolder, CI: ci } = inherited

/** Whether this is continuous integration, where nothing may be skipped. */
export const isContinuousIntegration: boolean = ci === 'true'

/** Where a program is on this machine, or nothing. */
export function findProgram(name: ProgramName): string | undefined {
  const folders = [
    ...(postgresFolder === undefined ? [] : [postgresFolder]),
    ...searchPath.split(delimiter),
    '/usr/local/bin',
    '/usr/sbin',
    ...globSync('/usr/lib/postgresql/*/bin').sort().reverse(),
  ]
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export interface ProgramStart {
  readonly file: string
  readonly arguments: readonly string[]
  readonly cwd: string
  /** The line of output, on either stream, that says that it is ready. */
  readonly readyWhen: RegExp
  readonly owner?: { uid: number; gid: number }
  /** Besides what this process has. */
  readonly environment?: Readonly<Record<string, string>>
}

export interface RunningProgram {
  /** Stops every process of it without ending one, as a machine that hangs does. */
  freeze(): void
  thaw(): void
  /** Ends it at once, as a power failure does. */
  kill(): Promise<void>
}

const READY_TIMEOUT_MS = 45_000

/** Starts a program and waits until it is ready. It never outlives the test process. */
export async function startProgram(start: ProgramStart): Promise<RunningProgram> {
  const child = spawn(start.file, start.arguments, {
    cwd: start.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(start.environment && { env: { ...inherited, ...start.environment } }),
    ...start.owner,
  })
  cleanAtEnd()
  alive.add(child)
  child.once('exit', () => alive.delete(child))
  try {
    await ready(child, start.readyWhen)
  } catch (error) {
    signalAll(child, 'SIGKILL')
    throw error
  }
  return {
    freeze: () => signalAll(child, 'SIGSTOP'),
    thaw: () => signalAll(child, 'SIGCONT'),
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.ref()
      const exited = once(child, 'exit')
      signalAll(child, 'SIGKILL')
      await exited
    },
  }
}

async function ready(child: ChildProcess, readyWhen: RegExp): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  let output = ''
  const fail = (why: string) => reject(new Error(`${child.spawnfile} ${why}: ${output}`))
  const timer = setTimeout(() => fail('did not become ready'), READY_TIMEOUT_MS)
  const listen = (chunk: Buffer) => {
    output += chunk
    if (readyWhen.test(output)) resolve()
  }
  child.stdout?.on('data', listen)
  child.stderr?.on('data', listen)
  child.once('error', (error) => fail(error.message))
  child.once('exit', () => fail('ended'))
  try {
    await promise
  } finally {
    clearTimeout(timer)
    for (const stream of [child.stdout, child.stderr]) stream?.off('data', listen).resume()
    release(child)
  }
}

/** The program ends with the tests, so it must not be what they wait for. */
function release(child: ChildProcess): void {
  child.unref()
  for (const stream of [child.stdout, child.stderr]) if (stream instanceof Socket) stream.unref()
}

const alive = new Set<ChildProcess>()
const folders = new Set<string>()

/** Has a temporary folder removed when the test process ends, whatever happens before. */
export function removeAtExit(folder: string): void {
  cleanAtEnd()
  folders.add(folder)
}

/** The program first, so that it starts no further process, then those that it has started. */
function signalAll(child: ChildProcess, signal: NodeJS.Signals): void {
  const children = signal === 'SIGKILL' ? childrenOf(child.pid) : []
  child.kill(signal)
  for (const pid of children.length > 0 ? children : childrenOf(child.pid)) {
    try {
      process.kill(pid, signal)
    } catch {
      // It ended between the list and the signal.
    }
  }
}

/** PostgreSQL gives every connection a process in a group of its own. */
function childrenOf(parent: number | undefined): number[] {
  // A program that could not be started has no id, and must not be taken for the parent of a line
  // without numbers: signalling the process 0 would signal this whole process group.
  if (parent === undefined) return []
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid = 0, ppid]) => (pid > 1 && ppid === parent ? [pid] : []))
}

function clean(): void {
  for (const child of alive) signalAll(child, 'SIGKILL')
  alive.clear()
  // A program that was just killed may write its last file while its folder is being removed.
  const patiently = { recursive: true, force: true, maxRetries: 10, retryDelay: 20 }
  for (const folder of folders) rmSync(folder, patiently)
  folders.clear()
}

let cleans = false

/**
 * With the first thing that there is to clean, because a service that tests start imports this module, too, and
 * answers to a signal itself: it has requests to finish.
 */
function cleanAtEnd(): void {
  if (cleans) return
  cleans = true
  process.once('exit', clean)
  for (const [signal, number] of [
    ['SIGINT', 2],
    ['SIGTERM', 15],
    ['SIGHUP', 1],
  ] as const) {
    process.once(signal, () => {
      clean()
      process.exit(128 + number)
    })
  }
}

/**
 * Below the ports that the system gives to whoever asks for any, so that no connection and no other
 * test takes one between its choice and its use; what Redis adds for a cluster fits above them.
 */
const ports = { first: 10_000, last: 22_000 }
let lastPort = ports.first + Math.floor(Math.random() * (ports.last - ports.first))

/** A port that nobody listens on at the moment, and that is given to nobody twice. */
export async function freePort(): Promise<number> {
  for (;;) {
    lastPort = lastPort < ports.last ? lastPort + 1 : ports.first
    const port = lastPort
    const server = createServer()
    try {
      await once(server.listen(port, '127.0.0.1'), 'listening')
    } catch {
      continue
    }
    server.close()
    await once(server, 'close')
    return port
  }
}

/** Looks often at first, and seldom at what takes long, whose processor time it would take. */
const PAUSE_MIN_MS = 5
const PAUSE_MAX_MS = 40

/** Asks again and again, for a bounded time, until the work succeeds; its last error otherwise. */
export async function eventually<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs
  for (let pauseMs = PAUSE_MIN_MS; ; pauseMs = Math.min(pauseMs * 2, PAUSE_MAX_MS)) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > deadlineMs) throw error
      await delay(pauseMs)
    }
  }
}

/** The folder of a program, where its companions are. */
export function companion(file: string, name: string): string {
  return join(dirname(file), name)
}

/**
 * Gives each task to a Node process of its own, lets all of them begin at the same moment once
 * they are prepared, and returns what they send back.
 */
export async function race<Result>(script: string, tasks: readonly object[]): Promise<Result[]> {
  const children = tasks.map((task) => {
    const child = fork(script)
    cleanAtEnd()
    alive.add(child)
    child.once('exit', () => alive.delete(child))
    child.send(task)
    return child
  })
  await Promise.all(children.map((child) => once(child, 'message')))
  const results = children.map(async (child): Promise<Result> => (await once(child, 'message'))[0])
  for (const child of children) child.send('go')
  return await Promise.all(results)
}
