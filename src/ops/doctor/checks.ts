/** `wrong`: broken or insecure. `weak`: works, but carries a risk. `note`: may be intended. */
export type Severity = 'note' | 'weak' | 'wrong'

const check = (severity: Severity) => (cure: string, section?: string) => ({
  severity,
  ...(section !== undefined && { section }),
  /** The remedy, as the end of a sentence. */
  cure,
})
const [note, weak, wrong] = [check('note'), check('weak'), check('wrong')]

/** All findings of `doctor` except `ok`, with severity, remedy and, for some, the standard behind them. */
export const checks = {
  'database.absent': note('the first start creates the database'),
  'database.silent': wrong('check that the database is running and that DATABASE_URL is correct'),
  'database.unusable': wrong('check that gatehouse.db is intact, and that you may write to it'),
  'database.read-only': wrong('connect to the primary, or turn default_transaction_read_only off'),
  'database.loses': note(
    'turn the listed settings on, because a power failure could undo recent revocations',
  ),
  'schema.behind': wrong('run `npm run gatehouse -- migrate` before the next start'),
  'schema.before-start': note('the next start applies the migrations'),
  'keys.absent': note('the first start creates the keys'),
  'keys.unusable': wrong('start with the secret that encrypted the keys, or restore a backup'),
  'secrets.unreadable': wrong(
    'list the removed secret after the current one in SECRET, then run `npm run gatehouse -- keys rotate`',
  ),
  'restore.older': wrong(
    'run `npm run gatehouse -- grants end-all`, because tokens that were revoked after the backup are valid again',
  ),
  'restore.timeline': weak(
    "run `npm run gatehouse -- grants end-all`, or, if a standby took over without losing writes, execute `update setting set value = '' where name = 'restore_marker'`",
  ),
  'site.renamed': note(
    'import the site with another slug if people look for its pages at the old path',
  ),
  'demo.present': note('use another database, without the demo campus, for real people'),
  'demo.exposed': wrong('use an empty database, or set DEMO_DATA=on'),
  'firebase.key': wrong(
    'set it to the base64_signer_key of the Firebase project, so that people can sign in with these passwords',
  ),
  'redis.silent': wrong('check that Redis is running and that its address is correct'),
  'redis.forgets': wrong('set maxmemory-policy to noeviction'),
  'redis.loses': note(
    'set `appendonly` to `yes`, and `appendfsync` to `always` (loses no writes) or `everysec` (loses at most 2 s of writes)',
  ),
  'secret.readable': wrong('make the file readable only by its owner'),
  'database.readable': wrong('make the file readable only by its owner'),

  'files.unwritable': wrong(
    'give the service user write access to the folder, and check that the disk has room',
  ),
  'files.other-folder': wrong(
    "mount one folder on all hosts, or set FILES_S3_*; if you replaced the folder, execute `delete from setting where name = 'files_folder'`",
  ),
  'files.missing': wrong(
    'let all hosts share DATA_DIR/files, use S3, or copy the missing files into the folder',
  ),
  'files.bucket': wrong(
    'check FILES_S3_*; the access key must be allowed to read, write and delete objects',
  ),

  'proxy.ignored': wrong(
    'set TRUST_PROXY=yes, because otherwise all users behind the proxy share one rate limit',
  ),
  'proxy.anyone': note('let only your proxy connect to the port of the service'),

  'metrics.exposed': note('let only Prometheus connect to the metrics port'),

  'mail.folder': weak('set SMTP_URL and MAIL_FROM, because these messages reach no mailbox'),
  'mail.server': wrong('check SMTP_URL, its password and the certificate of the mail server'),
  'mail.waiting': wrong('check the mail server; messages are retried for three days'),

  'outside.silent': note('run doctor with --outside while the service runs'),
  'outside.unreachable': wrong(
    'check that the service is running, and that DNS and the proxy direct requests to it',
  ),
  'outside.untrusted': wrong(
    'install a certificate for this name, with its chain, from an authority that clients trust',
    'RFC 9700 §2.6',
  ),
  'outside.redirects': wrong('set BASE_URL to the origin of the target', 'RFC 8414 §3.1'),
  'outside.status': wrong('make the proxy forward every path to the service', 'RFC 8414 §3.2'),
  'outside.issuer': wrong('set the same BASE_URL in every process', 'RFC 8414 §3.3'),
  'outside.endpoints': wrong('find out which proxy or cache changes the document', 'RFC 9700 §2.6'),
  'outside.key-set': wrong('make the proxy forward the key set unchanged', 'RFC 8414 §2'),
  'outside.cors': weak('make the proxy keep the Access-Control-* headers', 'RFC 9700 §2.6'),
  'outside.headers-lost': weak('make the proxy keep the security headers', 'RFC 9700 §4.16'),
  'outside.authorization-lost': wrong(
    'make the proxy forward the Authorization header',
    'RFC 6750 §2.1',
  ),

  'policy.any-document': note(
    'if you know the hosts, list them in metadataDocuments.sources and set openRegistration to false',
    'Client ID Metadata Document §6',
  ),
  'policy.named-loopback': note(
    'remove from loopbackHosts each host name that no assistant needs',
    'RFC 8252 §8.3',
  ),
  'client.address-in-clear': wrong(
    'register an https URL instead, because codes are sent to this URL unencrypted',
    'RFC 9700 §2.6',
  ),
  'client.address-pattern': wrong('register each redirect URI in full', 'RFC 9700 §4.1.3'),
  'client.named-loopback': weak('register the IP address instead', 'RFC 8252 §8.3'),
  'client.scheme-undotted': weak(
    "use the vendor's reversed domain name as the scheme (com.example.app:/callback), or an https URL",
    'RFC 8252 §7.1',
  ),
  'client.no-secret': wrong(
    'add a secret, or change how the client authenticates',
    'RFC 9700 §2.5',
  ),
  'client.secret-old': weak(
    'add a second secret, deploy it, then remove the old secret',
    'RFC 9700 §2.5',
  ),
  'client.secrets-two': weak('finish the rollover, then remove the old secret', 'RFC 9700 §2.5'),
}

export type CheckName = keyof typeof checks

/** The result of a check. */
export interface Finding {
  readonly severity: Severity | 'ok'
  /** The finding as a sentence, without the remedy. */
  readonly sentence: string
  readonly check?: CheckName
  readonly section?: string
  readonly cure?: string
}

export type Findings = AsyncGenerator<Finding>

export function ok(sentence: string): Finding {
  return { severity: 'ok', sentence }
}

/** Creates a finding other than `ok`. The remedy follows `sentence`, which must not end with a full stop. */
export function found(check: CheckName, sentence: string): Finding {
  return { check, sentence, ...checks[check] }
}

/** Formats a finding as one line of the report. */
export function formatFinding({ severity, sentence, section, cure }: Finding): string {
  const where = section === undefined ? '' : ` (${section})`
  const what = cure === undefined ? sentence : `${sentence}${where}; ${cure}.`
  return `${severity.padEnd(5)}  ${what}`
}
