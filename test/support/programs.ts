import { type ChildProcess, execFileSync, fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, globSync, mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import type { WorkerResult, WorkerTask } from '../store-worker.ts'

// biome-ignore lint/style/noProcessEnv: the search path belongs to the machine, not to the service
const inherited = process.env
const { PATH = '', PG_BIN: postgresFolder, CI: ci } = inherited

/** The search path for this Node version and the programs of the machine. */
export const searchPath = `${dirname(process.execPath)}${delimiter}${PATH}`

/** Whether tests run in continuous integration, which must not skip any. */
export const isContinuousIntegration = ci === 'true'

export function findProgram(name: string): string | undefined {
  const folders = [
    ...(postgresFolder === undefined ? [] : [postgresFolder]),
    ...PATH.split(delimiter),
    '/usr/local/bin',
    '/usr/sbin',
    ...globSync('/usr/lib/postgresql/*/bin').sort().reverse(),
  ]
  // `existsSync` is also false in a folder that may not be read, where `statSync` would throw.
  const isExecutable = (file: string) => existsSync(file) && (statSync(file).mode & 0o111) !== 0
  return folders.map((folder) => join(folder, name)).find(isExecutable)
}

interface ProgramStart {
  readonly file: string
  readonly arguments: readonly string[]
  readonly cwd: string
  /** Matches the output, of either stream, once the program is ready. */
  readonly readyWhen: RegExp
  readonly owner?: { uid: number; gid: number } | undefined
  readonly environment?: Readonly<Record<string, string>>
}

const READY_TIMEOUT_MS = 45_000
const RESTART_TIMEOUT_MS = 30_000

/** Starts a program and waits until it is ready. It ends with the test process. */
export async function startProgram(start: ProgramStart) {
  let child = await begin(start)
  /** Kills the program and its children at once, as a crash would. */
  const kill = async () => await endNow(child, () => signalAll(child, 'SIGKILL'))
  return {
    /** Suspends the program and its children, like a machine that hangs. */
    freeze: () => signalAll(child, 'SIGSTOP'),
    thaw: () => signalAll(child, 'SIGCONT'),
    kill,
    async restart() {
      await kill()
      // Killed processes release their memory a moment after they end, so the first attempts can fail.
      child = await eventually(RESTART_TIMEOUT_MS, () => begin(start))
    },
  }
}

async function begin(start: ProgramStart) {
  const child = spawn(start.file, start.arguments, {
    cwd: start.cwd,
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(start.environment && { env: { ...inherited, ...start.environment } }),
    ...start.owner,
  })
  endWithTests(child)
  try {
    await ready(child, start.readyWhen)
  } catch (error) {
    signalAll(child, 'SIGKILL')
    throw error
  }
  return child
}

export async function endNow(child: ChildProcess, kill = (): unknown => child.kill('SIGKILL')) {
  if (child.exitCode !== null || child.signalCode !== null) return
  child.ref()
  const exited = once(child, 'exit')
  kill()
  await exited
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
    // The program ends with the tests, so they must not wait for it.
    child.unref()
    for (const stream of [child.stdout, child.stderr]) {
      stream?.off('data', listen).resume()
      if (stream instanceof Socket) stream.unref()
    }
  }
}

const alive = new Map<ChildProcess, () => unknown>()
const folders = new Set<string>()

export function endWithTests<Child extends ChildProcess>(
  child: Child,
  kill = (): unknown => signalAll(child, 'SIGKILL'),
): Child {
  cleanAtEnd()
  alive.set(child, kill)
  child.once('exit', () => alive.delete(child))
  return child
}

export function temporaryFolder(parent = tmpdir()): string {
  cleanAtEnd()
  const folder = mkdtempSync(join(parent, 'gatehouse-'))
  folders.add(folder)
  return folder
}

export function killGroup({ pid }: ChildProcess): void {
  if (pid !== undefined) send(-pid, 'SIGKILL')
}

/** Signals the program first, so it starts no other process, and then its children. */
function signalAll(child: ChildProcess, signal: NodeJS.Signals): void {
  const children = signal === 'SIGKILL' ? childrenOf(child.pid) : []
  child.kill(signal)
  for (const pid of children.length > 0 ? children : childrenOf(child.pid)) send(pid, signal)
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {}
}

/** Returns the ids of the child processes. PostgreSQL starts one per connection, each in its own process group. */
function childrenOf(parent: number | undefined): number[] {
  // Without an id, a line without numbers would match, and signalling process 0 would signal this process group.
  if (parent === undefined) return []
  return execFileSync('ps', ['-A', '-o', 'pid=,ppid='], { encoding: 'utf8' })
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid = 0, ppid]) => (pid > 1 && ppid === parent ? [pid] : []))
}

function clean(): void {
  for (const kill of alive.values()) kill()
  alive.clear()
  for (const folder of folders) removeFolder(folder)
  folders.clear()
}

/** Removes a folder. Retries, because a program that was just killed may still write its last file. */
export function removeFolder(folder: string): void {
  rmSync(folder, { recursive: true, force: true, maxRetries: 10, retryDelay: 20 })
}

let cleans = false

/** Cleans up when the process ends. Handlers are added on first use, so services that import this can still drain. */
function cleanAtEnd(): void {
  if (cleans) return
  cleans = true
  process.once('exit', clean)
  for (const [signal, number] of Object.entries({ SIGINT: 2, SIGTERM: 15, SIGHUP: 1 })) {
    process.once(signal, () => {
      clean()
      process.exit(128 + number)
    })
  }
}

/** These ports and the bus ports of Redis (10,000 higher) are below the ephemeral ports of outgoing connections. */
const ports = { first: 10_000, last: 22_000 }
let lastPort = ports.first + Math.floor(Math.random() * (ports.last - ports.first))

/** Returns a free port. Successive calls in a process return different ports. */
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

/** Repeats the work until it succeeds. After the time limit, throws its last error. */
export async function eventually<T>(timeoutMs: number, work: () => Promise<T>): Promise<T> {
  const deadlineMs = performance.now() + timeoutMs
  for (let pauseMs = 5; ; pauseMs = Math.min(pauseMs * 2, 40)) {
    try {
      return await work()
    } catch (error) {
      if (performance.now() > deadlineMs) throw error
      await delay(pauseMs)
    }
  }
}

/** Runs each task of store-worker.ts in its own process, all at once. Returns their outcomes. Throws if a task fails. */
export async function race(...tasks: readonly WorkerTask[]) {
  const children = tasks.map((task) => {
    const child = endWithTests(fork(join(import.meta.dirname, '../store-worker.ts')))
    child.send(task)
    return child
  })
  await Promise.all(children.map((child) => once(child, 'message')))
  const results = children.map(async (child) => (await once(child, 'message')) as [WorkerResult])
  for (const child of children) child.send('go')
  return (await Promise.all(results)).flatMap(([result]) => {
    if ('problem' in result) throw new Error(result.problem)
    return result.outcomes
  })
}
