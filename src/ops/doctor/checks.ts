/** What doctor looks for, how bad each is, which standard says so, and what to do about it. */

/** `weak` works, but helps an attacker; `wrong` does not work, or must not be. */
export type Severity = 'note' | 'weak' | 'wrong'

interface Check {
  readonly severity: Severity
  /** What to do, as the end of a sentence. */
  readonly cure: string
  /** The section of the standard that says so. */
  readonly section?: string
}

const check =
  (severity: Severity) =>
  (cure: string, section?: string): Check => ({
    severity,
    ...(section !== undefined && { section }),
    cure,
  })
const [note, weak, wrong] = [check('note'), check('weak'), check('wrong')]

/** Every finding that doctor can have, and no other. */
export const checks = {
  'database.absent': note('the first start makes it'),
  'database.silent': wrong('see that it runs and that its address is right'),
  'database.read-only': wrong(
    'name the server that takes writes, or set default_transaction_read_only off',
  ),
  'database.loses': note(
    'set them on, or what was used and revoked in the last moments is undone by a failure of its machine',
  ),
  'schema.behind': wrong('run `npm run gatehouse -- migrate` before the next start'),
  'schema.before-start': note('the next start brings it up to date'),
  'clock.differs': wrong('synchronise them, or tokens expire too early or too late'),
  'keys.absent': note('the first start makes them'),
  'keys.unusable': wrong('start with the secret that they were made with, or restore a backup'),
  'site.renamed': note('give the site another name if people look for it'),
  'demo.present': note('use an empty database for people of your own'),
  'demo.exposed': wrong('use an empty database, or set DEMO_DATA=on'),
  'redis.silent': wrong('see that it runs and that its address is right'),
  'redis.forgets': wrong('set it to noeviction'),
  'redis.loses': note('appendonly yes with appendfsync always loses nothing, with everysec little'),
  'secret.readable': wrong('make it readable for its owner alone'),
  'database.readable': wrong('make it readable for its owner alone'),

  'files.unwritable': wrong('give the user of the service that folder'),
  'files.little-room': weak('make room, or move DATA_DIR to a larger disk'),
  'files.no-room': wrong('make room now: nothing can be written soon'),
  'files.bucket': wrong(
    'see FILES_S3_ENDPOINT and its neighbours; the key must read, write and delete objects',
  ),

  'metrics.exposed': note('let a firewall admit Prometheus alone'),
  'metrics.port': wrong('give them another port'),
  'traces.collector': wrong('see that it runs and that its address is right'),

  'outside.silent': note('run it with --outside while the service runs'),
  'outside.unreachable': wrong(
    'see that the service runs, and that its name and its proxy lead there from here',
  ),
  'outside.untrusted': wrong(
    'install a certificate of this name with its chain, from an authority that clients know',
    'RFC 9700 §2.6',
  ),
  'outside.certificate-ends': weak('renew it, and let that be done by itself', 'RFC 9700 §2.6'),
  'outside.redirects': wrong(
    'make BASE_URL the address at which it is answered, without a redirect',
    'RFC 8414 §3.1',
  ),
  'outside.status': wrong('let the proxy forward every path to the service', 'RFC 8414 §3.2'),
  'outside.issuer': wrong(
    'set BASE_URL to the address that clients use, in every process',
    'RFC 8414 §3.3',
  ),
  'outside.endpoints': wrong(
    'find out who changes the document between the service and here',
    'RFC 9700 §2.6',
  ),
  'outside.key-set': wrong('let the proxy forward the key set as it is', 'RFC 8414 §2'),
  'outside.cors': weak(
    'let the proxy keep the Access-Control headers of the service',
    'RFC 9700 §2.6',
  ),
  'outside.uncacheable': weak(
    'let the proxy keep Cache-Control and ETag of the service',
    'RFC 9111 §5.2',
  ),
  'outside.headers-lost': weak('let the proxy keep the headers of the service', 'RFC 9700 §4.16'),
  'outside.authorization-lost': wrong(
    'let the proxy forward the header Authorization',
    'RFC 6750 §2.1',
  ),
  'outside.clock': wrong('synchronise the clocks of the machines of the service', 'RFC 9068 §4'),
  'outside.connections': weak(
    'let the proxy keep connections open, or every call pays for a new one',
    'RFC 9112 §9.3',
  ),

  'policy.any-document': note(
    'list the hosts in metadataDocuments.hosts where you know them',
    'Client ID Metadata Document §6',
  ),
  'policy.named-loopback': note(
    'take it out of loopbackHosts when no assistant of yours needs it',
    'RFC 8252 §8.3',
  ),
  'client.address-in-clear': wrong(
    'register an https address; codes travel in clear to this one',
    'RFC 9700 §2.6',
  ),
  'client.address-pattern': wrong('register each address in full', 'RFC 9700 §4.1.3'),
  'client.address-fragment': wrong('register it without what follows the #', 'OAuth 2.1 §2.3'),
  'client.named-loopback': weak('register the loopback address by its number', 'RFC 8252 §8.3'),
  'client.scheme-undotted': weak(
    'use a scheme that is the reverse of a name which its maker owns, or an https address',
    'RFC 8252 §7.1',
  ),
  'client.loopback-beside-web': note(
    'give whoever develops it an application of their own',
    'RFC 9700 §4.1',
  ),
  'client.free-segment': note(
    'keep the pattern only while the platform makes an address for each connection',
    'RFC 9700 §4.1.3',
  ),
  'client.sign-out-in-clear': weak('register an https address', 'RP-Initiated Logout §3.1'),
  'client.notices-in-clear': weak('enter an https address', 'Back-Channel Logout §2.2'),
  'client.no-secret': wrong(
    'make a secret on its page, or let it authenticate in another way',
    'RFC 9700 §2.5',
  ),
  'client.secret-old': weak(
    'make a second secret, change the application over, and remove the old one',
    'RFC 9700 §2.5',
  ),
  'client.secret-unused': weak('remove its secrets, which nothing uses', 'RFC 9700 §2.5'),
  'client.secrets-two': weak('finish changing over, and remove the older one', 'RFC 9700 §2.5'),
  'client.secret-shared': note(
    'let it sign with a key of its own (private_key_jwt), which is on here',
    'RFC 9700 §2.5',
  ),
  'client.key-weak': wrong(
    'enter a key of P-256, Ed25519, or RSA of 2048 bits or more',
    'RFC 9700 §2.5',
  ),
  'client.keys-in-clear': wrong('enter an https address of its keys', 'RFC 9700 §2.5'),
  'client.never-used': note('delete it when nobody is going to use it', 'RFC 9700 §2.3'),
  'client.idle': note(
    'disable it when nobody uses it any more, and delete it later',
    'RFC 9700 §2.3',
  ),
  'client.scopes-unused': note('take from it what it does not ask for', 'RFC 9700 §2.3'),
} satisfies Readonly<Record<string, Check>>

export type CheckName = keyof typeof checks

/** The result of a check: all is well, or what is not as it should be. */
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
  return { check, sentence, ...checks[check] }
}

/** A finding in one line, as a person reads it. */
export function lineOf({ severity, sentence, section, cure }: Finding): string {
  const where = section === undefined ? '' : ` (${section})`
  const what = cure === undefined ? sentence : `${sentence}${where}; ${cure}.`
  return `${severity.padEnd(5)}  ${what}`
}
