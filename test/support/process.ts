import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

import { expect } from 'chai'

import type { ServicePolicy } from '../../src/config/config.ts'
import type { Finding } from '../../src/ops/doctor/checks.ts'
import { placeDemoDatabase } from './demo-database.ts'
import { configFolder } from './gatehouse.ts'
import { listen } from './listen.ts'
import { endWithTests, eventually, freePort, searchPath, temporaryFolder } from './programs.ts'

// biome-ignore lint/style/noProcessEnv: the variable belongs to the test run, not to the service
const { NODE_V8_COVERAGE: coverageFolder } = process.env

const root = join(import.meta.dirname, '../..')

export type Ended = Awaited<ReturnType<typeof endOf>>

const TIMEOUT_MS = 45_000

/** The command of a service with long storage timeouts and high limits, for tests whose subject is not timing. */
export const patientService: readonly string[] = [process.execPath, 'test/patient-worker.ts']

const usualService: readonly string[] = [process.execPath, 'src/main.ts']

export type Variables = Readonly<Record<string, string>>

export type ServiceProcess = Awaited<ReturnType<typeof startProcess>>

/** Starts a service, by default `node src/main.ts` on a free port with the demo campus in a new database. */
export async function startProcess(variables: Variables = {}, command = usualService) {
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
    // Fail at once with the reason if the process ends.
    await Promise.race([
      eventually(TIMEOUT_MS, async () =>
        expect((await fetch(`${url}/healthz`)).status).to.equal(200),
      ),
      ended.then(({ code, stderr }) => {
        throw new Error(`the service ended with ${code}: ${stderr}`)
      }),
    ])
  } catch (error) {
    child.kill('SIGKILL')
    throw error
  }
  const stop = async (signal: NodeJS.Signals = 'SIGTERM') => {
    child.kill(signal)
    return await ended
  }
  return {
    url,
    pid: child.pid ?? 0,
    output: {
      soFar: () => written.stdout,
      /** Stops reading, like a log collector that hangs. */
      pause: () => void child.stdout?.pause(),
      resume: () => void child.stdout?.resume(),
    },
    /** Calls back with each line of both streams from now on. */
    hear(callBack: (line: string) => void) {
      for (const input of [child.stdout, child.stderr])
        if (input) createInterface({ input }).on('line', callBack)
    },
    isAlive: () => child.exitCode === null && child.signalCode === null,
    signal: (signal: NodeJS.Signals) => void child.kill(signal),
    ended: () => ended,
    stop,
    /** Kills the process at once, as a crash would. */
    kill: async () => void (await stop('SIGKILL')),
    async [Symbol.asyncDispose]() {
      await stop('SIGKILL')
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

export function withClock(seconds: number): readonly string[] {
  const moved = `const true_ = globalThis.Date
const { now } = true_
const move = () => now() + ${seconds * 1000}
globalThis.Date = class Date extends true_ {
  constructor(...parts) { parts.length === 0 ? super(move()) : super(...parts) }
  static now() { return move() }
}`
  const preload = `data:text/javascript,${encodeURIComponent(moved)}`
  return [process.execPath, '--import', preload, 'src/main.ts']
}

/** Starts a service that must refuse to start. Returns its reason. */
export async function refusedStart(variables: Variables): Promise<string> {
  const { code, stdout, stderr } = await runToEnd(['src/main.ts'], variables)
  expect(code).to.equal(1)
  // With workers, the primary also logs which worker could not start.
  if (variables['WORKERS'] !== '2') expect(stdout).to.equal('')
  return stderr
}

/** Runs `npm run gatehouse -- …` without npm. */
export const runGatehouse = (words: readonly string[], variables: Variables, timeoutMs?: number) =>
  runToEnd(['src/ops/cli/gatehouse.ts', ...words], variables, timeoutMs)

/** Runs a command of `gatehouse` and expects this exit code. Returns the output of both streams. */
export async function gatehouse(words: readonly string[], variables: Variables, expectedCode = 0) {
  const { code, stdout, stderr } = await runGatehouse(words, variables)
  expect(code, stdout + stderr).to.equal(expectedCode)
  if (code === 0) expect(stderr).to.equal('')
  return stdout + stderr
}

/** Runs doctor, and parses its findings. */
export async function runDoctor(variables: Variables, ...words: readonly string[]) {
  const ended = await runGatehouse(['doctor', '--json', ...words], variables)
  const findings: readonly Finding[] = JSON.parse(ended.stdout).findings
  return { ...ended, findings }
}

/** Runs `npm run conformance -- …` without npm. */
export const runConformance = (words: string) =>
  runToEnd(['conformance/main.ts', ...words.split(' ')], {})

async function runToEnd(words: readonly string[], variables: Variables, timeoutMs = TIMEOUT_MS) {
  const child = run([process.execPath, ...words], variables)
  const timer = setTimeout(() => child.kill('SIGKILL'), timeoutMs)
  try {
    return await endOf(child)
  } finally {
    clearTimeout(timer)
  }
}

function run([file = '', ...words]: readonly string[], variables: Variables): ChildProcess {
  const child = spawn(file, words, {
    cwd: root,
    env: {
      PATH: searchPath,
      // Coverage is exact only without the compile cache, which makes starts faster.
      ...(coverageFolder === undefined
        ? { NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/gatehouse') }
        : { NODE_V8_COVERAGE: coverageFolder }),
      ...variables,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  return endWithTests(child, () => child.kill('SIGKILL'))
}

async function endOf(child: ChildProcess, written = { stdout: '', stderr: '' }) {
  for (const stream of ['stdout', 'stderr'] as const) {
    child[stream]?.on('data', (chunk) => {
      written[stream] += chunk
    })
  }
  await once(child, 'close')
  return { code: child.exitCode, signal: child.signalCode, ...written }
}

/** Creates a DATA_DIR with the demo campus, so the first start need not hash the demo's passwords. */
export async function dataFolderWithDemo(): Promise<string> {
  const folder = temporaryFolder()
  await placeDemoDatabase(folder)
  return folder
}

function isDemo(folder: string): boolean {
  if (folder === configFolder) return true
  return readdirSync(join(configFolder, 'demo'))
    .filter((file) => file.endsWith('.ndjson'))
    .map((file) => [folder, configFolder].map((each) => readFileSync(join(each, 'demo', file))))
    .every(([own, delivered]) => own && delivered && own.equals(delivered))
}

/** Copies the configuration with a changed policy. Returns the new folder, for CONFIG_DIR. */
export function configWith(change: (policy: ServicePolicy) => ServicePolicy): string {
  const folder = temporaryFolder()
  cpSync(configFolder, folder, { recursive: true })
  const file = join(folder, 'service.json')
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8')))))
  return folder
}

/** Starts a load balancer. It sends consecutive requests to different processes, and adds the headers `added`. */
export async function startBalancer(added: Readonly<Record<string, string>> = {}) {
  let addresses: readonly string[] = []
  let turn = 0
  const sent = new Map<string, number>()
  const server = createServer((incoming, outgoing) => {
    const address = addresses[turn % addresses.length] ?? ''
    turn += 1
    sent.set(address, (sent.get(address) ?? 0) + 1)
    const { method, headers, url } = incoming
    const options = { method, headers: { ...headers, ...added } }
    const forwarded = request(`${address}${url}`, options, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  // As in the service, because a shorter timeout could close a connection during a request.
  server.keepAliveTimeout = 65_000
  return {
    /** The public address, which is the BASE_URL of all processes behind it. */
    ...(await listen(server)),
    sent,
    serve(next: readonly string[]) {
      addresses = next
    },
  }
}

export type Pair = Awaited<ReturnType<typeof startPair>>

/** Starts two processes with the same storage, secret and issuer. The default issuer is the URL of the first. */
export async function startPair(
  shared: Variables,
  [one, other = one]: readonly (readonly string[])[] = [patientService],
) {
  await using opening = new AsyncDisposableStack()
  const PORT = String(await freePort())
  const first = opening.use(
    await startProcess({ BASE_URL: `http://127.0.0.1:${PORT}`, ...shared, PORT }, one),
  )
  const second = opening.use(await startProcess({ BASE_URL: first.url, ...shared }, other))
  const open = opening.move()
  return { first, second, [Symbol.asyncDispose]: () => open.disposeAsync() }
}

/** Starts two processes behind a balancer. */
export async function startBalancedPair(...[variables, commands]: Parameters<typeof startPair>) {
  await using opening = new AsyncDisposableStack()
  const balancer = opening.use(await startBalancer())
  const { url: BASE_URL } = balancer
  const pair = opening.use(await startPair({ ...variables, BASE_URL }, commands))
  balancer.serve([pair.first.url, pair.second.url])
  const open = opening.move()
  return { ...pair, url: BASE_URL, [Symbol.asyncDispose]: () => open.disposeAsync() }
}
