import { readFileSync, writeFileSync } from 'node:fs'
import { availableParallelism } from 'node:os'
import { join } from 'node:path'

import fc from 'fast-check'

import { readConfig } from '../src/config/config.ts'
import { environmentVariables, readEnvironment } from '../src/config/environment.ts'
import { configFolder } from './support/gatehouse.ts'
import { temporaryFolder } from './support/programs.ts'

type Variables = Record<string, string>

const SECRET = 'this-root-secret-is-only-for-the-tests-of-it'

function problemsOf(variables: Variables): string[] {
  const problems: string[] = []
  const environment = readEnvironment(variables, problems)
  expect(environment === undefined, 'a value or problems').to.equal(problems.length > 0)
  return problems
}

function read(variables: Variables) {
  const problems: string[] = []
  const environment = readEnvironment(variables, problems)
  if (!environment) throw new Error(problems.join('; '))
  return environment
}

describe('environment: defaults (design, Errors and configuration)', () => {
  it('are a loopback address and embedded stores', () => {
    expect(read({})).to.deep.equal({
      ...{ baseUrl: 'http://127.0.0.1:3000', host: '127.0.0.1', port: 3000, workers: 1 },
      ...{ dataDir: './data', databaseUrl: undefined, redis: undefined, secrets: undefined },
      ...{ firebaseSignerKey: undefined, providerSecrets: {} },
      ...{ filesS3: undefined, trustProxy: false, demoData: 'auto', conformanceProfile: 'off' },
      ...{ auditStream: undefined, logLevel: 'info', metricsAddress: undefined },
      ...{ traces: undefined, migrateAtStart: true },
      ...{ smtpUrl: undefined, mailFrom: 'no-reply@localhost' },
    })
    const names = Object.keys(environmentVariables.shape)
    const empty = Object.fromEntries(names.map((name) => [name, ' ']))
    expect(read(empty), 'with empty variables').to.deep.equal(read({}))
  })

  it('are one process; WORKERS is a number of processes, or auto for one per processor', () => {
    expect(read({ WORKERS: '3' }).workers).to.equal(3)
    expect(read({ WORKERS: 'auto' }).workers).to.equal(availableParallelism())
    const problem = 'WORKERS must be "auto" or a whole number from 1 to 256'
    for (const WORKERS of ['0', '-1', '1.5', '257', 'all'])
      expect(() => read({ WORKERS })).to.throw(problem)
  })

  it('are no metrics and no traces', () => {
    const { metricsAddress } = read({ METRICS_PORT: '9464' })
    expect(metricsAddress).to.deep.equal({ host: '127.0.0.1', port: 9464 })
    const OTEL_EXPORTER_OTLP_ENDPOINT = 'https://collector.example/otlp/'
    const { traces } = read({ OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_SERVICE_NAME: 'campus' })
    expect(traces).to.deep.equal({
      ...{ address: 'https://collector.example/otlp/v1/traces', serviceName: 'campus' },
      ...{ sampler: 'parentbased_always_on', ratio: 1, sendWithinMs: 3_000, trustParent: false },
    })
    const OTEL_EXPORTER_OTLP_TRACES_ENDPOINT = 'https://traces.example/here'
    const both = { OTEL_EXPORTER_OTLP_ENDPOINT, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT }
    expect(read(both).traces?.address).to.equal('https://traces.example/here')
    expect(read({ ...both, OTEL_SDK_DISABLED: 'true' }).traces).to.equal(undefined)
    expect(read({ METRICS_HOST: '0.0.0.0' }).metricsAddress).to.equal(undefined)
  })
})

