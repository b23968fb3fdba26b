import { execFile } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

// biome-ignore lint/style/noProcessEnv: the cache belongs to the machine, not to the service
const { CLIENTS_CACHE, XDG_CACHE_HOME } = process.env

/** The cache folder, which later runs reuse. It has a folder for each program, named after its packages and versions. */
export const cacheFolder: string =
  CLIENTS_CACHE ?? join(XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'gatehouse-clients')

const INSTALL_TIMEOUT_MS = 180_000
const BUILD_TIMEOUT_MS = 420_000
export interface Package {
  /** For `maven` without `source`, the package is a zip with one folder, which is renamed to `program`. */
  readonly registry: 'npm' | 'pypi' | 'go' | 'crates' | 'maven'
  readonly name: string
  readonly version: string
  /** Packages to install beside it, each in one exact version: `a@1.2.3`, `b==1.2.3`. */
  readonly with?: readonly string[]
  /** The folder of a program to build. A file in it pins the versions. */
  readonly source?: string
}

export type Installed =
  | { readonly kind: 'installed'; readonly folder: string }
  | { readonly kind: 'missing'; readonly why: string }

const execute = promisify(execFile)

/** Registries that timed out during an installation. This run installs nothing more from them. */
const silent = new Set<Package['registry']>()

const installing = new Map<string, Promise<Installed>>()

export async function install(wanted: Package, signal: AbortSignal): Promise<Installed> {
  const { registry, name, version, with: others = [] } = wanted
  const folder = folderOf([registry, name, version, ...others].join('-'))
  const installed = installing.get(folder) ?? installInto(folder, wanted, signal)
  installing.set(folder, installed)
  return await installed
}

function folderOf(label: string): string {
  return join(cacheFolder, label.replace(/[^\w.-]+/g, '_'))
}

/** Installs a package with its dependencies, or finds it in the cache. Runs no scripts of packages from npm and PyPI. */
async function installInto(folder: string, wanted: Package, signal: AbortSignal) {
  const { registry, source } = wanted
  const timeout = ['npm', 'pypi'].includes(registry) ? INSTALL_TIMEOUT_MS : BUILD_TIMEOUT_MS
  // A program with `source` is part of this project, so build it again. The compilers rebuild only what has changed.
  if (source !== undefined) rmSync(folder, { recursive: true, force: true })
  if (silent.has(registry) && !isComplete(folder))
    return { kind: 'missing', why: `an earlier installation from ${registry} timed out` } as const
  return await fillOnce(folder, async () => {
    const maven = source === undefined ? installFromMaven : buildFromMaven
    const built = { go: buildFromGo, crates: buildFromCrates, maven }
    const from = { npm: installFromNpm, pypi: installFromPypi, ...built }
    try {
      await from[registry](wanted, folder, { signal, timeout, cwd: source ?? folder })
    } catch (error) {
      if (wasKilled(error)) silent.add(registry)
      throw error
    }
  })
}

/** Fills the cache folder of a label, unless it is complete. */
export const installOnce = (label: string, fill: (folder: string) => Promise<unknown>) =>
  fillOnce(folderOf(label), fill)

/** Fills a folder, unless it is complete. Removes the folder if filling fails. */
async function fillOnce(
  folder: string,
  fill: (folder: string) => Promise<unknown>,
): Promise<Installed> {
  if (isComplete(folder)) return { kind: 'installed', folder }
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  try {
    await fill(folder)
    writeFileSync(join(folder, 'complete'), '')
    return { kind: 'installed', folder }
  } catch (error) {
    rmSync(folder, { recursive: true, force: true })
    return { kind: 'missing', why: reasonOf(error) }
  }
}

function isComplete(folder: string): boolean {
  return existsSync(join(folder, 'complete'))
}

type Options = { readonly signal: AbortSignal; readonly timeout: number; readonly cwd: string }

async function installFromNpm(wanted: Package, folder: string, options: Options) {
  const { name, version, with: others = [] } = wanted
  writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
  const words = [
    ...['install', '--no-audit', '--no-fund', '--loglevel=error', '--ignore-scripts'],
    ...['--fetch-retries=1', '--prefix', folder, `${name}@${version}`, ...others],
  ]
  await execute('npm', words, options)
}

async function installFromPypi(wanted: Package, folder: string, options: Options) {
  const { name, version, with: others = [] } = wanted
  const makeEnvironment = (python: string) => execute(python, ['-m', 'venv', folder], options)
  await makeEnvironment('python3').catch(() => makeEnvironment('python'))
  const words = [
    ...['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', '--only-binary=:all:'],
    ...['--retries=1', `${name}==${version}`, ...others],
  ]
  await execute(join(folder, 'bin/python'), words, options)
}

async function buildFromGo(_: Package, folder: string, options: Options) {
  await execute('go', ['build', '-o', join(folder, 'program'), '.'], options)
}

async function buildFromCrates(_: Package, folder: string, options: Options) {
  const target = join(cacheFolder, 'rust-target')
  await execute('cargo', ['build', '--quiet', '--locked', '--target-dir', target], options)
  copyFileSync(join(target, 'debug/program'), join(folder, 'program'))
}

async function buildFromMaven(_: Package, folder: string, options: Options) {
  const words = ['-q', '-B', 'dependency:copy-dependencies', `-DoutputDirectory=${folder}`]
  await execute('mvn', words, options)
  await execute('javac', ['-cp', `${folder}/*`, '-d', folder, 'Program.java'], options)
}

async function installFromMaven({ name, version }: Package, folder: string, options: Options) {
  const artifact = [`-Dartifact=${name}:${version}:zip`, `-DoutputDirectory=${folder}`]
  await execute('mvn', ['-q', '-B', 'dependency:copy', ...artifact], options)
  const [zip = ''] = readdirSync(folder)
  await execute('unzip', ['-q', zip], options)
  rmSync(join(folder, zip))
  const [unpacked = ''] = readdirSync(folder)
  renameSync(join(folder, unpacked), join(folder, 'program'))
}

function wasKilled(error: unknown): boolean {
  return error instanceof Error && 'killed' in error && error.killed === true
}

function reasonOf(error: unknown): string {
  if (wasKilled(error)) return 'could not be installed in time'
  const { stderr, message } = error as Error & { stderr?: string }
  const lines = (stderr || message).split('\n').map((line) => line.trim())
  const telling = lines.find((line) => /^(npm error|ERROR:)/i.test(line))
  return `could not be installed: ${(telling ?? lines[0] ?? '').slice(0, 200)}`
}
