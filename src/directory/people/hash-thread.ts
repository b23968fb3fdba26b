import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

import { hashSync, verifySync } from '@node-rs/argon2'

import type { HashTask, HashTaskResult } from './password.ts'

// The library's own names are const enums, which do not exist at run time here; 2 is Argon2id.
const cost = { algorithm: 2, memoryCost: 19_456, timeCost: 2, parallelism: 1 }

/** A tenth of the weight of the thread that answers requests, where both want the same core. */
const BELOW_REQUESTS = 10
const LOWEST = 19

// The program of one thread that hashes. On Linux a priority is a thread's own; elsewhere the whole
// process would step back. It is reckoned from that of the process, because raising one is not allowed.
if (process.platform === 'linux') setPriority(Math.min(LOWEST, getPriority() + BELOW_REQUESTS))

parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(resultOf(task)))

function resultOf({ password, passwordHash }: HashTask): HashTaskResult {
  if (passwordHash !== undefined) return { value: verified(passwordHash, password) }
  try {
    return { value: hashSync(password, cost) }
  } catch (error) {
    return { failure: String(error) }
  }
}

function verified(passwordHash: string, password: string): boolean | 'unreadable' {
  try {
    return verifySync(passwordHash, password)
  } catch {
    return 'unreadable'
  }
}
