import { once } from 'node:events'
import { globSync, readFileSync, writeFileSync } from 'node:fs'
import { type IncomingHttpHeaders, request } from 'node:http'
import { createServer, type ServerOptions } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import { expect } from 'chai'

import { makeCertificate } from '../../conformance/certificate.ts'
import { type CheckName, checks, type Finding, found } from '../../src/ops/doctor/checks.ts'
import { type ClientFacts, judgeClients } from '../../src/ops/doctor/client-checks.ts'
import { judgeRoom } from '../../src/ops/doctor/machine-checks.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { startPostgres } from '../support/postgres.ts'
import {
  dataFolderWithDemo,
  type Ended,
  patientService,
  runGatehouse,
  startProcess,
  type Variables,
} from '../support/process.ts'
import { freePort, temporaryFolder } from '../support/programs.ts'
import { standards } from '../support/reference-data.ts'
import { startS3 } from '../support/s3.ts'
import { askForProgram } from '../support/skipped.ts'

const SECRET = 'only-for-tests-only-for-tests-only-for-tests'
const root = join(import.meta.dirname, '../..')
const DAY_MS = 86_400_000
const now = 400 * DAY_MS

const minuteAgo = () => new Date(Date.now() - 60_000).toUTCString()

const checksOf = (findings: readonly Finding[]) => findings.flatMap(({ check }) => check ?? [])

describe('the checks of doctor', () => {
  const names = Object.keys(checks) as CheckName[]

  it('are each made somewhere, and tell what to do', () => {
    const code = globSync('src/ops/doctor/*.ts', { cwd: root })
      .filter((file) => !file.endsWith('/checks.ts'))
      .map((file) => readFileSync(join(root, file), 'utf8'))
      .join('\n')
    expect(names.filter((name) => !code.includes(`'${name}'`))).to.deep.equal([])
    expect(names.filter((name) => /\.$/.test(checks[name].cure))).to.deep.equal([])
  })

  it('name sections that the table of standards has, or whose standard is in no table', () => {
    const unknown = names.flatMap((name) => {
      const row = found(name, '')
      const [, standard = '', section = ''] = /^(.+) §(.+)$/.exec(row.section ?? '') ?? []
      const known = standards.find((candidate) => candidate.name === standard)
      if (!known || known.sections.some((candidate) => within(candidate.section, section)))
        return []
      return [`${name}: ${row.section}`]
    })
    expect(unknown).to.deep.equal([])
  })
})

/** A part of a section is found under its heading. */
function within(listed: string, cited: string): boolean {
  return listed === cited || listed.startsWith(`${cited}.`) || cited.startsWith(`${listed}.`)
}

const well: ClientFacts = {
  clientId: 'app_1',
  name: 'An application',
  kind: 'site',
  application_type: 'web',
  auth_method: 'client_secret_post',
  redirectUris: ['https://app.example/callback'],
  redirectPatterns: [],
  postLogoutUris: ['https://app.example/'],
  backchannel_logout_uri: 'https://app.example/signed-out',
  secretsMadeAt: [now - 10 * DAY_MS],
  jwks: null,
  jwks_uri: null,
  created_at: now - 300 * DAY_MS,
  lastUsedAt: now - DAY_MS,
  scopes: ['account:read'],
  grantedScopes: ['account:read'],
}

const weakKey = { kty: 'RSA', e: 'AQAB', n: Buffer.alloc(128, 255).toString('base64url') }

