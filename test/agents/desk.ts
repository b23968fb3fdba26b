import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import {
  endWithTests,
  killGroup,
  removeFolder,
  searchPath,
  temporaryFolder,
} from '../support/programs.ts'

const openers = ['xdg-open', 'open', 'x-www-browser', 'www-browser', 'sensible-browser', 'wslview']
const LOOK_EVERY_MS = 50

interface Running {
  readonly command: readonly string[]
  readonly environment?: Readonly<Record<string, string>>
  readonly reply?: { readonly to: string; readonly type: string }
}

export type Desk = ReturnType<typeof openDesk>

/** Creates a home directory for a client. Calls `visit` with each URL the client opens. Kills it when `late` aborts. */
export function openDesk(visit: (address: string) => Promise<string>, late: AbortSignal) {
  const home = temporaryFolder()
  const list = writeOpeners(home)
  const opened: string[] = []
  const notes: string[] = []
  const children = new Set<ChildProcess>()
  const closing = new AbortController()
  const signal = AbortSignal.any([late, closing.signal])
  signal.addEventListener('abort', () => children.forEach(killGroup))

  const environment = {
    PATH: join(home, 'bin') + delimiter + searchPath,
    HOME: home,
    XDG_CONFIG_HOME: join(home, '.config'),
    XDG_DATA_HOME: join(home, '.local/share'),
    XDG_CACHE_HOME: join(home, '.cache'),
    XDG_STATE_HOME: join(home, '.local/state'),
    BROWSER: join(home, 'bin/xdg-open'),
    LANG: 'C.UTF-8',
    NO_COLOR: '1',
    PYTHONDONTWRITEBYTECODE: '1',
  }
  const open = async (address: string) => {
    opened.push(address)
    notes.push(`\nin the browser: ${await visit(address).catch(String)}\n`)
  }
  const stopWatching = watch(list, open)

  const run = async ({ command, environment: own = {}, reply }: Running) => {
    signal.throwIfAborted()
    const [file = '', ...words] = command
    const child = spawn(file, words, {
      cwd: home,
      env: { ...environment, ...own },
      stdio: ['pipe', 'pipe', 'pipe'],
      // The client gets its own process group, so that all processes that it starts end with it.
      detached: true,
    })
    endWithTests(child, () => killGroup(child))
    children.add(child)
    let [stdout, output] = ['', '']
    for (const stream of ['stdout', 'stderr'] as const)
      child[stream].setEncoding('utf8').on('data', (chunk: string) => {
        output += chunk
        notes.push(chunk)
        if (stream === 'stdout') stdout += chunk
        if (reply !== undefined && output.includes(reply.to)) child.stdin.end(reply.type)
      })
    child.stdin.on('error', () => undefined)
    if (reply === undefined) child.stdin.end()
    try {
      const [code] = await once(child, 'close')
      signal.throwIfAborted()
      return { code, output, stdout }
    } finally {
      killGroup(child)
      children.delete(child)
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
    note: (text: string) => void notes.push(`${text}\n`),
    /** Runs a command that must exit with 0. Returns its standard output. */
    async succeed(command: readonly string[], environment?: Running['environment']) {
      const { code, stdout } = await run({ command, ...(environment && { environment }) })
      if (code !== 0) throw new Error(`${command[1]} ended with ${code}`)
      return stdout
    },
    write(path: string, content: string) {
      const file = join(home, path)
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, content)
      return file
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      await stopWatching()
      removeFolder(home)
    },
  }
}

/** Writes stubs for the commands that open a browser. They only append the URL to a file, whose path is returned. */
function writeOpeners(home: string): string {
  const list = join(home, 'opened')
  const folder = join(home, 'bin')
  mkdirSync(folder)
  writeFileSync(list, '')
  const script = `#!/bin/sh\nprintf '%s\\n' "$1" >> '${list}'\n`
  for (const name of openers) writeFileSync(join(folder, name), script, { mode: 0o755 })
  return list
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
