import { execFile } from 'node:child_process'
import { cpSync, existsSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { cacheFolder, type Installed } from '../support/install.ts'

const DOWNLOAD_TIMEOUT_MS = 180_000
const RUST_TIMEOUT_MS = 480_000

const run = promisify(execFile)

/**
 * What a language's own tool fetches from the file that stands beside the program, or what the
 * system's packages have put in its place.
 */
export type Modules =
  | { readonly registry: 'go' }
  | { readonly registry: 'crates' }
  /** The version of the platform that the example is built with. */
  | { readonly registry: 'maven'; readonly springBoot: string }
  /** A module of the web server of this machine. */
  | { readonly registry: 'debian'; readonly file: string; readonly package: string }

/** Brings what an example needs to be built, into the tool's own cache; the folder is for the rest. */
export async function installModules(
  modules: Modules,
  source: string,
  signal: AbortSignal,
): Promise<Installed> {
  const options = { signal, timeout: DOWNLOAD_TIMEOUT_MS }
  switch (modules.registry) {
    case 'go':
      return await attempt('go', 'no Go is installed here', async () => {
        await run('go', ['mod', 'download'], { ...options, cwd: source })
        return makeFolder('go-programs')
      })
    case 'crates':
      return await attempt('cargo', 'no Rust is installed here', async () => {
        const folder = makeFolder('rust-programs')
        // It takes minutes, and is done once: what is built stays in the folder.
        cpSync(source, folder, { recursive: true })
        await run('cargo', ['build', '--quiet'], { signal, timeout: RUST_TIMEOUT_MS, cwd: folder })
        return folder
      })
    case 'maven':
      return await attempt('mvn', 'no Maven is installed here', async () => {
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
