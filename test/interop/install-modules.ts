import { type ExecFileException, execFile } from 'node:child_process'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { cacheFolder, type Installed } from '../support/install.ts'

/** Packages that a language's own tool fetches, as listed in a file beside the program, or a system package. */
export type Modules =
  | { readonly registry: 'crates' }
  | { readonly registry: 'maven'; readonly springBoot: string }
  | { readonly registry: 'debian'; readonly file: string; readonly package: string }

/** Copies an example to the cache, and fetches its packages there. Returns the folder to build in. */
export async function installModules(
  modules: Modules,
  source: string,
  signal: AbortSignal,
): Promise<Installed> {
  if (modules.registry === 'debian') {
    return existsSync(modules.file)
      ? { kind: 'installed', folder: cacheFolder }
      : { kind: 'missing', why: `${modules.package} is not installed here` }
  }
  const fetching =
    modules.registry === 'crates'
      ? // Takes minutes, but only once: the build stays in the folder.
        { name: 'rust-programs', command: 'cargo build --quiet', timeout: 480_000 }
      : {
          name: `spring-boot-${modules.springBoot}`,
          command: `mvn -q -B -Dspring-boot.version=${modules.springBoot} dependency:copy-dependencies`,
          timeout: 180_000,
        }
  const { name, command, timeout } = fetching
  const [program = '', ...words] = command.split(' ')
  const folder = join(cacheFolder, name)
  try {
    cpSync(source, folder, { recursive: true })
    await promisify(execFile)(program, words, { signal, timeout, cwd: folder })
    return { kind: 'installed', folder }
  } catch (error) {
    const { code, stdout, stderr, message } = error as ExecFileException
    if (code === 'ENOENT') return { kind: 'missing', why: `${program} is not installed here` }
    const [line = ''] = (stderr || stdout || message).trim().split('\n')
    return { kind: 'missing', why: `what it needs could not be fetched: ${line.slice(0, 300)}` }
  }
}
