import { execFile, spawn } from 'node:child_process'
import { copyFileSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

import {
  endNow,
  endWithTests,
  eventually,
  killGroup,
  searchPath,
  temporaryFolder,
} from '../support/programs.ts'
import type { Family, Library } from './library-table.ts'

const examples = join(import.meta.dirname, '../../examples')
const START_TIMEOUT_MS = 45_000
const BUILD_TIMEOUT_MS = 120_000

/** The environment of every example. */
export interface Settings {
  readonly ISSUER: string
  readonly CLIENT_ID: string
  /** Absent for a public client. */
  readonly CLIENT_SECRET?: string
  readonly APP_URL: string
  readonly REDIRECT_URI: string
  readonly SIGNED_OUT_URI: string
  readonly PORT: string
}

/** Builds and starts an example, and waits until it answers. */
export async function startExample(library: Library, folder: string, settings: Settings) {
  const command = await prepare[library.family](library, folder, settings)
  return await startCommand(command, { ...settings }, settings.APP_URL, START_TIMEOUT_MS)
}

/** Starts a program in a folder of its own, and waits until it answers at the URL. */
export async function startCommand(
  [file = '', ...words]: readonly string[],
  env: Readonly<Record<string, string>>,
  url: string,
  timeoutMs: number,
) {
  const place = temporaryFolder()
  const child = spawn(file, words, {
    cwd: place,
    env: { TMPDIR: place, HOME: place, PATH: searchPath, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A process group of its own, because a web server starts processes that outlive it.
    detached: true,
  })
  const kill = () => killGroup(child)
  endWithTests(child, kill)
  let written = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk) => {
      written += chunk
    })
  }
  try {
    await eventually(timeoutMs, async () => {
      if (child.exitCode !== null) return
      await fetch(url, { redirect: 'manual' })
    })
    if (child.exitCode !== null) throw new Error(`the program ended: ${written.trim()}`)
    return {
      pid: child.pid ?? 0,
      transcript: () => written,
      [Symbol.asyncDispose]: () => endNow(child, kill),
    }
  } catch (error) {
    await endNow(child, kill)
    throw new Error(`the program did not start: ${written.trim()}`, { cause: error })
  }
}

/** The path of the program of a library. */
export function exampleOf({ family, example }: Library): string {
  return join(examples, family, example)
}

type Prepare = (library: Library, folder: string, settings: Settings) => Promise<string[]>

/** The command that runs the program of each family, given the folder of its packages. */
const prepare: Readonly<Record<Family, Prepare>> = {
  node: async (library, folder) => [process.execPath, besidePackages(library, folder)],
  browser: async (library, folder, settings) => [
    process.execPath,
    join(import.meta.dirname, 'page-server.ts'),
    besidePackages(library, folder),
    JSON.stringify(settings),
  ],
  python: async (library, folder) => [join(folder, 'bin/python'), exampleOf(library)],
  // The programs in Go and Rust were built when their packages were fetched.
  go: async (_library, folder) => [join(folder, 'program')],
  rust: async (_library, folder) => [join(folder, 'target/debug/relying-party')],
  java: async ({ version }, folder) => {
    const words = ['-q', '-B', `-Dspring-boot.version=${version}`, 'compile']
    await promisify(execFile)('mvn', words, { cwd: folder, timeout: BUILD_TIMEOUT_MS })
    const path = ['classes', 'dependency/*'].map((part) => join(folder, 'target', part))
    return ['java', '-cp', path.join(delimiter), 'example.Application']
  },
  apache: async (library) => ['apache2', '-f', exampleOf(library), '-DFOREGROUND'],
}

/** Copies a program to a temporary folder and links its packages there. Returns the path of the copy. */
function besidePackages(library: Library, folder: string): string {
  const place = temporaryFolder()
  copyFileSync(exampleOf(library), join(place, library.example))
  symlinkSync(join(folder, 'node_modules'), join(place, 'node_modules'))
  return join(place, library.example)
}
