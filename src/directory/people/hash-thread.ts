/** The program that hash threads run: hashes passwords, and checks them against hashes in all accepted formats. */

import { createCipheriv, createHmac, hash as digestOf, pbkdf2Sync, scryptSync } from 'node:crypto'
import { getPriority, setPriority } from 'node:os'
import { parentPort } from 'node:worker_threads'

import { hashSync, verifySync as verifyArgon2 } from '@node-rs/argon2'
import { verifySync as verifyBcrypt } from '@node-rs/bcrypt'

import { isSame } from '../../platform/store/digest.ts'
import type { HashTask } from './password.ts'
import { CRYPT_ALPHABET, OWN_COST, readPasswordHash, type StoredHash } from './password-formats.ts'

// Algorithm 2 is Argon2id. The library names it only in a const enum, which does not exist at run time.
const cost = { algorithm: 2, ...OWN_COST }

/** The niceness to add, so that a hash thread on a shared core gets about a tenth of the request thread's CPU time. */
const ADDED_NICENESS = 10
const NICENESS_MAX = 19

// Only on Linux does this call affect a single thread. Never lower the niceness, because that needs a privilege.
if (process.platform === 'linux') {
  setPriority(Math.min(NICENESS_MAX, getPriority() + ADDED_NICENESS))
}

parentPort?.on('message', (task: HashTask) => parentPort?.postMessage(runHashTask(task)))

function runHashTask({ password, passwordHash, firebaseSignerKey }: HashTask): unknown {
  try {
    if (passwordHash === undefined) return hashSync(password, cost)
    const hash = readPasswordHash(passwordHash)
    if (typeof hash !== 'string') return matches(hash, password, firebaseSignerKey)
  } catch (error) {
    if (passwordHash === undefined) return error
  }
  return 'unreadable'
}

/**
 * The maximum length of a password, in bytes, for a SHA-2 crypt or phpass hash. Both formats hash the password in
 * each round, so a long password would make each round expensive.
 */
const CRYPT_PASSWORD_BYTES_MAX = 256

/** Whether a password matches a hash. @throws if the library rejects the hash, or Firebase's signer key is missing */
function matches(
  hash: StoredHash,
  password: string,
  firebaseSignerKey: string | undefined,
): boolean {
  switch (hash.by) {
    case 'argon2':
      return verifyArgon2(hash.text, password)
    case 'bcrypt':
      return verifyBcrypt(bcryptInput(hash.prefix, password), hash.text)
    case 'pbkdf2': {
      const { salt, iterations, expected, digest } = hash
      return isSame(pbkdf2Sync(password, salt, iterations, expected.length, digest), expected)
    }
    case 'scrypt':
      return isSame(scrypt(hash, password, firebaseSignerKey), hash.expected)
    case 'phpass':
    case 'crypt': {
      const bytes = Buffer.from(hash.by === 'phpass' && hash.trims ? phpTrim(password) : password)
      const cut = bytes.subarray(0, CRYPT_PASSWORD_BYTES_MAX)
      const found = hash.by === 'phpass' ? phpass(hash, cut) : shaCrypt(hash, cut)
      return isSame(found, hash.expected) && cut.length === bytes.length
    }
  }
}

/** Returns the input to bcrypt. Some programs hash the password first, because bcrypt ignores bytes after the 72nd. */
function bcryptInput(prefix: string, password: string): string {
  if (prefix === 'bcrypt_sha256$') return digestOf('sha256', password)
  if (prefix !== '$wp') return password
  return createHmac('sha384', 'wp-sha384').update(phpTrim(password)).digest('base64')
}

/** Trims a password as PHP's `trim` does, because WordPress does so when it sets and checks passwords. */
function phpTrim(password: string): string {
  return password.replace(/^[ \t\n\r\0\v]+|[ \t\n\r\0\v]+$/g, '')
}

const SCRYPT_DERIVED_BYTES = 64

function scrypt(
  { N, r, p, salt, expected, isFirebase }: Extract<StoredHash, { by: 'scrypt' }>,
  password: string,
  firebaseSignerKey: string | undefined,
): Buffer {
  const options = { N, r, p, maxmem: 128 * r * (N + p + 2) }
  if (!isFirebase) return scryptSync(password, salt, expected.length, options)
  if (firebaseSignerKey === undefined) throw new Error('FIREBASE_SIGNER_KEY is not set')
  // Firebase encrypts its signer key with the derived key, and stores the result.
  const key = scryptSync(password, salt, SCRYPT_DERIVED_BYTES, options).subarray(0, 32)
  const cipher = createCipheriv('aes-256-ctr', key, Buffer.alloc(16))
  return cipher.update(Buffer.from(firebaseSignerKey, 'base64'))
}

/** Computes a portable phpass hash (MD5, repeated). */
function phpass({ rounds, salt }: Extract<StoredHash, { by: 'phpass' }>, password: Buffer): string {
  let found = digestOf('md5', Buffer.concat([Buffer.from(salt), password]), 'buffer')
  for (let round = 0; round < rounds; round += 1) {
    found = digestOf('md5', Buffer.concat([found, password]), 'buffer')
  }
  const groups = Array.from({ length: 5 }, (_, group) => [2, 1, 0].map((at) => 3 * group + at))
  return encode(found, [...groups, [15]])
}

/** Computes a SHA-2 crypt hash (https://www.akkadia.org/drepper/SHA-crypt.txt). */
function shaCrypt(
  { digest, rounds, salt: saltText }: Extract<StoredHash, { by: 'crypt' }>,
  password: Buffer,
): string {
  const make = (...parts: Buffer[]) => digestOf(digest, Buffer.concat(parts), 'buffer')
  const repeat = (bytes: Buffer, length: number) => Buffer.alloc(length, bytes)
  const salt = Buffer.from(saltText)
  const { length } = password
  const second = make(password, salt, password)
  const bits = [...length.toString(2)].reverse()
  let found = make(
    ...[password, salt, repeat(second, length)],
    ...(length === 0 ? [] : bits.map((bit) => (bit === '1' ? second : password))),
  )
  const p = repeat(make(repeat(password, length * length)), length)
  const s = repeat(make(repeat(salt, salt.length * (16 + (found[0] ?? 0)))), salt.length)
  const nothing = Buffer.alloc(0)
  for (let round = 0; round < rounds; round += 1) {
    const isOdd = round % 2 === 1
    const middle = [round % 3 === 0 ? nothing : s, round % 7 === 0 ? nothing : p]
    found = make(isOdd ? p : found, ...middle, isOdd ? found : p)
  }
  // The bytes are encoded in a rotating order, three at a time.
  const [third, step, rest] = digest === 'sha512' ? [21, 22, [63]] : [10, 21, [31, 30]]
  const groups = Array.from({ length: third }, (_, group) =>
    [0, third, 2 * third].map((start) => (start + step * group) % (3 * third)),
  )
  return encode(found, [...groups, rest])
}

/** Encodes each group of bytes as a big-endian number in 6-bit characters, the least significant character first. */
function encode(bytes: Buffer, groups: readonly (readonly number[])[]): string {
  const characters = groups.flatMap((group) => {
    let value = group.reduce((sum, at) => sum * 256 + (bytes[at] ?? 0), 0)
    return Array.from({ length: Math.ceil((group.length * 8) / 6) }, () => {
      const character = CRYPT_ALPHABET.charAt(value % 64)
      value = Math.floor(value / 64)
      return character
    })
  })
  return characters.join('')
}
