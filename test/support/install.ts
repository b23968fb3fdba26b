import { execFile } from 'node:child_process'
import { existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

// biome-ignore lint/style/noProcessEnv: where this machine keeps what can be fetched again
const { CLIENTS_CACHE, XDG_CACHE_HOME } = process.env

/** A folder for each package and version, which the next run finds again. */
export const cacheFolder: string =
  CLIENTS_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gatehouse-clients')

const INSTALL_TIMEOUT_MS = 90_000
/** The interpreters that are tried, and the first of them that makes an environment is used. */
const pythons = ['python3', 'python']

export type Registry = 'npm' | 'pypi'

export interface Package {
  readonly registry: Registry
  /** As its registry calls it, with extras where it needs them. */
  readonly name: string
  readonly version: string
  /** What is installed beside it, each as its registry names one exact version: `a@1.2.3`, `b==1.2.3`. */
  readonly with?: readonly string[]
}

export type Installed =
  | { readonly kind: 'installed'; readonly folder: string }
  | { readonly kind: 'missing'; readonly why: string }

const execute = promisify(execFile)

/** A registry that let one installation wait for too long is asked for nothing else in this run. */
const silent = new Set<Registry>()

const installing = new Map<string, Promise<Installed>>()

/** Installs a package once, however many clients are of it. */
export async function install(wanted: Package, signal: AbortSignal): Promise<Installed> {
  const { registry, name, version, with: others = [] } = wanted
  const label = [name, version, ...others].join('-')
  const folder = join(cacheFolder, `${registry}-${label.replace(/[^\w.-]+/g, '_')}`)
  const installed = installing.get(folder) ?? installInto(folder, wanted, signal)
  installing.set(folder, installed)
  return await installed
}

/**
 * Installs one package with what it depends on, or finds it in the cache. No script of a package
 * runs. An installation that fails or takes too long leaves nothing behind.
 */
async function installInto(
  folder: string,
  wanted: Package,
  signal: AbortSignal,
): Promise<Installed> {
  const { registry } = wanted
  const complete = join(folder, 'complete')
  if (existsSync(complete)) return { kind: 'installed', folder }
  if (silent.has(registry)) return { kind: 'missing', why: `${registry} did not answer before` }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  try {
    await (registry === 'npm' ? installFromNpm : installFromPypi)(wanted, folder, signal)
    writeFileSync(`${complete}.new`, '')
    renameSync(`${complete}.new`, complete)
    return { kind: 'installed', folder }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    if (wasKilled(error)) silent.add(registry)
    return { kind: 'missing', why: reasonOf(error) }
  }
}

async function installFromNpm(wanted: Package, folder: string, signal: AbortSignal) {
  const { name, version, with: others = [] } = wanted
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const quiet = ['--no-audit', '--no-fund', '--loglevel=error']
  const words = [...quiet, '--ignore-scripts', '--fetch-retries=1']
  await execute('npm', ['install', ...words, '--prefix', folder, `${name}@${version}`, ...others], {
    signal,
    timeout: INSTALL_TIMEOUT_MS,
    cwd: folder,
  })
}

async function installFromPypi(wanted: Package, folder: string, signal: AbortSignal) {
  const { name, version, with: others = [] } = wanted
  const options = { signal, timeout: INSTALL_TIMEOUT_MS }
  await makeEnvironment(folder, options)
  const quiet = ['--quiet', '--disable-pip-version-check']
  const words = ['install', ...quiet, '--only-binary=:all:', '--retries=1']
  const packages = [`${name}==${version}`, ...others]
  await execute(join(folder, 'bin/python'), ['-m', 'pip', ...words, ...packages], options)
}

async function makeEnvironment(folder: string, options: { timeout: number; signal: AbortSignal }) {
  for (const python of pythons) {
    try {
      return await execute(python, ['-m', 'venv', folder], options)
    } catch {
      // The next name may be a Python that can.
    }
  }
  throw new Error('no Python that makes a virtual environment is installed here')
}

function wasKilled(error: unknown): boolean {
  return error instanceof Error && 'killed' in error && error.killed === true
}

/** The first line that the installer marks as an error. */
function reasonOf(error: unknown): string {
  if (wasKilled(error)) return `could not be installed within ${INSTALL_TIMEOUT_MS / 1000} s`
  const { stderr, message } = error as Error & { stderr?: string }
  const lines = (stderr || message).split('\n').map((line) => line.trim())
  const telling = lines.find((line) => /^(npm error|ERROR:)/i.test(line))
  return `could not be installed: ${(telling ?? lines[0] ?? '').slice(0, 200)}`
}
