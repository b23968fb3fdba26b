import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, symlinkSync } from 'node:fs'
import { delimiter, dirname, join } from 'node:path'
import { promisify } from 'node:util'

import { temporaryFolder } from '../support/process.ts'
import { eventually } from '../support/programs.ts'
import type { Family, Library } from './library-table.ts'

// biome-ignore lint/style/noProcessEnv: where programs are is a fact of the machine
const { PATH: searchPath = '' } = process.env

const examples = join(import.meta.dirname, '../../examples')
const START_TIMEOUT_MS = 45_000
const BUILD_TIMEOUT_MS = 120_000

/** What every example reads from its environment. */
export interface Settings {
  readonly ISSUER: string
  readonly CLIENT_ID: string
  /** A public client has none. */
  readonly CLIENT_SECRET?: string
  /** Where the application itself is. */
  readonly APP_URL: string
  readonly REDIRECT_URI: string
  readonly SIGNED_OUT_URI: string
  readonly PORT: string
}

export interface RunningExample extends AsyncDisposable {
  /** What it has printed. */
  transcript(): string
}

/** Builds what has to be built, starts an example, and waits until it answers. */
export async function startExample(
  library: Library,
  folder: string,
  settings: Settings,
): Promise<RunningExample> {
  const [file = '', ...words] = await prepare[library.family](library, folder, settings)
  const place = temporaryFolder()
  const child = spawn(file, words, {
    cwd: place,
    env: {
      TMPDIR: place,
      PATH: `${dirname(process.execPath)}${delimiter}${searchPath}`,
      ...settings,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own, because a web server starts processes that outlive it.
    detached: true,
  })
  alive.add(child)
  child.once('exit', () => alive.delete(child))
  let written = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      written += chunk
    })
  }
  const running: RunningExample = {
    transcript: () => written,
    [Symbol.asyncDispose]: () => end(child),
  }
  try {
    await eventually(START_TIMEOUT_MS, async () => {
      if (child.exitCode !== null) return
      await fetch(settings.APP_URL, { redirect: 'manual' })
    })
    if (child.exitCode !== null) throw new Error(`the example ended: ${written.trim()}`)
    return running
  } catch (error) {
    await end(child)
    throw new Error(`the example did not start: ${written.trim()}`, { cause: error })
  }
}

/** Where the program of a library stands. */
export function exampleOf({ family, example }: Library): string {
  return join(examples, family, example)
}

const alive = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of alive) killGroup(child)
})

async function end(child: ChildProcess): Promise<void> {
  const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : []
  killGroup(child)
  await ended
}

function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // All of it has ended.
  }
}

type Prepare = (library: Library, folder: string, settings: Settings) => Promise<string[]>

const run = promisify(execFile)

/** How the program of each family is run, given where its packages are. */
const prepare: Readonly<Record<Family, Prepare>> = {
  node: async (library, folder) => [process.execPath, besidePackages(library, folder)],
  browser: async (library, folder, settings) => [
    process.execPath,
    join(import.meta.dirname, 'page-server.ts'),
    besidePackages(library, folder),
    JSON.stringify(settings),
  ],
  python: async (library, folder) => [join(folder, 'bin/python'), exampleOf(library)],
  go: async (library, folder) => {
    const program = join(folder, library.example)
    await run('go', ['build', '-o', program, '.'], {
      cwd: exampleOf(library),
      timeout: BUILD_TIMEOUT_MS,
    })
    return [program]
  },
  java: async ({ version }, folder) => {
    const words = ['-q', '-B', `-Dspring-boot.version=${version}`, 'compile']
    await run('mvn', words, { cwd: folder, timeout: BUILD_TIMEOUT_MS })
    const path = ['classes', 'dependency/*'].map((part) => join(folder, 'target', part))
    return ['java', '-cp', path.join(delimiter), 'example.Application']
  },
  // It was built when its packages were fetched.
  rust: async (_library, folder) => [join(folder, 'target/debug/relying-party')],
  apache: async (library) => ['apache2', '-f', exampleOf(library), '-DFOREGROUND'],
}

/** A program finds its packages in the folder that it stands in. */
function besidePackages(library: Library, folder: string): string {
  const place = temporaryFolder()
  copyFileSync(exampleOf(library), join(place, library.example))
  symlinkSync(join(folder, 'node_modules'), join(place, 'node_modules'))
  return join(place, library.example)
}