describe('environment: BASE_URL is the issuer, byte for byte (design 1)', () => {
  for (const [given, baseUrl] of [
    ['https://id.example', 'https://id.example'],
    ['https://id.example/', 'https://id.example'],
    ['https://id.example:8443', 'https://id.example:8443'],
    ['http://localhost:3000', 'http://localhost:3000'],
    ['http://[::1]:3000', 'http://[::1]:3000'],
  ] as const) {
    it(`${given} is ${baseUrl}`, () => {
      expect(read({ BASE_URL: given, SECRET }).baseUrl).to.equal(baseUrl)
    })
  }

  for (const given of [
    ...['id.example', '//id.example', 'ftp://id.example', 'javascript:alert(1)'],
    ...['https://ID.example', 'HTTPS://id.example', 'https://id.example:443'],
    ...['https://id.example/login', 'https://id.example//', 'https://id.example?x'],
    ...['https://id.example#x', 'https://user:pw@id.example', 'https://id example'],
    ...['https://b\u00fccher.example', 'http://id.example', 'http://0.0.0.0:3000'],
    ...['http://127.0.0.2:3000', 'http://localhost.evil.example'],
  ]) {
    it(`${given} is refused`, () => {
      expect(problemsOf({ BASE_URL: given, SECRET }).join()).to.match(/^BASE_URL must (be|have) /)
    })
  }
})

describe('environment: all problems at once, without secrets (design, Errors and configuration)', () => {
  const wrong: [variables: Variables, says: RegExp][] = [
    [{ PORT: '0' }, /^PORT/],
    [{ BASE_URL: 'nonsense' }, /^BASE_URL/],
    [{ DATABASE_URL: 'mysql://root:hunter2-hunter2@h/x' }, /^DATABASE_URL/],
    [{ REDIS_CLUSTER_NODES: 'hunter2-hunter2' }, /^REDIS_CLUSTER_NODES/],
    [{ SECRET: 'hunter2-hunter2' }, /^SECRET or SECRET_FILE must contain/],
    [{ TRUST_PROXY: 'true' }, /^TRUST_PROXY/],
    [{ DEMO_DATA: '1' }, /^DEMO_DATA/],
    [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL/],
    [{ CONFORMANCE_PROFILE: 'yes' }, /^CONFORMANCE_PROFILE/],
  ]

  it('names each problem of any combination', () => {
    fc.assert(
      fc.property(fc.subarray(wrong), (chosen) => {
        const problems = problemsOf(Object.assign({}, ...chosen.map(([variables]) => variables)))
        for (const [, says] of chosen)
          expect(problems.filter((problem) => says.test(problem))).to.have.lengthOf(1)
        expect(problems).to.have.lengthOf(chosen.length)
        expect(problems.join()).to.not.include('hunter2')
      }),
    )
  })

  it('names a missing secret along with the other problems', () => {
    const problems = problemsOf({ BASE_URL: 'https://id.example', PORT: 'x', LOG_LEVEL: 'loud' })
    expect(problems.join('\n')).to.match(/^PORT.*LOG_LEVEL.*SECRET or SECRET_FILE must be set/s)
  })

  it('does not repeat a password, wherever it was put by mistake', () => {
    const password = 'hunter2-hunter2-hunter2'
    for (const variables of [
      { SECRET: password },
      { SECRET: `${SECRET} ${password}` },
      { SECRET_FILE: password },
      { DATABASE_URL: password },
      { DATABASE_URL: `mysql://u:${password}@h` },
      { REDIS_URL: password },
      { REDIS_URL: `http://:${password}@h` },
      { REDIS_CLUSTER_NODES: `u:${password}@h:1` },
      { BASE_URL: `https://u:${password}@id.example`, SECRET },
      { BASE_URL: `https://u:${password}@id.example/path?x`, SECRET },
    ] satisfies Variables[]) {
      const problems = problemsOf(variables)
      expect(problems, JSON.stringify(variables)).to.have.length.greaterThan(0)
      expect(problems.join()).to.not.include(password)
    }
  })

  it('never throws, whatever the values are', () => {
    const name = fc.constantFrom(...Object.keys(environmentVariables.shape))
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl(), fc.constantFrom('on', '80'))
    fc.assert(fc.property(fc.dictionary(name, value), (variables) => void problemsOf(variables)))
  })
})

