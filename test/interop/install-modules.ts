import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { cacheFolder, type Installed } from '../support/install.ts'

const DOWNLOAD_TIMEOUT_MS = 180_000
const RUST_TIMEOUT_MS = 480_000

const run = promisify(execFile)

/** Packages that a language's own tool fetches, as listed in a file beside the program, or a system package. */
export type Modules =
  | { readonly registry: 'go' | 'crates' }
  | { readonly registry: 'maven'; readonly springBoot: string }
  | { readonly registry: 'debian'; readonly file: string; readonly package: string }

/** Fetches the packages of an example into the cache of the tool, and returns a folder to build in. */
export async function installModules(
  modules: Modules,
  source: string,
  signal: AbortSignal,
): Promise<Installed> {
  const options = { signal, timeout: DOWNLOAD_TIMEOUT_MS }
  switch (modules.registry) {
    case 'go':
      return await attempt('go', 'Go is not installed here', async () => {
        await run('go', ['mod', 'download'], { ...options, cwd: source })
        return makeFolder('go-programs')
      })
    case 'crates':
      return await attempt('cargo', 'Rust is not installed here', async () => {
        const folder = makeFolder('rust-programs')
        // Takes minutes, but only once: the build stays in the folder.
        cpSync(source, folder, { recursive: true })
        await run('cargo', ['build', '--quiet'], { signal, timeout: RUST_TIMEOUT_MS, cwd: folder })
        return folder
      })
    case 'maven':
      return await attempt('mvn', 'Maven is not installed here', async () => {
        const folder = makeFolder(`spring-boot-${modules.springBoot}`)
        cpSync(source, folder, { recursive: true })
        const version = `-Dspring-boot.version=${modules.springBoot}`
        const words = ['-q', '-B', version, 'dependency:copy-dependencies']
        await run('mvn', words, { ...options, cwd: folder })
        return folder
      })
    case 'debian':
      return existsSync(modules.file)
        ? { kind: 'installed', folder: cacheFolder }
        : { kind: 'missing', why: `${modules.package} is not installed here` }
  }
}

async function attempt(
  program: string,
  absent: string,
  work: () => Promise<string>,
): Promise<Installed> {
  try {
    await run(program, [program === 'go' ? 'version' : '--version'])
  } catch {
    return { kind: 'missing', why: absent }
  }
  try {
    return { kind: 'installed', folder: await work() }
  } catch (error) {
    const { stdout, stderr, message } = error as Error & { stdout?: string; stderr?: string }
    const [line = ''] = (stderr || stdout || message).trim().split('\n')
    return { kind: 'missing', why: `what it needs could not be fetched: ${line.slice(0, 300)}` }
  }
}

function makeFolder(name: string): string {
  const folder = join(cacheFolder, name)
  mkdirSync(folder, { recursive: true })
  return folder
}
