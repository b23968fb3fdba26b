import { existsSync, mkdirSync, readdirSync, rmSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

// biome-ignore lint/style/noProcessEnv: the first process of a run sets variables for the others
const variables = process.env
const MEMORY_DISK = '/dev/shm'
const PREFIX = 'gatehouse-tests-'
/** The files of a full test run on two cores never exceed about 100 MB at any one time. */
const NEEDED_BYTES = 512 * 1024 ** 2
const ON_DISK = 'TESTS_DISK_FOLDER'

let folder: string | undefined

/** Makes the tests of a run use a RAM disk if it has room and TMPDIR is unset, because databases wait for disks. */
export function mochaGlobalSetup(): void {
  if (variables['TMPDIR'] !== undefined || !hasRoom()) return
  removeLeftovers()
  folder = join(MEMORY_DISK, `${PREFIX}${process.pid}`)
  mkdirSync(folder)
  variables[ON_DISK] = tmpdir()
  variables['TMPDIR'] = folder
}

/** Returns the folder for files that are too large for memory. */
export function diskFolder(): string {
  return variables[ON_DISK] ?? tmpdir()
}

export function mochaGlobalTeardown(): void {
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true, maxRetries: 10 })
}

function hasRoom(): boolean {
  if (!existsSync(MEMORY_DISK)) return false
  const { bavail, bsize } = statfsSync(MEMORY_DISK)
  return bavail * bsize > NEEDED_BYTES
}

function removeLeftovers(): void {
  for (const name of readdirSync(MEMORY_DISK)) {
    const isRunning = existsSync(`/proc/${name.slice(PREFIX.length)}`)
    if (!name.startsWith(PREFIX) || isRunning) continue
    rmSync(join(MEMORY_DISK, name), { recursive: true, force: true })
  }
}
