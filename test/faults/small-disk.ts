import { execFileSync, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The size of the disk: enough for an empty PostgreSQL server, its template databases and the demo campus. */
const DISK_MB = 256
const BALLAST = 'ballast'

/** Thrown if this user may not mount a disk. */
export class DiskRefused extends Error {}

/** Mounts a disk that can be filled without harm. @throws DiskRefused if this user may not */
export function mountSmallDisk() {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-disk-'))
  const unmount = () => {
    process.off('exit', unmount)
    spawnSync('umount', ['--lazy', folder], { stdio: 'ignore' })
    rmdirSync(folder)
  }
  try {
    const options = ['-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', folder]
    execFileSync('mount', options, { stdio: 'ignore' })
  } catch (cause) {
    rmdirSync(folder)
    throw new DiskRefused('this user may not mount a disk that can be filled', { cause })
  }
  process.once('exit', unmount)
  chmodSync(folder, 0o755)
  return { folder, [Symbol.dispose]: unmount }
}

/** Writes a file until no space is left. */
export function fillDisk(folder: string): void {
  const words = ['if=/dev/zero', `of=${join(folder, BALLAST)}`, 'bs=64k']
  spawnSync('dd', words, { stdio: 'ignore' })
}

export function emptyDisk(folder: string): void {
  rmSync(join(folder, BALLAST))
}