describe('environment: secrets', () => {
  const other = `${SECRET}-the-second`

  it('are several in order, separated by white space, or the lines of a file, which must not be empty', () => {
    expect(read({ SECRET: `${SECRET}  ${other}` }).secrets).to.deep.equal([SECRET, other])
    const file = join(temporaryFolder(), 'secret')
    writeFileSync(file, `${SECRET}\n${other}\n`)
    expect(read({ SECRET_FILE: file }).secrets).to.deep.equal([SECRET, other])
    writeFileSync(file, '\n')
    const empty = problemsOf({ SECRET_FILE: file }).join()
    expect(empty).to.match(/^SECRET or SECRET_FILE must contain one or more secrets of at least 32/)
  })

  const remote = 'BASE_URL is https://id.example, which is not a loopback'
  const shared =
    'processes that share a store (REDIS_URL or REDIS_CLUSTER_NODES) need the same secret'
  for (const [reason, variables] of [
    [remote, { BASE_URL: 'https://id.example/' }],
    ['BASE_URL is an https URL', { BASE_URL: 'https://localhost:3000' }],
    ['processes that share a store (DATABASE_URL) need', { DATABASE_URL: 'postgres://h/x' }],
    [shared, { REDIS_URL: 'redis://h' }],
    [shared, { REDIS_CLUSTER_NODES: 'h:1,i:2' }],
  ] as const) {
    it(`are required when ${reason} (${Object.keys(variables)})`, () => {
      const problem = problemsOf(variables).join()
      expect(problem).to.include(`SECRET or SECRET_FILE must be set, because ${reason}`)
      expect(problemsOf({ ...variables, SECRET })).to.deep.equal([])
    })
  }
})

function folderWith(changes: Readonly<Record<string, (value: never) => unknown>>): string {
  const folder = temporaryFolder()
  for (const name of new Set(['service.json', 'integrations.json', ...Object.keys(changes)])) {
    const value = JSON.parse(readFileSync(join(configFolder, name), 'utf8')) as never
    writeFileSync(join(folder, name), JSON.stringify(changes[name]?.(value) ?? value))
  }
  return folder
}

function readWith(settings: Record<string, unknown>) {
  const folder = folderWith({ 'service.json': (value: object) => ({ ...value, ...settings }) })
  return readConfig({ CONFIG_DIR: folder }, configFolder)
}