describe('doctor judges a client', () => {
  const judge = (client: Partial<ClientFacts>, privateKeyJwt = false) =>
    checksOf(judgeClients([{ ...well, ...client }], { now, privateKeyJwt }))

  it('and finds nothing of one that is as RFC 9700 and OAuth 2.1 want it', () => {
    expect(judge({})).to.deep.equal([])
    expect(judge({ auth_method: 'none', secretsMadeAt: [], application_type: 'native' })).to.be
      .empty
  })

  const cases: readonly (readonly [CheckName, string, Partial<ClientFacts>])[] = [
    ['client.address-in-clear', 'http in the web', { redirectUris: ['http://app.example/cb'] }],
    ['client.address-pattern', 'a wildcard', { redirectUris: ['https://*.app.example/cb'] }],
    ['client.address-pattern', 'an encoded one', { redirectUris: ['https://app.example/%2A'] }],
    ['client.address-fragment', 'a fragment', { redirectUris: ['https://app.example/#cb'] }],
    ['client.named-loopback', 'localhost', { redirectUris: ['http://localhost:1/cb'] }],
    ['client.scheme-undotted', 'a scheme of anybody', { redirectUris: ['myapp://callback'] }],
    [
      'client.loopback-beside-web',
      'a callback of its developer',
      { redirectUris: ['https://app.example/cb', 'http://127.0.0.1:3000/cb'] },
    ],
    ['client.free-segment', 'a pattern', { redirectPatterns: ['https://a.example/{segment}'] }],
    ['client.sign-out-in-clear', 'sign-out over http', { postLogoutUris: ['http://app.example/'] }],
    [
      'client.notices-in-clear',
      'notices over http',
      { backchannel_logout_uri: 'http://app.example/' },
    ],
    ['client.no-secret', 'no secret', { secretsMadeAt: [] }],
    ['client.secret-old', 'a secret of 366 days', { secretsMadeAt: [now - 366 * DAY_MS] }],
    ['client.secret-unused', 'a secret that it cannot use', { auth_method: 'none' }],
    [
      'client.secrets-two',
      'two secrets for 31 days',
      { secretsMadeAt: [now - 60 * DAY_MS, now - 31 * DAY_MS] },
    ],
    [
      'client.key-weak',
      'a key of 1024 bits',
      {
        ...{ auth_method: 'private_key_jwt', secretsMadeAt: [] },
        jwks: JSON.stringify({ keys: [weakKey] }),
      },
    ],
    [
      'client.keys-in-clear',
      'keys over http',
      { auth_method: 'private_key_jwt', secretsMadeAt: [], jwks_uri: 'http://app.example/keys' },
    ],
    ['client.never-used', 'no use ever', { lastUsedAt: undefined }],
    ['client.idle', 'no use for 91 days', { lastUsedAt: now - 91 * DAY_MS }],
    [
      'client.scopes-unused',
      'a scope nobody allowed',
      { scopes: ['account:read', 'account:write'] },
    ],
  ]
  for (const [check, what, client] of cases) {
    // [threat 38]
    it(`finds ${check}: ${what}`, () => {
      expect(judge(client)).to.deep.equal([check])
    })
  }

  it('finds client.secret-shared where keys may be used instead', () => {
    expect(judge({}, true)).to.deep.equal(['client.secret-shared'])
  })

  it('and leaves it at that on the last good day of each', () => {
    expect(
      judge({
        lastUsedAt: now - 90 * DAY_MS,
        secretsMadeAt: [now - 365 * DAY_MS, now - 30 * DAY_MS],
      }),
    ).to.deep.equal([])
    expect(judge({ created_at: now - 30 * DAY_MS, lastUsedAt: undefined })).to.deep.equal([])
  })
})

