import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { removeAtExit } from '../support/programs.ts'

// biome-ignore lint/style/noProcessEnv: where the machine's programs are
const { PATH: searchPath = '' } = process.env

/** The names under which programs look for a browser. */
const openers = ['xdg-open', 'open', 'x-www-browser', 'www-browser', 'sensible-browser', 'wslview']
const LOOK_EVERY_MS = 50

/** Programs of every desk, in groups of their own, which would outlive a run that is ended. */
const alive = new Set<ChildProcess>()
process.once('exit', () => alive.forEach(endGroup))

export interface Running {
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  /** A question that it asks, and what its user types then. */
  readonly reply?: { readonly to: string; readonly type: string }
}

export interface RunEnd {
  readonly code: number | null
  /** Standard output and standard error, as they came. */
  readonly output: string
  readonly stdout: string
}

/** Where one client works for one user: a home of its own, and a browser that is somebody else's. */
export interface Desk extends AsyncDisposable {
  readonly home: string
  /** The variables that each program of this desk gets, and no others. */
  readonly environment: Readonly<Record<string, string>>
  /** When its time is over, or it is closed. */
  readonly signal: AbortSignal
  /** Every address that a client had its user open. */
  readonly opened: readonly string[]
  /** All that its user read: what was printed, and the last page of the browser. */
  transcript(): string
  note(text: string): void
  /** Opens an address as a client's call of the system's opener does. */
  open(address: string): Promise<void>
  run(running: Running): Promise<RunEnd>
  /** Runs a program that has to end well. */
  succeed(running: Running): Promise<RunEnd>
  write(path: string, content: string): string
}

/**
 * @param visit what the person does with an address that is opened for them, and what they read last
 * @param late ends every program of the desk, as closing it does
 */
export function openDesk(visit: (address: string) => Promise<string>, late: AbortSignal): Desk {
  const home = mkdtempSync(join(tmpdir(), 'gatehouse-agent-'))
  removeAtExit(home)
  const opener = writeOpeners(home)
  const opened: string[] = []
  const notes: string[] = []
  const children = new Set<ChildProcess>()
  const closing = new AbortController()
  const signal = AbortSignal.any([late, closing.signal])
  signal.addEventListener('abort', () => children.forEach(endGroup))

  const environment = {
    PATH: [join(home, 'bin'), dirname(process.execPath), searchPath].join(delimiter),
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_CACHE_HOME: join(home, '.cache'),
    XDG_STATE_HOME: join(home, '.local/state'),
    BROWSER: opener.program,
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
    // What Python would write beside the scripts of the clients.
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const open = async (address: string) => {
    opened.push(address)
    const seen = await visit(address).catch(String)
    notes.push(`\nin the browser: ${seen}\n`)
  }
  const stopWatching = watch(opener.list, open)

  const run = async ({ command, environment: own = {}, reply }: Running): Promise<RunEnd> => {
    signal.throwIfAborted()
    const [file = '', ...words] = command
    const child = spawn(file, words, {
      cwd: home,
      env: { ...environment, ...own },
      stdio: ['pipe', 'pipe', 'pipe'],
      // A group of its own, so that what the client starts ends with it.
      detached: true,
    })
    for (const group of [children, alive]) group.add(child)
    let [stdout, output] = ['', '']
    const heard = (chunk: string, stream: 'stdout' | 'stderr') => {
      output += chunk
      notes.push(chunk)
      if (stream === 'stdout') stdout += chunk
      if (reply !== undefined && output.includes(reply.to)) child.stdin.end(reply.type)
    }
    for (const stream of ['stdout', 'stderr'] as const) {
      child[stream].setEncoding('utf8').on('data', (chunk: string) => heard(chunk, stream))
    }
    child.stdin.on('error', () => undefined)
    if (reply === undefined) child.stdin.end()
    try {
      const [code] = await once(child, 'close')
      signal.throwIfAborted()
      return { code, output, stdout }
    } finally {
      endGroup(child)
      for (const group of [children, alive]) group.delete(child)
    }
  }
  return {
    home,
    environment,
    signal,
    opened,
    open,
    run,
    transcript: () => notes.join(''),
    note: (text) => void notes.push(`${text}\n`),
    async succeed(running) {
      const end = await run(running)
      if (end.code !== 0) throw new Error(`${running.command[1]} ended with ${end.code}`)
      return end
    },
    write(path, content) {
      const file = join(home, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content)
      return file
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      await stopWatching()
      rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 })
    },
  }
}

/** A program that only notes the address that it is given. */
function writeOpeners(home: string): { program: string; list: string } {
  const list = join(home, 'opened')
  const folder = join(home, 'bin')
  mkdirSync(folder)
  writeFileSync(list, '')
  for (const name of openers) {
    const file = join(folder, name)
    writeFileSync(file, `#!/bin/sh\nprintf '%s\\n' "$1" >> '${list}'\n`)
    chmodSync(file, 0o755)
  }
  return { program: join(folder, 'xdg-open'), list }
}

function watch(list: string, open: (address: string) => Promise<void>): () => Promise<void> {
  let [seen, over] = [0, false]
  const pending: Promise<void>[] = []
  const look = async () => {
    while (!over) {
      const lines = readFileSync(list, 'utf8').split('\n').slice(0, -1)
      for (const line of lines.slice(seen)) pending.push(open(line))
      seen = lines.length
      await delay(LOOK_EVERY_MS)
    }
  }
  const looking = look()
  return async () => {
    over = true
    await looking
    await Promise.all(pending)
  }
}

function endGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has ended.
  }
}
