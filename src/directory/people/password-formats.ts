/** A valid password hash within the cost limits, parsed so that passwords can be checked against it. */
export type StoredHash =
  | { readonly by: 'argon2'; readonly text: string; readonly isCurrent: boolean }
  | { readonly by: 'bcrypt'; readonly text: string; readonly prefix: string }
  | (Derived & { readonly by: 'pbkdf2'; readonly digest: string; readonly iterations: number })
  | (Derived & Cost & { readonly by: 'scrypt'; readonly isFirebase: boolean })
  | (Encoded & { readonly by: 'phpass'; readonly rounds: number; readonly trims: boolean })
  | (Encoded & { readonly by: 'crypt'; readonly rounds: number; readonly digest: string })

type Derived = Readonly<Record<'salt' | 'expected', Buffer>>
/** Salt and hash as text, in the alphabet of crypt(3). */
type Encoded = Readonly<Record<'salt' | 'expected', string>>
type Cost = Readonly<Record<'N' | 'r' | 'p', number>>

/** The cost of new hashes: 19 MiB and two passes, the minimum that OWASP recommends. */
export const OWN_COST = { memoryCost: 19_456, timeCost: 2, parallelism: 1 } as const

export const CRYPT_ALPHABET = './0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'

// The highest accepted costs. A check takes up to about two seconds of CPU time.

/** The maximum memory of one check, in KiB. Each parallel check may need this much memory. */
const MEMORY_KIB_MAX = 262_144
/** The maximum product of memory and passes. Common defaults are at most a quarter of this limit. */
const ARGON2_WORK_KIB_MAX = 1_048_576
const ARGON2_LANES_MAX = 16
/** The base-2 logarithm of the maximum number of rounds. */
const BCRYPT_COST_MAX = 14
const PHPASS_ROUNDS_LOG2_MAX = 20
/** The maximum product of the iterations and the number of digests in the hash. */
const PBKDF2_ITERATIONS_MAX = 3_000_000
/** The maximum product of N, r and p. */
const SCRYPT_WORK_MAX = 2_097_152
/** The maximum number of rounds. passlib's default for SHA-512 is 656,000. */
const SHA_CRYPT_ROUNDS_MAX = 1_000_000

/** The minimum length of a hash, in bytes. A shorter hash was probably truncated. */
const HASH_BYTES_MIN = 16
const HASH_BYTES_MAX = 64
const TEXT_LENGTH_MAX = 512

type Read = StoredHash | 'too costly' | undefined
type Groups = Readonly<Record<string, string | undefined>>

interface Format {
  readonly name: string
  readonly examples: readonly string[]
  /** The programs that write hashes in this format. */
  readonly from: string
  /** The highest accepted cost. */
  readonly limit: string
  readonly pattern: RegExp
  /** Reads the groups of the pattern; returns undefined if a group is invalid. */
  readonly read: (groups: Groups) => Read
}