describe('config: the files (design, Errors and configuration)', () => {
  const { service } = readConfig({}, configFolder)

  it('of the repository are valid and read-only', () => {
    expect(service.lifetimes.idTokenSeconds).to.equal(600)
    expect(Object.isFrozen(readConfig({}, configFolder))).to.equal(true)
  })

  const living = (change: object) => ({ lifetimes: { ...service.lifetimes, ...change } })
  for (const [why, change, problem] of [
    ['an unknown setting', { nonsense: 1 }, 'service.json: Unrecognized key: "nonsense"'],
    ['a setting of another type', { name: 7 }, 'service.json: name'],
    ['another lifetime of id_tokens', living({ idTokenSeconds: 601 }), 'idToken'],
    ['a lifetime of zero', living({ accessTokenSeconds: 0 }), 'accessToken'],
    ['an endless lifetime', living({ accessTokenSeconds: 1e9 }), 'accessToken'],
    ['half a second', living({ accessTokenSeconds: 0.5 }), 'accessToken'],
    ['a loopback host of another kind', { loopbackHosts: ['0.0.0.0'] }, 'loopback'],
    ['an empty list of loopback hosts', { loopbackHosts: [] }, 'loopbackHosts'],
  ] as const) {
    it(`refuse ${why}, and name the file and the setting`, () => {
      expect(() => readWith(change)).to.throw(problem)
    })
  }

  const added = {
    ...{ client_name: 'New', client_id: 'integration-new' },
    redirect_uris: ['https://new.example/callback'],
  }
  for (const [why, platform, problem] of [
    ['a duplicate name', { client_name: 'Claude' }, 'Claude is listed twice'],
    ['a duplicate id', { client_id: 'integration-claude' }, 'integration-claude is listed twice'],
    ['no address', { redirect_uris: [] }, 'redirect_uris'],
    ['a script as address', { redirect_uris: ['javascript:alert(1)'] }, 'redirect_uris'],
    ['a secret', { client_secret: 'x' }, 'client_secret'],
    ['another method', { token_endpoint_auth_method: 'private_key_jwt' }, 'token_endpoint'],
    ['an id with a space', { client_id: 'a b c' }, 'client_id'],
  ] as const) {
    it(`refuse a vendor platform with ${why}`, () => {
      const list = (value: object[]) => [...value, { ...added, ...platform }]
      expect(() => readConfig({}, folderWith({ 'integrations.json': list }))).to.throw(problem)
    })
  }

  it('refuse an identity provider without a secret, if the variable of the secrets was read', () => {
    const acme = { id: 'acme', name: 'Acme', issuer: 'https://acme.example', clientId: 'x' }
    const signIn = { ...service.signIn, identityProviders: [acme] }
    const CONFIG_DIR = folderWith({ 'service.json': (value: object) => ({ ...value, signIn }) })
    const readThem = (variables: Variables) =>
      readConfig({ CONFIG_DIR, ...variables }, configFolder)
    const problem =
      'identityProviders.0: has no secret; add acme=<client secret> to IDENTITY_PROVIDER_SECRETS'
    expect(() => readThem({})).to.throw(problem)
    const given = { IDENTITY_PROVIDER_SECRETS: 'acme=its-secret' }
    expect(readThem(given).providerSecrets).to.deep.equal({ acme: 'its-secret' })
    expect(() => readThem({ ...given, PORT: '0' })).to.throw(/^[^-]*- PORT [^-]*$/)
  })

  const coupons = {
    ...{ path: 'coupons', readScope: 'coupons:read' },
    ...{ address: 'https://platform.internal/api/coupons' },
    audience: 'https://platform.internal/api',
  }
  const several = /0\.path[\s\S]*1\.address[\s\S]*1\.audience/
  for (const [why, change, problem] of [
    ['an unknown scope', { readScope: 'vouchers:read' }, '0.readScope'],
    ['a member scope', { readScope: 'account:read' }, '0.readScope'],
    ['a write scope for reading', { readScope: 'coupons:write' }, '0.readScope'],
    ['no scope', { readScope: undefined }, 'must have a readScope'],
    ['a path with dots', { path: '../x' }, '0.path'],
    ['a trailing slash', { path: 'coupons/' }, '0.path'],
    ['http to another machine', { address: 'http://platform.internal' }, '0.address'],
    ['a query', { address: 'https://platform.internal/?a=b' }, '0.address'],
    ['a password', { address: 'https://a:b@platform.internal' }, '0.address'],
    ['an audience that is not a URI', { audience: 'platform' }, '0.audience'],
    ['the issuer', { audience: 'http://127.0.0.1:3000' }, 'must differ from BASE_URL'],
    ['the issuer with a slash', { audience: 'http://127.0.0.1:3000/' }, 'BASE_URL'],
    ['a client_id', { audience: 'https://app.example/client.json' }, 'metadata document'],
    ['the path of another', [{}, {}], 'coupons overlaps with coupons'],
    ['a path below that of another', [{}, { path: 'coupons/old' }], 'overlaps'],
    ['several problems', [{ path: '/' }, { address: 'x', audience: 'y' }], several],
  ] as const) {
    it(`refuse an upstream with ${why}`, () => {
      const upstreams = [change].flat().map((each) => ({ ...coupons, ...each }))
      expect(() => readWith({ upstreams })).to.throw(problem)
    })
  }

  it('accept an upstream whose audience cannot be a client_id', () => {
    const limits = { answerWithinSeconds: 15, bodyBytesMax: 1_048_576 }
    for (const audience of [coupons.audience, 'urn:platform:api', 'https://platform.example']) {
      const { upstreams } = readWith({ upstreams: [{ ...coupons, audience }] }).service
      expect(upstreams).to.deep.equal([{ ...coupons, audience, ...limits }])
    }
    const local = { ...coupons, address: 'http://127.0.0.1:8080/api' }
    expect(readWith({ upstreams: [local] }).service.upstreams).to.have.length(1)
  })

  it('have the assistants of the repository, unless the folder has its own', () => {
    const [claude, ...others] = readWith({}).assistants
    expect([claude?.id, others.length]).to.deep.equal(['claude', 12])
    const readAssistants = (change: (value: object[]) => unknown) => {
      const folder = folderWith({ 'assistants.json': change })
      return readConfig({ CONFIG_DIR: folder }, configFolder).assistants
    }
    const own = readAssistants((value) => value.slice(1, 2))
    expect(own.map(({ id }) => id)).to.deep.equal(['claude-code'])
    const wrong = () => readAssistants(() => [{ id: 'x y' }])
    expect(wrong).to.throw(/assistants\.json: 0\.id[\s\S]*assistants\.json: 0\.name/)
  })
})
