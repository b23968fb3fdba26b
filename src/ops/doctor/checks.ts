/** What doctor looks for, how bad each is, which standard says so, and what to do about it. */

/** `weak` works, and somebody who attacks is glad of it; `wrong` does not work, or must not be. */
export type Severity = 'note' | 'weak' | 'wrong'

interface Check {
  readonly severity: Severity
  /** Where it is written, as one looks it up. */
  readonly section?: string
  /** What to do, as the end of a sentence. */
  readonly cure: string
}

/** Every finding that doctor can have, and no other. */
export const checks = {
  'database.absent': { severity: 'note', cure: 'the first start makes it' },
  'database.silent': { severity: 'wrong', cure: 'see that it runs and that its address is right' },
  'database.read-only': {
    severity: 'wrong',
    cure: 'name the server that takes writes, or set default_transaction_read_only off',
  },
  'database.loses': {
    severity: 'note',
    cure: 'set them on, or what was used and revoked in the last moments is undone by a failure of its machine',
  },
  'schema.behind': {
    severity: 'wrong',
    cure: 'run `npm run gatehouse -- migrate` before the next start',
  },
  'schema.before-start': { severity: 'note', cure: 'the next start brings it up to date' },
  'clock.differs': {
    severity: 'wrong',
    cure: 'synchronise them, or tokens expire too early or too late',
  },
  'keys.absent': { severity: 'note', cure: 'the first start makes them' },
  'keys.unusable': {
    severity: 'wrong',
    cure: 'start with the secret that they were made with, or restore a backup',
  },
  'site.renamed': { severity: 'note', cure: 'give the site another name if people look for it' },
  'demo.present': { severity: 'note', cure: 'use an empty database for people of your own' },
  'demo.exposed': { severity: 'wrong', cure: 'use an empty database, or set DEMO_DATA=on' },
  'redis.silent': { severity: 'wrong', cure: 'see that it runs and that its address is right' },
  'redis.forgets': { severity: 'wrong', cure: 'set it to noeviction' },
  'redis.loses': {
    severity: 'note',
    cure: 'appendonly yes with appendfsync always loses nothing, with everysec little',
  },
  'secret.readable': { severity: 'wrong', cure: 'make it readable for its owner alone' },
  'database.readable': { severity: 'wrong', cure: 'make it readable for its owner alone' },

  'files.unwritable': { severity: 'wrong', cure: 'give the user of the service that folder' },
  'files.little-room': { severity: 'weak', cure: 'make room, or move DATA_DIR to a larger disk' },
  'files.no-room': { severity: 'wrong', cure: 'make room now: nothing can be written soon' },
  'files.bucket': {
    severity: 'wrong',
    cure: 'see FILES_S3_ENDPOINT and its neighbours; the key must read, write and delete objects',
  },

  'metrics.exposed': { severity: 'note', cure: 'let a firewall admit Prometheus alone' },
  'metrics.port': { severity: 'wrong', cure: 'give them another port' },
  'traces.collector': { severity: 'wrong', cure: 'see that it runs and that its address is right' },

  'outside.silent': { severity: 'note', cure: 'run it with --outside while the service runs' },
  'outside.unreachable': {
    severity: 'wrong',
    cure: 'see that the service runs, and that its name and its proxy lead there from here',
  },
  'outside.untrusted': {
    severity: 'wrong',
    section: 'RFC 9700 §2.6',
    cure: 'install a certificate of this name with its chain, from an authority that clients know',
  },
  'outside.certificate-ends': {
    severity: 'weak',
    section: 'RFC 9700 §2.6',
    cure: 'renew it, and let that be done by itself',
  },
  'outside.redirects': {
    severity: 'wrong',
    section: 'RFC 8414 §3.1',
    cure: 'make BASE_URL the address at which it is answered, without a redirect',
  },
  'outside.status': {
    severity: 'wrong',
    section: 'RFC 8414 §3.2',
    cure: 'let the proxy forward every path to the service',
  },
  'outside.issuer': {
    severity: 'wrong',
    section: 'RFC 8414 §3.3',
    cure: 'set BASE_URL to the address that clients use, in every process',
  },
  'outside.endpoints': {
    severity: 'wrong',
    section: 'RFC 9700 §2.6',
    cure: 'find out who changes the document between the service and here',
  },
  'outside.key-set': {
    severity: 'wrong',
    section: 'RFC 8414 §2',
    cure: 'let the proxy forward the key set as it is',
  },
  'outside.cors': {
    severity: 'weak',
    section: 'RFC 9700 §2.6',
    cure: 'let the proxy keep the Access-Control headers of the service',
  },
  'outside.uncacheable': {
    severity: 'weak',
    section: 'RFC 9111 §5.2',
    cure: 'let the proxy keep Cache-Control and ETag of the service',
  },
  'outside.headers-lost': {
    severity: 'weak',
    section: 'RFC 9700 §4.16',
    cure: 'let the proxy keep the headers of the service',
  },
  'outside.authorization-lost': {
    severity: 'wrong',
    section: 'RFC 6750 §2.1',
    cure: 'let the proxy forward the header Authorization',
  },
  'outside.clock': {
    severity: 'wrong',
    section: 'RFC 9068 §4',
    cure: 'synchronise the clocks of the machines of the service',
  },
  'outside.connections': {
    severity: 'weak',
    section: 'RFC 9112 §9.3',
    cure: 'let the proxy keep connections open, or every call pays for a new one',
  },

  'policy.any-document': {
    severity: 'note',
    section: 'Client ID Metadata Document §6',
    cure: 'list the hosts in metadataDocuments.hosts where you know them',
  },
  'policy.named-loopback': {
    severity: 'note',
    section: 'RFC 8252 §8.3',
    cure: 'take it out of loopbackHosts when no assistant of yours needs it',
  },
  'client.address-in-clear': {
    severity: 'wrong',
    section: 'RFC 9700 §2.6',
    cure: 'register an https address; codes travel in clear to this one',
  },
  'client.address-pattern': {
    severity: 'wrong',
    section: 'RFC 9700 §4.1.3',
    cure: 'register each address in full',
  },
  'client.address-fragment': {
    severity: 'wrong',
    section: 'OAuth 2.1 §2.3',
    cure: 'register it without what follows the #',
  },
  'client.named-loopback': {
    severity: 'weak',
    section: 'RFC 8252 §8.3',
    cure: 'register the loopback address by its number',
  },
  'client.scheme-undotted': {
    severity: 'weak',
    section: 'RFC 8252 §7.1',
    cure: 'use a scheme that is the reverse of a name which its maker owns, or an https address',
  },
  'client.loopback-beside-web': {
    severity: 'note',
    section: 'RFC 9700 §4.1',
    cure: 'give whoever develops it an application of their own',
  },
  'client.free-segment': {
    severity: 'note',
    section: 'RFC 9700 §4.1.3',
    cure: 'keep the pattern only while the platform makes an address for each connection',
  },
  'client.sign-out-in-clear': {
    severity: 'weak',
    section: 'RP-Initiated Logout §3.1',
    cure: 'register an https address',
  },
  'client.notices-in-clear': {
    severity: 'weak',
    section: 'Back-Channel Logout §2.2',
    cure: 'enter an https address',
  },
  'client.no-secret': {
    severity: 'wrong',
    section: 'RFC 9700 §2.5',
    cure: 'make a secret on its page, or let it authenticate in another way',
  },
  'client.secret-old': {
    severity: 'weak',
    section: 'RFC 9700 §2.5',
    cure: 'make a second secret, change the application over, and remove the old one',
  },
  'client.secret-unused': {
    severity: 'weak',
    section: 'RFC 9700 §2.5',
    cure: 'remove its secrets, which nothing uses',
  },
  'client.secrets-two': {
    severity: 'weak',
    section: 'RFC 9700 §2.5',
    cure: 'finish changing over, and remove the older one',
  },
  'client.secret-shared': {
    severity: 'note',
    section: 'RFC 9700 §2.5',
    cure: 'let it sign with a key of its own (private_key_jwt), which is on here',
  },
  'client.key-weak': {
    severity: 'wrong',
    section: 'RFC 9700 §2.5',
    cure: 'enter a key of P-256, Ed25519, or RSA of 2048 bits or more',
  },
  'client.keys-in-clear': {
    severity: 'wrong',
    section: 'RFC 9700 §2.5',
    cure: 'enter an https address of its keys',
  },
  'client.never-used': {
    severity: 'note',
    section: 'RFC 9700 §2.3',
    cure: 'delete it when nobody is going to use it',
  },
  'client.idle': {
    severity: 'note',
    section: 'RFC 9700 §2.3',
    cure: 'disable it when nobody uses it any more, and delete it later',
  },
  'client.scopes-unused': {
    severity: 'note',
    section: 'RFC 9700 §2.3',
    cure: 'take from it what it does not ask for',
  },
} as const satisfies Readonly<Record<string, Check>>

export type CheckName = keyof typeof checks

/** What one look found: how it is, or what is not as it should be. */
export interface Finding {
  readonly severity: Severity | 'ok'
  /** A sentence, without what to do. */
  readonly sentence: string
  readonly check?: CheckName
  readonly section?: string
  readonly cure?: string
}

export function ok(sentence: string): Finding {
  return { severity: 'ok', sentence }
}

/** @param sentence what was found, without the full stop, because the cure follows */
export function found(check: CheckName, sentence: string): Finding {
  return { check, sentence, ...(checks[check] satisfies Check) }
}

/** A finding in one line, as a person reads it. */
export function lineOf({ severity, sentence, section, cure }: Finding): string {
  const where = section === undefined ? '' : ` (${section})`
  const what = cure === undefined ? sentence : `${sentence}${where}; ${cure}.`
  return `${severity.padEnd(5)}  ${what}`
}
