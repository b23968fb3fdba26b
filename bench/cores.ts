import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'

/** The CPU core of the measured server, and the cores of the bench and its stores. */
export interface Cores {
  readonly server: string
  readonly others: string
}

/**
 * Reserves the first core for the measured server. Moves this process, and the stores that it starts, to the other
 * cores, so the load generator does not slow the server. Returns undefined without `taskset` or a second core.
 */
export function divideCores(): Cores | undefined {
  const allowed = affinityOf(process.pid)
  if (allowed === undefined || allowed.length < 2) return undefined
  const [server, ...rest] = allowed
  const cores = { server: String(server), others: rest.join(',') }
  const pinned = spawnSync('taskset', ['-a', '-c', '-p', cores.others, String(process.pid)])
  return pinned.status === 0 ? cores : undefined
}

function affinityOf(pid: number): number[] | undefined {
  const { status, stdout } = spawnSync('taskset', ['-c', '-p', String(pid)], { encoding: 'utf8' })
  if (status !== 0) return undefined
  const [, list = ''] = /list: (.*)/.exec(stdout) ?? []
  return list.split(',').flatMap((range) => {
    const [first = 0, last = first] = range.split('-').map(Number)
    return Array.from({ length: last - first + 1 }, (_, offset) => first + offset)
  })
}

/** Pins a command to the measured server's core. Returns it unchanged if no core is reserved. */
export function pinned(cores: Cores | undefined, command: readonly string[]): readonly string[] {
  return cores ? ['taskset', '-c', cores.server, ...command] : command
}

const TICKS_PER_SECOND = 100

/** Returns the user and system time of a process with its threads and children, in steps of 10 ms (proc(5)). */
export function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  const own = (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').match(/\d+/g) ?? []
  return children.reduce((sum, child) => sum + processorSeconds(Number(child)), own)
}

export function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

export function describeMachine(cores: Cores | undefined): string {
  const [first] = cpus()
  const gib = (totalmem() / 1024 ** 3).toFixed(0)
  const machine = `${cpus().length} cores of ${first?.model.trim() ?? 'an unknown processor'}, ${gib} GiB`
  return cores
    ? `${machine}; the server on core ${cores.server}, load and stores on core ${cores.others}`
    : `${machine}; no process is pinned to a core, because taskset is missing or there is only one core`
}
