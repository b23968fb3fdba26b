import { chmodSync, globSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { createServer } from 'node:https'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import { makeCertificate } from '../../conformance/certificate.ts'
import { makeSecretRoot } from '../../src/oauth/keys/secret-root.ts'
import { type CheckName, checks, type Finding, found } from '../../src/ops/doctor/checks.ts'
import { type ClientFacts, judgeClients } from '../../src/ops/doctor/client-checks.ts'
import { checkPermissions } from '../../src/ops/doctor/machine-checks.ts'
import { change, editList, insert, openEmbedded } from '../support/database.ts'
import { listen } from '../support/listen.ts'
import { sharedPostgres, startPostgres } from '../support/postgres.ts'
import {
  dataFolderWithDemo,
  type Ended,
  gatehouse,
  patientService,
  runDoctor,
  runGatehouse,
  startProcess,
  type Variables,
} from '../support/process.ts'
import { freePort, temporaryFolder } from '../support/programs.ts'
import { startRedis } from '../support/redis.ts'
import { standards } from '../support/reference-data.ts'
import { startS3 } from '../support/s3.ts'
import { shared } from '../support/shared.ts'
import { askForProgram, requireProgram } from '../support/skipped.ts'
import { SECRET } from '../support/storages.ts'

const root = join(import.meta.dirname, '../..')
const DAY_MS = 86_400_000
const now = 400 * DAY_MS

const checksOf = (findings: readonly Finding[]) => findings.flatMap(({ check }) => check ?? [])

describe('the checks of doctor', () => {
  const names = Object.keys(checks) as CheckName[]

  it('are each made somewhere, and say what to do', () => {
    const code = globSync('src/ops/doctor/*.ts', { cwd: root })
      .filter((file) => !file.endsWith('/checks.ts'))
      .map((file) => readFileSync(join(root, file), 'utf8'))
      .join('\n')
    expect(names.filter((name) => !code.includes(`'${name}'`))).to.deep.equal([])
    expect(names.filter((name) => /\.$/.test(checks[name].cure))).to.deep.equal([])
  })

  it('name sections of the table of standards, or a standard that is in no table', () => {
    const unknown = names.filter((name) => {
      const [, standard = '', cited = ''] = /^(.+) §(.+)$/.exec(found(name, '').section ?? '') ?? []
      const known = standards.find((candidate) => candidate.name === standard)
      // A check may cite a part of a listed section, or a section of which only a part is listed.
      const isWithin = (one: string, other: string) => `${one}.`.startsWith(`${other}.`)
      const isListed = ({ section }: { section: string }) =>
        isWithin(section, cited) || isWithin(cited, section)
      return known && !known.sections.some(isListed)
    })
    expect(unknown).to.deep.equal([])
  })
})

const well: ClientFacts = {
  clientId: 'app_1',
  name: 'An application',
  auth_method: 'client_secret_post',
  redirectUris: ['https://app.example/callback'],
  secretsMadeAt: [now - 10 * DAY_MS],
}

describe('doctor judges a client', () => {
  const judge = (client: Partial<ClientFacts>) =>
    checksOf(judgeClients([{ ...well, ...client }], now))

  const asked = (...redirectUris: string[]) => ({ redirectUris })
  const secrets = (...days: number[]) => ({ secretsMadeAt: days.map((age) => now - age * DAY_MS) })
  for (const [check, what, client] of [
    ['client.address-in-clear', 'http on the web', asked('http://app.example/cb')],
    ['client.address-pattern', 'a wildcard', asked('https://*.app.example/cb')],
    ['client.address-pattern', 'an encoded wildcard', asked('https://app.example/%2A')],
    ['client.named-loopback', 'localhost', asked('http://localhost:1/cb')],
    ['client.scheme-undotted', 'a scheme without a dot', asked('myapp://callback')],
    ['client.no-secret', 'no secret', secrets()],
    ['client.secret-old', 'a secret of 366 days', secrets(366)],
    ['client.secrets-two', 'two secrets for 31 days', secrets(60, 31)],
  ] satisfies [CheckName, string, Partial<ClientFacts>][]) {
    // [threat 38]
    it(`finds ${check}: ${what}`, () => expect(judge(client)).to.deep.equal([check]))
  }

  for (const [what, client] of Object.entries<Partial<ClientFacts>>({
    'a client that follows RFC 9700 and OAuth 2.1': {},
    'a public client': { auth_method: 'none', ...secrets() },
    'a client on the last good day of its secrets': secrets(365, 30),
  })) {
    it(`finds nothing wrong with ${what}`, () => expect(judge(client)).to.deep.equal([]))
  }
})

describe('doctor', () => {
  const bad = ({ findings }: { readonly findings: readonly Finding[] }) =>
    checksOf(findings.filter(({ severity }) => /weak|wrong/.test(severity)))
  const problems = ({ stdout }: Ended) =>
    stdout.split('\n').filter((line) => line.startsWith('wrong'))

  it('finds nothing wrong with an embedded service, and creates nothing before there is one', async () => {
    const DATA_DIR = temporaryFolder()
    expect(await gatehouse(['doctor'], { DATA_DIR })).to.include('There is no database in')
    await using _service = await startProcess({ DATA_DIR })
    const after = await runGatehouse(['doctor'], { DATA_DIR })
    expect([after.code, after.stderr, problems(after)]).to.deep.equal([0, '', []])
    expect(after.stdout).to.include('The root secret can decrypt the signing keys')
    expect(after.stdout).to.include('contains the demo campus, whose passwords are public')
  })

  it('finds readable files, a wrong secret, a reachable demo campus, and a slug that is a route', async () => {
    const DATA_DIR = await dataFolderWithDemo()
    await using _service = await startProcess({ DATA_DIR })
    chmodSync(join(DATA_DIR, 'secret'), 0o644)
    const readable = await runGatehouse(['doctor'], { DATA_DIR })
    expect([readable.code, readable.stderr]).to.deep.equal([1, 'Findings (wrong): 1.\n'])
    expect(problems(readable)[0]).to.include('Other users of this machine can read')

    chmodSync(join(DATA_DIR, 'secret'), 0o600)
    chmodSync(join(DATA_DIR, 'gatehouse.db'), 0o644)
    await using database = await openEmbedded(DATA_DIR)
    await change(database.kysely, 'site', { id: 'sit_northlight' }, { slug: 'graphql' })
    const hidden = await runGatehouse(['doctor'], { DATA_DIR })
    expect([hidden.code, problems(hidden)], 'behind its folder').to.deep.equal([0, []])
    const imported = { password_hash: '$firescrypt$ln=14,r=8,p=1$c2FsdA$aGFzaA$Bw' }
    await database.kysely.updateTable('person').set(imported).execute()
    const locked = problems(await runGatehouse(['doctor'], { DATA_DIR }))
    expect(locked.join()).to.include(
      'FIREBASE_SIGNER_KEY is not set; set it to the base64_signer_key',
    )
    const given = await runGatehouse(['doctor'], { DATA_DIR, FIREBASE_SIGNER_KEY: 'c2lnbmVy' })
    expect(problems(given)).to.deep.equal([])
    await database.kysely.updateTable('person').set({ password_hash: null }).execute()
    expect(hidden.stdout).to.include(
      'note   The service itself uses the path /admin/graphql, so the pages of site sit_northlight are at ' +
        '/admin/sit_northlight; import the site with another slug if people look for its pages at the old path.',
    )
    chmodSync(DATA_DIR, 0o755)
    const copied = await runGatehouse(['doctor'], { DATA_DIR })
    expect(problems(copied).join()).to.match(/can read \S+gatehouse\.db;/)
    chmodSync(DATA_DIR, 0o700)

    const former = readFileSync(join(DATA_DIR, 'secret'), 'utf8').trim()
    const { seal } = makeSecretRoot([former])
    const app = { person_id: 'per_sam', confirmed_at: 1, last_step: 0 }
    const hook = { id: 'hook', site_id: 'sit_northlight', url: 'https://a.example', created_at: 1 }
    const sealed = (label: string) => ({ sealed_secret: seal('JBSWY3DP', label) })
    const sealedApp = { ...app, ...sealed('the secret of an authenticator app') }
    await insert(database.kysely, 'totp', sealedApp)
    const sealedHook = { ...hook, ...sealed('secret of the webhook endpoint hook') }
    await insert(database.kysely, 'webhook_endpoint', { ...sealedHook, payload: 'full' })
    expect(problems(await runGatehouse(['doctor'], { DATA_DIR }))).to.deep.equal([])
    const other = { DATA_DIR, SECRET, BASE_URL: 'https://id.example' }
    const reachable = await runGatehouse(['doctor'], other)
    expect([reachable.code, problems(reachable).length]).to.deep.equal([1, 3])
    expect(problems(reachable)[0]).to.include('was encrypted with another root secret')
    const unreadable = 'a root secret was removed (authenticator apps: 1, webhooks: 1);'
    expect(problems(reachable)[1]).to.include(unreadable)
    expect(problems(reachable)[2]).to.include('the service will not start')
    const both = { DATA_DIR, SECRET: `${SECRET} ${former}` }
    expect(await gatehouse(['keys', 'rotate', '--force'], both)).to.include('the new signing key')
    const moved = problems(await runGatehouse(['doctor'], { DATA_DIR, SECRET }))
    expect(moved.join()).to.not.include('root secret was removed')
  })

  it('finds a folder for files to which the user of the service cannot write', () => {
    const dataDir = temporaryFolder()
    for (const folder of [dataDir, join(dataDir, 'files')]) mkdirSync(folder, { recursive: true })
    const find = () =>
      checksOf([...checkPermissions({ secrets: ['s'], databaseUrl: 'd', dataDir })])
    expect(find()).to.deep.equal([])
    chmodSync(join(dataDir, 'files'), 0o500)
    chmodSync(dataDir, 0o777)
    // Permissions do not stop root, so run the check as another user.
    const isRoot = process.geteuid?.() === 0
    if (isRoot) process.seteuid?.(65_534)
    try {
      expect(find()).to.deep.equal(['files.unwritable'])
    } finally {
      if (isRoot) process.seteuid?.(0)
    }
  })

  it('finds a damaged database file', async () => {
    const DATA_DIR = temporaryFolder()
    writeFileSync(join(DATA_DIR, 'gatehouse.db'), 'not a database', { mode: 0o600 })
    expect(await gatehouse(['doctor'], { DATA_DIR }, 1)).to.include(
      'wrong  The database cannot be used: file is not a database; check that gatehouse.db is intact, and that you may write to it.',
    )
  })

  it('finds clients in the database, and exits with 3 for a weak client and 1 for a wrong one', async () => {
    const DATA_DIR = await dataFolderWithDemo()
    const variables = { DATA_DIR, PORT: String(await freePort()) }
    await (await startProcess(variables, patientService)).stop()
    await using database = await openEmbedded(DATA_DIR)
    const move = async (from: string, uri: string) => {
      const replace = (uris: string[]) => uris.map((each) => (each === from ? uri : each))
      await editList(database.kysely, 'northlight-notes', 'redirect_uris', replace)
      return await runDoctor(variables)
    }
    const weak = await move('http://127.0.0.1/callback', 'http://localhost/callback')
    expect([weak.code, weak.stderr]).to.deep.equal([3, 'Findings (weak): 1.\n'])
    expect(bad(weak)).to.deep.equal(['client.named-loopback'])
    const finding = weak.findings.find(({ severity }) => severity === 'weak')
    expect(finding?.section).to.equal('RFC 8252 §8.3')
    expect(finding?.sentence).to.include('northlight-notes')
    const wrong = await move('https://notes.example/callback', 'http://notes.example/callback')
    expect(wrong.code).to.equal(1)
    expect(bad(wrong)).to.deep.equal(['client.address-in-clear', 'client.named-loopback'])
  })

  it('finds each store that does not answer', async () => {
    const at = `127.0.0.1:${await freePort()}`
    const stores = { DATABASE_URL: `postgres://${at}/x`, REDIS_URL: `redis://${at}` }
    const ended = await runGatehouse(['doctor'], { SECRET, ...stores })
    expect([ended.code, ended.stderr]).to.deep.equal([1, 'Findings (wrong): 2.\n'])
    expect(problems(ended)).to.deep.equal([
      `wrong  The database cannot be used: PostgreSQL at ${at} cannot be reached; check that the database is running and that DATABASE_URL is correct.`,
      `wrong  Redis does not respond: Redis at ${at} is not ready; check that Redis is running and that its address is correct.`,
    ])
  })

  it('checks PostgreSQL and Redis, and finds a Redis that evicts', async function () {
    await using redis = await startRedis(requireProgram(this, 'redis-server'))
    const server = await sharedPostgres(requireProgram(this, 'postgres'))
    const stores = { DATABASE_URL: await server.createDatabase(), REDIS_URL: redis.url }
    const variables = { SECRET, DATA_DIR: temporaryFolder(), ...stores }
    const good = await runGatehouse(['doctor'], variables)
    expect([good.code, problems(good)]).to.deep.equal([0, []])
    expect(good.stdout).to.include('Redis responds.').and.include('There are no signing keys yet')
    await redis.ask('CONFIG', 'SET', 'maxmemory', '100mb')
    await redis.ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
    const evicting = await runGatehouse(['doctor'], variables)
    expect(evicting.code).to.equal(1)
    expect(problems(evicting)[0]).to.include('maxmemory-policy allkeys-lru')
  })

  it('finds a PostgreSQL server that can lose writes or does not accept them', async function () {
    const durable = ['fsync=on', 'full_page_writes=on', 'synchronous_commit=on']
    await using server = await startPostgres(askForProgram(this, 'postgres'), durable)
    const database = await server.createDatabase('tables')
    for (const [setting, expected] of [
      ['application_name=doctor', []],
      ['synchronous_commit=off', ['database.loses']],
      ['default_transaction_read_only=on', ['database.read-only']],
    ] as const) {
      const DATABASE_URL = `${database}?options=${encodeURIComponent(`-c ${setting}`)}`
      const variables = { DATA_DIR: temporaryFolder(), SECRET, DEMO_DATA: 'on', DATABASE_URL }
      const { findings, stderr } = await runDoctor(variables)
      const found = checksOf(findings).filter((name) => name.startsWith('database'))
      expect(found, stderr).to.deep.equal(expected)
    }
  })

  it('writes, reads and deletes in the bucket, and finds one where it cannot', async function () {
    await using s3 = await startS3(askForProgram(this, 'moto_server'))
    const variables = { DATA_DIR: temporaryFolder(), ...s3.environment }
    expect(await gatehouse(['doctor'], variables)).to.include('The bucket campus-files stores')
    expect(await s3.listKeys()).to.deep.equal([])
    const other = { ...variables, FILES_S3_BUCKET: 'no-bucket-of-ours' }
    expect(bad(await runDoctor(other))).to.deep.equal(['files.bucket'])
    await s3.kill()
    expect(bad(await runDoctor(variables))).to.deep.equal(['files.bucket'])
  })

  describe('from outside', () => {
    let PORT = ''
    const front = shared(async () => {
      PORT = String(await freePort())
      return await startFront(`http://127.0.0.1:${PORT}`)
    })
    const DATA_DIR = temporaryFolder()
    const variables = () => {
      const BASE_URL = `https://127.0.0.1:${front().port}`
      const NODE_EXTRA_CA_CERTS = front().certificateFile
      return { BASE_URL, SECRET, DATA_DIR, PORT, DEMO_DATA: 'off', NODE_EXTRA_CA_CERTS }
    }
    shared(async () => await startProcess(variables(), patientService))
    beforeEach(() => front().change({}))

    const look = async (more: Variables = {}) =>
      await runDoctor({ ...variables(), ...more }, '--outside')

    it('finds nothing wrong behind a correct proxy', async () => {
      const ended = await look()
      expect([ended.code, bad(ended)]).to.deep.equal([0, []])
    })

    for (const [what, change, check] of [
      ['redirects', { status: 301 }, 'outside.redirects'],
      ['does not forward', { status: 404 }, 'outside.status'],
      ['changes the issuer', { text: [/"issuer":"[^"]*"/, '"issuer":"x"'] }, 'outside.issuer'],
      ['changes an address', { text: [/(?<="token_endpoint":")[^"]*/, 'x'] }, 'outside.endpoints'],
      ['hides the keys', { text: [/"keys":\[.*\]/, '"keys":[]'] }, 'outside.key-set'],
      ['drops CORS', { drop: ['access-control-allow-origin'] }, 'outside.cors'],
      ['drops a security header', { drop: ['x-frame-options'] }, 'outside.headers-lost'],
      ['drops Authorization', { lose: ['authorization'] }, 'outside.authorization-lost'],
    ] satisfies [string, Change, CheckName][]) {
      // [threat 37]
      it(`finds ${check} behind a proxy that ${what}`, async () => {
        front().change(change)
        const ended = await look()
        expect(bad(ended)).to.deep.equal([check])
        expect(ended.code).to.equal(checks[check].severity === 'wrong' ? 1 : 3)
      })
    }

    it('finds an untrusted certificate, and a service that does not answer', async () => {
      expect(bad(await look({ NODE_EXTRA_CA_CERTS: '' }))).to.deep.equal(['outside.untrusted'])
      const BASE_URL = `https://127.0.0.1:${await freePort()}`
      expect(bad(await look({ BASE_URL }))).to.deep.equal(['outside.unreachable'])
      const unasked = await runDoctor({ ...variables(), BASE_URL })
      expect(unasked.code).to.equal(0)
      expect(checksOf(unasked.findings)).to.include('outside.silent')
    })
  })
})

/** What a faulty proxy does to requests and responses. */
interface Change {
  readonly status?: number
  readonly text?: readonly [from: RegExp, to: string]
  readonly drop?: readonly string[]
  readonly lose?: readonly string[]
}

/** Starts a proxy that terminates TLS, with faults on demand. */
async function startFront(inner: string) {
  const certificateFile = join(temporaryFolder(), 'certificate.pem')
  let change: Change = {}
  const { certificate, privateKey } = makeCertificate('127.0.0.1')
  writeFileSync(certificateFile, certificate)
  const server = createServer({ cert: certificate, key: privateKey }, (incoming, outgoing) => {
    const headers = { ...incoming.headers }
    for (const name of change.lose ?? []) delete headers[name]
    const { method = 'GET', url = '' } = incoming
    const asked = request(inner + url, { method, headers }, async (answer) => {
      const [from, to] = change.text ?? (['', ''] as const)
      const body = (await text(answer)).replace(from, to)
      const { 'transfer-encoding': _, ...given } = answer.headers
      for (const name of change.drop ?? []) delete given[name]
      outgoing.writeHead(change.status ?? answer.statusCode ?? 502, {
        ...given,
        ...(change.status === 301 && { location: 'https://elsewhere.example/' }),
        'content-length': Buffer.byteLength(body),
      })
      outgoing.end(body)
    })
    asked.on('error', () => outgoing.destroy())
    incoming.pipe(asked)
  })
  return {
    ...(await listen(server)),
    certificateFile,
    change: (next: Change) => {
      change = next
    },
  }
}