/** The accepted formats. docs/reference/records.md lists them. */
export const passwordFormats: readonly Format[] = [
  {
    name: 'Argon2',
    examples: ['$argon2id$v=19$m=65536,t=3,p=4$salt$hash', 'argon2$argon2id$v=19$…'],
    from: 'PHP, passlib, Spring Security, Django',
    limit: `m ≤ ${MEMORY_KIB_MAX}, m × t ≤ ${ARGON2_WORK_KIB_MAX}, p ≤ ${ARGON2_LANES_MAX}`,
    pattern:
      /^(?:argon2)?(?<text>\$argon2(?:id|i|d)\$v=(?:16|19)\$m=(?<m>[1-9]\d{0,9}),t=(?<t>[1-9]\d{0,9}),p=(?<p>[1-9]\d{0,3})\$(?<salt>[A-Za-z\d+/]{11,86})\$(?<hash>[A-Za-z\d+/]{22,86}))$/,
    read: readArgon2,
  },
  {
    // The pattern excludes nonzero unused bits. The library rejects such hashes at once, which would reveal an account.
    name: 'bcrypt',
    examples: ['$2y$12$…', 'bcrypt$$2b$12$…', 'bcrypt_sha256$$2b$12$…', '$wp$2y$10$…'],
    from: 'PHP, Laravel, Rails, Node.js, Django, WordPress since 6.8',
    limit: `cost ≤ ${BCRYPT_COST_MAX}`,
    pattern:
      /^(?<prefix>|bcrypt\$|bcrypt_sha256\$|\$wp)(?<text>\$2[aby]\$(?<cost>0[4-9]|[1-3]\d)\$[./A-Za-z\d]{21}[.Oeu][./A-Za-z\d]{30}[.CGKOSWaeimquy26])$/,
    read: ({ prefix = '', text = '', cost }) =>
      Number(cost) > BCRYPT_COST_MAX ? 'too costly' : { by: 'bcrypt', text, prefix },
  },
  {
    name: 'scrypt',
    examples: ['$scrypt$ln=16,r=8,p=1$salt$hash', 'scrypt$16384$salt$8$5$hash'],
    from: 'passlib, Django',
    limit: `N × r × p ≤ ${SCRYPT_WORK_MAX}, where N is 2^ln, and 128 × N × r ≤ ${MEMORY_KIB_MAX} KiB`,
    pattern:
      /^(?:\$scrypt\$ln=(?<ln>\d{1,2}),r=(?<r>\d{1,4}),p=(?<p>\d{1,4})\$(?<salt>[\w+/]+)|scrypt\$(?<N>\d{1,9})\$(?<text>[!-#%-~]+)\$(?<r>\d{1,4})\$(?<p>\d{1,4}))\$(?<hash>[\w+/]+={0,2})$/,
    read: readScrypt,
  },
  {
    name: 'Firebase scrypt',
    examples: ['$firescrypt$ln=14,r=8,p=1$salt$hash$salt separator'],
    from: 'Firebase (`ln` is `mem_cost`, `r` is `rounds`), if `FIREBASE_SIGNER_KEY` is set',
    limit: `2^ln × r ≤ ${SCRYPT_WORK_MAX}`,
    pattern:
      /^\$firescrypt\$ln=(?<ln>\d{1,2}),r=(?<r>\d{1,4}),p=(?<p>1)\$(?<salt>[\w+/-]+={0,2})\$(?<hash>[\w+/-]+={0,2})\$(?<separator>[\w+/-]+={0,2})$/,
    read: readScrypt,
  },
  {
    name: 'PBKDF2',
    examples: ['$pbkdf2-sha256$i=600000$salt$hash', 'pbkdf2_sha256$1000000$salt$hash'],
    from: 'passlib, Django and others; with SHA-1, SHA-256 or SHA-512',
    limit: `iterations × digests in the hash ≤ ${PBKDF2_ITERATIONS_MAX}`,
    pattern:
      /^(?:\$pbkdf2(?:-(?<digest>sha1|sha256|sha512))?\$(?:i=)?(?<i>\d{1,9})(?:,l=(?<length>\d{1,3}))?\$(?<salt>[\w+/.]+)|pbkdf2_(?<digest>sha1|sha256)\$(?<i>\d{1,9})\$(?<text>[!-#%-~]+))\$(?<hash>[\w+/.]+={0,2})$/,
    read: readPbkdf2,
  },
  {
    name: 'phpass',
    examples: ['$P$B…', '$H$9…'],
    from: 'WordPress before 6.8, phpBB',
    limit: `at most 2^${PHPASS_ROUNDS_LOG2_MAX} rounds`,
    pattern:
      /^\$(?<program>[PH])\$(?<log2>[5-9A-S])(?<salt>[./A-Za-z\d]{8})(?<hash>[./A-Za-z\d]{22})$/,
    read: ({ program, log2 = '', salt = '', hash: expected = '' }) => {
      const roundsLog2 = CRYPT_ALPHABET.indexOf(log2)
      if (roundsLog2 > PHPASS_ROUNDS_LOG2_MAX) return 'too costly'
      return { by: 'phpass', rounds: 2 ** roundsLog2, trims: program === 'P', salt, expected }
    },
  },
  {
    name: 'SHA-2 crypt',
    examples: ['$5$salt$hash', '$6$rounds=656000$salt$hash'],
    from: 'crypt(3), passlib, Moodle since 4.3',
    limit: `at most ${SHA_CRYPT_ROUNDS_MAX} rounds`,
    pattern:
      /^\$(?<version>[56])\$(?:rounds=(?<rounds>[1-9]\d{3,8})\$)?(?<salt>[!-#%-~]{1,16})\$(?<hash>[./A-Za-z\d]{43}|[./A-Za-z\d]{86})$/,
    read: ({ version, rounds = '5000', salt = '', hash: expected = '' }) => {
      const [digest, length] = version === '6' ? ['sha512', 86] : ['sha256', 43]
      if (expected.length !== length) return undefined
      if (Number(rounds) > SHA_CRYPT_ROUNDS_MAX) return 'too costly'
      return { by: 'crypt', digest, rounds: Number(rounds), salt, expected }
    },
  },
]

/** Rejected formats, with the names that the error message uses. */
const refusedFormats: readonly (readonly [pattern: RegExp, name: string])[] = [
  [/^[\da-f]{32}$/i, 'an unsalted MD5 or NTLM hash'],
  [/^[\da-f]{40}$/i, 'an unsalted SHA-1 hash'],
  [/^([\da-f]{64}|[\da-f]{128})$/i, 'an unsalted SHA-2 hash'],
  [/^\{[\w-]+\}/, 'an LDAP hash such as {SSHA}'],
  [/^\$(1|apr1)\$/, 'an MD5 crypt hash'],
  [/^\$S\$/, 'a Drupal 7 hash'],
  [/^\$2x?\$/, 'a bcrypt hash in the obsolete version $2$ or $2x$'],
  [/^\$(y|gy|7)\$/, 'a yescrypt hash'],
  [/^(md5|sha1|unsalted_\w+|crypt)\$/, 'a weak Django hash'],
  [/^!/, 'the value that Django stores for an account without a password'],
]

/** Parses a password hash. If the hash is rejected, returns the reason. */
export function readPasswordHash(text: string): StoredHash | string {
  for (const { name, pattern, examples, limit, read } of passwordFormats) {
    const groups = text.length <= TEXT_LENGTH_MAX && pattern.exec(text)
    if (!groups) continue
    const hash = read(groups.groups ?? {})
    if (hash === 'too costly')
      return `the hash makes each sign-in too expensive (limit for ${name}: ${limit}); omit the field`
    return hash ?? `the hash is not a complete ${name} hash, such as ${examples[0]}`
  }
  const [, name = 'truncated or in an unknown format'] =
    refusedFormats.find(([pattern]) => pattern.test(text)) ?? []
  const accepted = passwordFormats.map((format) => format.name).join(', ')
  return `the hash is ${name}; send a complete hash in one of the accepted formats (${accepted}), or omit the field`
}

/** Whether sign-in should replace the hash, because it is cheaper than a new hash, or is not Argon2id 1.3. */
export function isOutdated(text: string): boolean {
  const hash = readPasswordHash(text)
  return typeof hash === 'string' || hash.by !== 'argon2' || !hash.isCurrent
}

function readArgon2({ text = '', m, t, p, salt, hash }: Groups): Read {
  const [memoryKib, lanes, workKib] = [Number(m), Number(p), Number(m) * Number(t)]
  if (!decodeBase64(salt) || !decodeBase64(hash) || memoryKib < 8 * lanes) return undefined
  if (memoryKib > MEMORY_KIB_MAX || workKib > ARGON2_WORK_KIB_MAX || lanes > ARGON2_LANES_MAX)
    return 'too costly'
  const isCheaper = workKib < OWN_COST.memoryCost * OWN_COST.timeCost
  return { by: 'argon2', text, isCurrent: text.startsWith('$argon2id$v=19$') && !isCheaper }
}

function readScrypt({ ln, N: given, separator, ...groups }: Groups): Read {
  const [N, r, p] = [given ?? 2 ** Number(ln), groups['r'], groups['p']].map(Number)
  const derived = readDerived(groups)
  const tail = separator === undefined ? Buffer.alloc(0) : decodeBase64(separator)
  if (!derived || !tail || !N || !r || !p || N < 2 || N & (N - 1)) return undefined
  if (N * r * p > SCRYPT_WORK_MAX || N * r > MEMORY_KIB_MAX * 8) return 'too costly'
  const { expected } = derived
  const salt = Buffer.concat([derived.salt, tail])
  return { by: 'scrypt', N, r, p, salt, expected, isFirebase: separator !== undefined }
}

const DIGEST_BYTES: Readonly<Record<string, number>> = { sha1: 20, sha256: 32, sha512: 64 }

function readPbkdf2({ digest = 'sha1', i, length, ...groups }: Groups): Read {
  const [derived, iterations] = [readDerived(groups), Number(i)]
  const bytes = derived?.expected.length ?? 0
  if (!derived || iterations < 1 || Number(length ?? bytes) !== bytes) return undefined
  if (iterations * Math.ceil(bytes / (DIGEST_BYTES[digest] ?? 1)) > PBKDF2_ITERATIONS_MAX)
    return 'too costly'
  return { by: 'pbkdf2', digest, iterations, ...derived }
}

/** Reads the hash and the salt. The group `salt` contains the salt in base64; the group `text` contains it as text. */
function readDerived({ salt: encoded, text, hash }: Groups): Derived | undefined {
  const salt = text === undefined ? decodeBase64(encoded) : Buffer.from(text)
  const expected = decodeBase64(hash)
  if (!salt || !expected) return undefined
  const { length } = expected
  return length < HASH_BYTES_MIN || length > HASH_BYTES_MAX ? undefined : { salt, expected }
}

/** Decodes canonical base64. Padding is optional; the URL-safe alphabet and passlib's dot are accepted. */
function decodeBase64(text = ''): Buffer | undefined {
  const bytes = Buffer.from(text.replaceAll('.', '+'), 'base64')
  const canonical = bytes.toString('base64').replace(/=+$/, '')
  const given = text.replace(/=+$/, '').replace(/[-.]/g, '+').replaceAll('_', '/')
  return canonical === given ? bytes : undefined
}
