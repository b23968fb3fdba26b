import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { existsSync, linkSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export type SecretRoot = ReturnType<typeof makeSecretRoot>

/**
 * What derives from the root secret: the keys that sign cookies, the keys of form tokens, and the
 * sealing of private keys at rest. With several roots the first signs and seals, and all are
 * accepted, so that a root can be replaced without signing anybody out.
 */
export function makeSecretRoot(secrets: readonly string[]) {
  const keysFor = (purpose: string) => secrets.map((secret) => derive(secret, purpose))
  const sealingKeys = keysFor('sealing')
  const [sealingKey] = sealingKeys
  const [formKey] = keysFor('forms')
  const [nonceKey] = keysFor('DPoP nonces')
  const [networkKey] = keysFor('networks')
  if (!sealingKey || !formKey || !nonceKey || !networkKey)
    throw new Error('a secret root needs at least one secret')
  return {
    /** Keys for signed cookies, the current one first. */
    cookieKeys: keysFor('cookies').map((key) => key.toString('base64url')),
    /** Key of the tokens that forms carry. */
    formKey,
    /** Key of the nonces that proofs carry, which live for minutes. */
    nonceKey,
    /** Key of the digests of networks that registered clients. */
    networkKey,
    /** Keys that sign the cursors of pages, the current one first. */
    cursorKeys: keysFor('cursors'),
    /** Keys that sign the addresses of downloads, the current one first. */
    downloadKeys: keysFor('downloads'),
    /** Keys that say in which browsers people signed in before, the current one first. */
    browserKeys: keysFor('browsers'),
    /** Keys that authenticate tokens, the current one first. */
    tokenKeys: keysFor('tokens'),
    /** Encrypts with AES-256-GCM; `label` binds the result to its use. */
    seal: (plain: string, label: string) => seal(plain, label, sealingKey),
    /** @throws when no root opens it: it was sealed under another secret, or was changed. */
    open: (sealed: string, label: string) => openWithAny(sealed, label, sealingKeys),
  }
}

/**
 * The secret of the embedded default: made once, readable by this user only, kept beside the
 * database. Two processes that start at once agree on the one that was written first.
 */
export function readOrMakeSecret(dataDir: string): string {
  const file = join(dataDir, 'secret')
  mkdirSync(dataDir, { recursive: true, mode: 0o700 })
  if (existsSync(file)) return readFileSync(file, 'utf8').trim()
  const made = randomBytes(32).toString('base64url')
  // It gets its name when it is complete, so that nobody reads a file that is still empty.
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
      // Another root may have sealed it.
    }
  }
  throw new Error(
    `${label} was sealed with another secret: start with the SECRET that it was made with, ` +
      'or list that one after the new one',
  )
}
