import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'

import type { ServicePolicy } from '../../src/config/config.ts'
import { placeDemoDatabase } from './demo-database.ts'
import { configFolder } from './gatehouse.ts'
import { eventually, freePort, removeAtExit } from './programs.ts'

// biome-ignore lint/style/noProcessEnv: facts of the machine and of the test run, not of the service
const { PATH: searchPath = '', NODE_V8_COVERAGE: coverageFolder } = process.env

const root = join(import.meta.dirname, '../..')

/** As `npm start` keeps it: what one process has compiled, the next one need not. */
const compileCache = join(root, 'node_modules/.cache/gatehouse')

export interface Ended {
  /** The exit code, or nothing when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A service in a process of its own, as an operator runs it. */
export interface ServiceProcess extends AsyncDisposable {
  /** Where this very process listens; its BASE_URL may be another address. */
  readonly url: string
  readonly pid: number
  /** What it has written to its standard output. */
  readonly output: Output
  signal(signal: NodeJS.Signals): void
  /** Ends it at once, as a power failure does. */
  kill(): Promise<void>
  /** Asks it to stop, and waits until it has. */
  stop(signal?: NodeJS.Signals): Promise<Ended>
  /** Resolves when it has ended, for whatever reason. */
  ended(): Promise<Ended>
}

export interface Output {
  soFar(): string
  /** Nobody reads it meanwhile, as happens with a log collector that hangs. */
  pause(): void
  resume(): void
}

const START_TIMEOUT_MS = 45_000

/** Waits for storage as long as it takes: for tests of what is answered, and not of how soon. */
export const patientService: readonly string[] = [process.execPath, 'test/patient-worker.ts']

export type Variables = Readonly<Record<string, string>>

/**
 * Starts `node src/main.ts` on a free port, on an embedded database in a folder of its own unless
 * the variables say else, and waits until it serves. It never outlives the tests. Where the folder is its own and
 * the campus that of the demo, the database is there already, as after a first start (see `dataFolderWithDemo`).
 */
export async function startProcess(
  variables: Variables = {},
  command: readonly string[] = [process.execPath, 'src/main.ts'],
): Promise<ServiceProcess> {
  const folder = temporaryFolder()
  const hasDemo =
    !['DATA_DIR', 'DATABASE_URL', 'DEMO_DATA'].some((name) => name in variables) &&
    isDemo(variables['CONFIG_DIR'] ?? configFolder)
  if (hasDemo) await placeDemoDatabase(folder)
  const port = variables['PORT'] ?? String(await freePort())
  const child = run(command, { LOG_LEVEL: 'warn', DATA_DIR: folder, ...variables, PORT: port })
  const url = `http://127.0.0.1:${port}`
  const written = { stdout: '', stderr: '' }
  const ended = endOf(child, written)
  try {
    // A start that fails is not waited for, so that its reason is what the test shows.
    await Promise.race([eventually(START_TIMEOUT_MS, () => answers(url)), ended.then(refuse)])
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal)
    return await ended
  }
  return {
    url,
    pid: child.pid ?? 0,
    output: {
      soFar: () => written.stdout,
      pause: () => void child.stdout?.pause(),
      resume: () => void child.stdout?.resume(),
    },
    signal: (signal) => void child.kill(signal),
    ended: () => ended,
    stop: (signal = 'SIGTERM') => end(signal),
    kill: async () => void (await end('SIGKILL')),
    async [Symbol.asyncDispose]() {
      await end('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** Runs `node src/main.ts` where it is expected to refuse, and returns how it ended. */
export async function runService(variables: Variables): Promise<Ended> {
  return await runToEnd([process.execPath, 'src/main.ts'], variables)
}

/** Runs `npm run gatehouse -- …` without npm. */
export async function runGatehouse(
  words: readonly string[],
  variables: Variables,
  timeoutMs?: number,
): Promise<Ended> {
  return await runToEnd(
    [process.execPath, 'src/ops/cli/gatehouse.ts', ...words],
    variables,
    timeoutMs,
  )
}

/** Runs `npm run conformance -- …` without npm. */
export async function runConformance(words: readonly string[]): Promise<Ended> {
  return await runToEnd([process.execPath, 'conformance/main.ts', ...words], {})
}

const RUN_TIMEOUT_MS = 45_000

async function runToEnd(
  command: readonly string[],
  variables: Variables,
  timeoutMs = RUN_TIMEOUT_MS,
): Promise<Ended> {
  const child = run(command, variables)
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  try {
    return await endOf(child)
  } finally {
    clearTimeout(timer)
  }
}

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

/** The variables are all that it is given, besides where programs are. */
function run([file = '', ...words]: readonly string[], variables: Variables): ChildProcess {
  const child = spawn(file, words, {
    cwd: root,
    // The same node for children of the child, such as a script that npm runs.
    env: {
      PATH: `${dirname(process.execPath)}${delimiter}${searchPath}`,
      // Coverage is exact only for what was compiled from its source.
      ...(coverageFolder === undefined
        ? { NODE_COMPILE_CACHE: compileCache }
        : { NODE_V8_COVERAGE: coverageFolder }),
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

async function endOf(child: ChildProcess, written = { stdout: '', stderr: '' }): Promise<Ended> {
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk) => {
      written[stream] += chunk
    })
  }
  const [code, signal] = await once(child, 'close')
  return { code, signal, ...written }
}

async function answers(url: string): Promise<void> {
  const { status } = await fetch(`${url}/healthz`)
  if (status !== 200) throw new Error(`${url}/healthz answered ${status}`)
}

function refuse({ code, stderr }: Ended): never {
  throw new Error(`the service ended with ${code}: ${stderr}`)
}

/** A folder that is gone when the tests are. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-process-'))
  removeAtExit(folder)
  return folder
}

/**
 * A folder for DATA_DIR that a service with the demo campus has been started in: a first start hashes the passwords
 * of all who are in the demo, which takes half a second.
 */
export async function dataFolderWithDemo(): Promise<string> {
  const folder = temporaryFolder()
  await placeDemoDatabase(folder)
  return folder
}

/** Whether a configuration has the campus of the demo, word for word. */
function isDemo(folder: string): boolean {
  if (folder === configFolder) return true
  const [own, delivered] = [join(folder, 'demo'), join(configFolder, 'demo')]
  return readdirSync(delivered)
    .filter((file) => file.endsWith('.json'))
    .every((file) => readFileSync(join(own, file)).equals(readFileSync(join(delivered, file))))
}

/** A copy of the configuration with another policy, for CONFIG_DIR. */
export function configWith(change: (policy: ServicePolicy) => ServicePolicy): string {
  const folder = temporaryFolder()
  cpSync(configFolder, folder, { recursive: true })
  const file = join(folder, 'service.json')
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8')))))
  return folder
}

export interface Balancer extends AsyncDisposable {
  /** The public address: BASE_URL of every process behind it. */
  readonly url: string
  /** Sends each next request to the next of these addresses. */
  serve(addresses: readonly string[]): void
  /** How many requests each address was sent. */
  readonly sent: ReadonlyMap<string, number>
}

/**
 * As the service keeps connections. Whoever closes an idle one sooner closes it now and then under a request that
 * is on its way.
 */
const KEPT_MS = 65_000

/** What stands in front of several processes: it gives no two requests in a row to the same one. */
export async function startBalancer(): Promise<Balancer> {
  let addresses: readonly string[] = []
  let turn = 0
  const sent = new Map<string, number>()
  const server = createServer((incoming, outgoing) => {
    const address = addresses[turn % addresses.length] ?? ''
    turn += 1
    sent.set(address, (sent.get(address) ?? 0) + 1)
    const { method, headers, url } = incoming
    const forwarded = request(`${address}${url}`, { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    incoming.pipe(forwarded)
  }).listen(0, '127.0.0.1')
  server.keepAliveTimeout = KEPT_MS
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sent,
    serve(next) {
      addresses = next
    },
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

/** Two processes that are one service: the same storage, secret and issuer. */
export interface Pair extends AsyncDisposable {
  /** The one whose own address is BASE_URL, unless the variables name another. */
  readonly first: ServiceProcess
  readonly second: ServiceProcess
}

export async function startPair(shared: Variables, command?: readonly string[]): Promise<Pair> {
  await using opening = new AsyncDisposableStack()
  const PORT = String(await freePort())
  const first = opening.use(
    await startProcess({ BASE_URL: `http://127.0.0.1:${PORT}`, ...shared, PORT }, command),
  )
  const second = opening.use(await startProcess({ BASE_URL: first.url, ...shared }, command))
  const open = opening.move()
  return { first, second, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
