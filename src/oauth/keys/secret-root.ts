import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type SecretRoot = ReturnType<typeof makeSecretRoot>

/**
 * Derives keys for each purpose from the root secrets. Where a property has several keys, the first one signs and all
 * of them verify. So people stay signed in after a rotation, as long as the old root secret is still listed.
 */
export function makeSecretRoot(secrets: readonly string[]) {
  if (secrets.length === 0) throw new Error('at least one root secret is required')
  const keysFor = (purpose: string) => secrets.map((secret) => derive(secret, purpose))
  const keyFor = (purpose: string) => derive(secrets[0] ?? '', purpose)
  const sealingKeys = keysFor('sealing')
  return {
    cookieKeys: keysFor('cookies').map((key) => key.toString('base64url')),
    formKey: keyFor('forms'),
    nonceKey: keyFor('DPoP nonces'),
    /** The key for digests of the networks from which clients were registered. */
    networkKey: keyFor('networks'),
    cursorKeys: keysFor('cursors'),
    downloadKeys: keysFor('downloads'),
    /** Keys for the tokens and codes of one-time links. */
    linkKeys: keysFor('one-time links'),
    tokenKeys: keysFor('tokens'),
    /** Encrypts with AES-256-GCM. `label` binds the ciphertext to its use. */
    seal: (plain: string, label: string) => seal(plain, label, keyFor('sealing')),
    /** Decrypts a sealed text. @throws if the text was sealed with another secret or label, or was changed */
    open: (sealed: string, label: string) => openWithAny(sealed, label, sealingKeys),
  }
}

/**
 * Reads the root secret from a file in the data folder, or generates it. Only the current user can read the new file.
 * If two processes start at the same time, the first write wins.
 */
export function readOrMakeSecret(dataDir: string): string {
  const file = join(dataDir, 'secret')
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const made = randomBytes(32).toString('base64url')
  // Write a draft and then link it, so no process reads an incomplete file.
  const draft = join(dataDir, `secret.${randomBytes(6).toString('hex')}`)
  writeFileSync(draft, `${made}\n`, { mode: 0o600, flag: 'wx' })
  try {
    linkSync(draft, file)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(draft, { force: true })
  }
  return readFileSync(file, 'utf8').trim()
}

const IV_BYTES = 12
const TAG_BYTES = 16

function derive(secret: string, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, '', `gatehouse ${purpose}`, 32))
}

function seal(plain: string, label: string, key: Buffer): string {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(label))
  const sealed = Buffer.concat([cipher.update(plain, 'utf8'), cipher.final()])
  return Buffer.concat([iv, cipher.getAuthTag(), sealed]).toString('base64url')
}

function openWithAny(sealed: string, label: string, keys: readonly Buffer[]): string {
  const bytes = Buffer.from(sealed, 'base64url')
  for (const key of keys) {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(label))
      .setAuthTag(bytes.subarray(IV_BYTES, IV_BYTES + TAG_BYTES))
    try {
      const plain = [decipher.update(bytes.subarray(IV_BYTES + TAG_BYTES)), decipher.final()]
      return Buffer.concat(plain).toString('utf8')
    } catch {
      // The text may have been sealed with another root secret.
    }
  }
  throw new Error(
    `${label} was encrypted with another root secret: set SECRET to that secret, ` +
      'or list that secret after the new one',
  )
}