describe('doctor', () => {
  const findingsOf = ({ stdout }: Ended): Finding[] => JSON.parse(stdout).findings
  const bad = (ended: Ended) =>
    checksOf(findingsOf(ended).filter(({ severity }) => /weak|wrong/.test(severity)))

  it('reads clients where they are, and ends with 3 for what is weak and 1 for what is wrong', async () => {
    const DATA_DIR = await dataFolderWithDemo()
    const variables = { DATA_DIR, PORT: String(await freePort()) }
    await (await startProcess(variables, patientService)).stop()
    const file = join(DATA_DIR, 'gatehouse.db')
    await using database = await openDatabase({ kind: 'sqlite', file })
    const addresses = database.kysely.updateTable('oauth_application_redirect_uri')
    await addresses
      .set({ uri: 'http://localhost/callback' })
      .where('uri', '=', 'http://127.0.0.1/callback')
      .execute()
    const weak = await runGatehouse(['doctor', '--json'], variables)
    expect([weak.code, weak.stderr, bad(weak)]).to.deep.equal([
      ...[3, 'One thing is weak.\n', ['client.named-loopback']],
    ])
    const [finding] = findingsOf(weak).filter(({ severity }) => severity === 'weak')
    expect(finding?.section).to.equal('RFC 8252 §8.3')
    expect(finding?.sentence).to.include('northlight-notes')

    await addresses
      .set({ uri: 'http://notes.example/callback' })
      .where('uri', '=', 'https://notes.example/callback')
      .execute()
    const wrong = await runGatehouse(['doctor', '--json'], variables)
    expect([wrong.code, bad(wrong)]).to.deep.equal([
      ...[1, ['client.address-in-clear', 'client.named-loopback']],
    ])
  })

  it('says what PostgreSQL can lose, and that it takes no writes', async function () {
    const file = askForProgram(this, 'postgres')
    const common = { DATA_DIR: temporaryFolder(), SECRET, DEMO_DATA: 'on' }
    const durable = ['fsync=on', 'full_page_writes=on', 'synchronous_commit=on']
    await using server = await startPostgres(file, durable)
    const database = await server.createDatabase('tables')
    for (const [setting, expected] of [
      ['application_name=doctor', []],
      ['synchronous_commit=off', ['database.loses']],
      ['default_transaction_read_only=on', ['database.read-only']],
    ] as const) {
      const DATABASE_URL = `${database}?options=${encodeURIComponent(`-c ${setting}`)}`
      const looked = await runGatehouse(['doctor', '--json'], { ...common, DATABASE_URL })
      const found = checksOf(findingsOf(looked)).filter((name) => name.startsWith('database'))
      expect(found, looked.stderr).to.deep.equal(expected)
    }
  })

  it('says how much room the disk has', () => {
    const judged = [99, 101, 1023, 1025].map((mib) => judgeRoom('/data', mib * 1024 * 1024))
    expect(judged.map(({ severity }) => severity)).to.deep.equal(['wrong', 'weak', 'weak', 'ok'])
  })

  it('writes into the bucket, reads and removes; and says when it cannot', async function () {
    await using s3 = await startS3(askForProgram(this, 'moto_server'))
    const variables = { DATA_DIR: temporaryFolder(), ...s3.environment }
    const ended = await runGatehouse(['doctor'], variables)
    expect([ended.code, ended.stdout]).to.satisfy(
      ([code, said]: [number, string]) =>
        code === 0 && said.includes('The bucket campus-files stores'),
    )
    expect(await s3.listKeys()).to.deep.equal([])
    const other = { ...variables, FILES_S3_BUCKET: 'no-bucket-of-ours' }
    expect(bad(await runGatehouse(['doctor', '--json'], other))).to.deep.equal(['files.bucket'])
    await s3.kill()
    expect(bad(await runGatehouse(['doctor', '--json'], variables))).to.deep.equal(['files.bucket'])
  })

  describe('from outside', () => {
    const opened = new AsyncDisposableStack()
    let front: Front
    let variables: Variables
    before(async () => {
      const port = await freePort()
      const inner = String(await freePort())
      const BASE_URL = `https://127.0.0.1:${port}`
      const DATA_DIR = temporaryFolder()
      variables = { BASE_URL, SECRET, DATA_DIR, PORT: inner, DEMO_DATA: 'off' }
      opened.use(await startProcess(variables, patientService))
      front = opened.use(await startFront(port, `http://127.0.0.1:${inner}`))
      variables = { ...variables, NODE_EXTRA_CA_CERTS: front.certificateFile }
    })
    after(() => opened.disposeAsync())
    beforeEach(() => front.change({}))

    const look = async (more: Variables = {}) =>
      await runGatehouse(['doctor', '--outside', '--json'], { ...variables, ...more })

    it('finds nothing wrong behind a proxy that does as it should', async () => {
      const ended = await look()
      expect([ended.code, bad(ended)]).to.deep.equal([0, []])
      const said = findingsOf(ended).map(({ sentence }) => sentence)
      expect(
        said.some((sentence) => /The certificate expires in \d+ days/.test(sentence)),
      ).to.equal(true)
    })

    const faults: readonly (readonly [string, Change, CheckName])[] = [
      ['leads away', { status: 301 }, 'outside.redirects'],
      ['does not forward it', { status: 404 }, 'outside.status'],
      ['changes the issuer', { text: [/"issuer":"[^"]*"/, '"issuer":"x"'] }, 'outside.issuer'],
      [
        'changes an address',
        { text: [/"token_endpoint":"[^"]*"/, '"token_endpoint":"https://x.example/"'] },
        'outside.endpoints',
      ],
      ['hides the keys', { text: [/"keys":\[.*\]/, '"keys":[]'] }, 'outside.key-set'],
      ['loses CORS', { drop: ['access-control-allow-origin'] }, 'outside.cors'],
      ['loses Cache-Control', { drop: ['cache-control'] }, 'outside.uncacheable'],
      ['loses a header of security', { drop: ['x-frame-options'] }, 'outside.headers-lost'],
      ['loses Authorization', { lose: ['authorization'] }, 'outside.authorization-lost'],
      ['is a minute late', { set: { date: minuteAgo } }, 'outside.clock'],
      ['keeps no connection', { set: { connection: () => 'close' } }, 'outside.connections'],
    ]
    for (const [what, change, check] of faults) {
      // [threat 37]
      it(`finds ${check} behind a proxy that ${what}`, async () => {
        front.change(change)
        const ended = await look()
        expect(bad(ended)).to.deep.equal([check])
        expect(ended.code).to.equal(checks[check].severity === 'wrong' ? 1 : 3)
      })
    }

    it('finds a certificate that is not trusted, one that ends soon, and a service that does not answer', async () => {
      expect(bad(await look({ NODE_EXTRA_CA_CERTS: '' }))).to.deep.equal(['outside.untrusted'])
      front.certify(Date.now() - 20 * DAY_MS)
      const soon = { NODE_EXTRA_CA_CERTS: front.certificateFile }
      expect(bad(await look(soon))).to.deep.equal(['outside.certificate-ends'])
      const BASE_URL = `https://127.0.0.1:${await freePort()}`
      expect(bad(await look({ BASE_URL }))).to.deep.equal(['outside.unreachable'])
      const unasked = await runGatehouse(['doctor', '--json'], { ...variables, BASE_URL })
      expect([
        unasked.code,
        checksOf(findingsOf(unasked)).includes('outside.silent'),
      ]).to.deep.equal([0, true])
    })
  })
})

/** What a proxy does to requests and answers that it should not. */
interface Change {
  readonly status?: number
  readonly text?: readonly [from: RegExp, to: string]
  readonly drop?: readonly string[]
  readonly lose?: readonly string[]
  readonly set?: Readonly<Record<string, () => string>>
}

interface Front extends AsyncDisposable {
  readonly certificateFile: string
  change(change: Change): void
  /** Takes a certificate that was made at another time. */
  certify(nowMs: number): void
}

/** A proxy that ends TLS, and is as bad as it is told to be. */
async function startFront(port: number, inner: string): Promise<Front> {
  const certificateFile = join(temporaryFolder(), 'certificate.pem')
  let change: Change = {}
  const made = (nowMs?: number): ServerOptions => {
    const { certificate, privateKey } = makeCertificate('127.0.0.1', nowMs)
    writeFileSync(certificateFile, certificate)
    return { cert: certificate, key: privateKey }
  }
  const server = createServer(made(), (incoming, outgoing) => {
    const headers = { ...incoming.headers }
    for (const name of change.lose ?? []) delete headers[name]
    const { method = 'GET', url = '' } = incoming
    const asked = request(inner + url, { method, headers }, async (answer) => {
      const body = changedBody(await text(answer), change)
      outgoing.writeHead(change.status ?? answer.statusCode ?? 502, {
        ...changedHeaders(answer.headers, change),
        'content-length': Buffer.byteLength(body),
      })
      outgoing.end(body)
    })
    asked.on('error', () => outgoing.destroy())
    incoming.pipe(asked)
  }).listen(port, '127.0.0.1')
  await once(server, 'listening')
  expect((server.address() as AddressInfo).port).to.equal(port)
  return {
    certificateFile,
    change: (next) => {
      change = next
    },
    certify: (nowMs) => server.setSecureContext(made(nowMs)),
    async [Symbol.asyncDispose]() {
      server.close()
      server.closeAllConnections()
      await once(server, 'close')
    },
  }
}

function changedBody(body: string, { text: replacement }: Change): string {
  return replacement ? body.replace(replacement[0], replacement[1]) : body
}

function changedHeaders(headers: IncomingHttpHeaders, { drop = [], set = {}, status }: Change) {
  const { 'transfer-encoding': _, ...given } = headers
  for (const name of drop) delete given[name]
  for (const [name, value] of Object.entries(set)) given[name] = value()
  return status === 301 ? { ...given, location: 'https://elsewhere.example/' } : given
}
