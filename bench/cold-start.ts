import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { freePort } from '../test/support/programs.ts'

/**
 * `node bench/cold-start.ts [runs]`: from `spawn` to the first answer of /healthz, on an embedded
 * database that is made (schema, keys, demo campus) and on one that exists; and the memory of the
 * process when nobody has asked it anything else.
 */
const RUNS = Number(process.argv[2] ?? 7)
const root = join(import.meta.dirname, '..')

interface Start {
  readonly ms: number
  readonly idleRssMiB: number
}

async function start(folder: string): Promise<Start> {
  const port = await freePort()
  const startedAt = performance.now()
  const child = spawn(process.execPath, ['src/main.ts'], {
    cwd: root,
    env: { DATA_DIR: folder, PORT: String(port), LOG_LEVEL: 'silent' },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  try {
    await firstAnswer(`http://127.0.0.1:${port}/healthz`)
    const ms = performance.now() - startedAt
    await delay(1_000)
    return { ms, idleRssMiB: residentMiB(child.pid ?? 0) }
  } finally {
    child.kill()
    await once(child, 'exit')
  }
}

const START_TIMEOUT_MS = 30_000

async function firstAnswer(url: string): Promise<void> {
  const deadlineMs = performance.now() + START_TIMEOUT_MS
  while (performance.now() < deadlineMs) {
    const answer = await fetch(url).catch(() => undefined)
    if (answer?.ok) return
    await delay(2)
  }
  throw new Error('the service did not start')
}

function residentMiB(pid: number): number {
  const kib = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
  return Number(kib) / 1024
}

function print(title: string, starts: readonly Start[]): void {
  const sorted = starts.map(({ ms }) => ms).sort((a, b) => a - b)
  const median = sorted[Math.floor(sorted.length / 2)] ?? 0
  const rss = Math.max(...starts.map(({ idleRssMiB }) => idleRssMiB))
  const [fastest = 0] = sorted
  process.stdout.write(
    `${title}: median ${median.toFixed(0)} ms, fastest ${fastest.toFixed(0)} ms of ${starts.length}; idle ${rss.toFixed(0)} MiB\n`,
  )
}

const made: Start[] = []
const existing: Start[] = []
for (let run = 0; run < RUNS; run += 1) {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-bench-'))
  try {
    made.push(await start(folder))
    existing.push(await start(folder))
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
print('database is made ', made)
print('database exists  ', existing)
