import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

import { hashSync } from '@node-rs/argon2'

import type { HashTask, HashTaskResult } from './password.ts'
import { matches } from './password-check.ts'
import { OWN_COST, readPasswordHash } from './password-formats.ts'

// Algorithm 2 is Argon2id. The library names it only in a const enum, which does not exist at run time.
const cost = { algorithm: 2, ...OWN_COST }

/** The niceness to add. On a shared core, a hash thread then gets a tenth of the request thread's CPU time. */
const ADDED_NICENESS = 10
const NICENESS_MAX = 19

// Only Linux sets the priority of one thread. Add to the current niceness, because lowering it needs a privilege.
if (process.platform === 'linux') {
  setPriority(Math.min(NICENESS_MAX, getPriority() + ADDED_NICENESS))
}

parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(resultOf(task)))

function resultOf({ password, passwordHash, firebaseSignerKey }: HashTask): HashTaskResult {
  try {
    if (passwordHash === undefined) return { value: hashSync(password, cost) }
    const hash = readPasswordHash(passwordHash)
    if (typeof hash !== 'string') return { value: matches(hash, password, firebaseSignerKey) }
  } catch (error) {
    if (passwordHash === undefined) return { failure: String(error) }
  }
  return { value: 'unreadable' }
}
