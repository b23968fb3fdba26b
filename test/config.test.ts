import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect } from 'chai'
import fc from 'fast-check'

import { readConfig } from '../src/config/config.ts'
import { environmentVariables, readEnvironment } from '../src/config/environment.ts'
import { isLoopbackUrl } from '../src/platform/http/loopback.ts'
import { configFolder } from './support/gatehouse.ts'

type Variables = Record<string, string>

const SECRET = 'this-root-secret-is-only-for-the-tests-of-it'

function problemsOf(variables: Variables): string[] {
  const problems: string[] = []
  const environment = readEnvironment(variables, problems)
  expect(environment === undefined, 'a value exactly when nothing is wrong').to.equal(
    problems.length > 0,
  )
  return problems
}

function read(variables: Variables) {
  const problems: string[] = []
  const environment = readEnvironment(variables, problems)
  if (!environment) throw new Error(problems.join('; '))
  return environment
}

describe('environment: works without a single variable (design, Errors and configuration)', () => {
  it('on a loopback address, with everything embedded', () => {
    expect(read({})).to.deep.equal({
      baseUrl: 'http://127.0.0.1:3000',
      host: '127.0.0.1',
      port: 3000,
      workers: 1,
      dataDir: './data',
      databaseUrl: undefined,
      redis: undefined,
      secrets: undefined,
      filesS3: undefined,
      trustProxy: false,
      demoData: 'auto',
      conformanceProfile: 'off',
      auditStream: undefined,
      logLevel: 'info',
      metricsAddress: undefined,
      traces: undefined,
      migrateAtStart: true,
    })
  })

  it('with as many processes as are asked for, or one for each processor', () => {
    expect(read({ WORKERS: '3' }).workers).to.equal(3)
    expect(read({ WORKERS: 'auto' }).workers).to.equal(availableParallelism())
    for (const WORKERS of ['0', '-1', '1.5', '257', 'all']) {
      expect(() => read({ WORKERS })).to.throw('WORKERS must be auto or a number from 1 to 256')
    }
  })

  it('with metrics and traces where a variable says so, and only there', () => {
    expect(read({ METRICS_PORT: '9464' }).metricsAddress).to.deep.equal({
      ...{ host: '127.0.0.1', port: 9464 },
    })
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

  it('an empty variable is as good as none', () => {
    const empty = Object.fromEntries(
      Object.keys(environmentVariables.shape).map((name) => [name, ' ']),
    )
    expect(read(empty)).to.deep.equal(read({}))
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
    'id.example',
    '//id.example',
    'ftp://id.example',
    'javascript:alert(1)',
    'https://ID.example',
    'HTTPS://id.example',
    'https://id.example:443',
    'https://id.example/login',
    'https://id.example//',
    'https://id.example?x',
    'https://id.example#x',
    'https://user:pw@id.example',
    'https://id example',
    'https://bücher.example',
    'http://id.example',
    'http://0.0.0.0:3000',
    'http://127.0.0.2:3000',
    'http://localhost.evil.example',
  ]) {
    it(`${given} is refused`, () => {
      expect(problemsOf({ BASE_URL: given, SECRET }).join()).to.match(/^BASE_URL must be /)
    })
  }

  it('says which addresses only the machine itself reaches', () => {
    for (const url of ['http://127.0.0.1:1', 'http://localhost', 'https://[::1]']) {
      expect(isLoopbackUrl(url), url).to.equal(true)
    }
    for (const url of ['https://id.example', 'http://127.0.0.1.evil.example', 'http://10.0.0.1']) {
      expect(isLoopbackUrl(url), url).to.equal(false)
    }
  })
})

describe('environment: every problem at once, and no secret in any (design, Errors and configuration)', () => {
  const wrong: readonly (readonly [variables: Variables, says: RegExp])[] = [
    [{ PORT: '0' }, /^PORT/],
    [{ BASE_URL: 'nonsense' }, /^BASE_URL/],
    [{ DATABASE_URL: 'mysql://root:hunter2-hunter2@h/x' }, /^DATABASE_URL/],
    [{ REDIS_CLUSTER_NODES: 'hunter2-hunter2' }, /^REDIS_CLUSTER_NODES/],
    [{ SECRET: 'hunter2-hunter2' }, /^each secret/],
    [{ TRUST_PROXY: 'true' }, /^TRUST_PROXY/],
    [{ DEMO_DATA: '1' }, /^DEMO_DATA/],
    [{ LOG_LEVEL: 'loud' }, /^LOG_LEVEL/],
    [{ CONFORMANCE_PROFILE: 'yes' }, /^CONFORMANCE_PROFILE/],
  ]

  it('whichever of them come together', () => {
    fc.assert(
      fc.property(fc.subarray([...wrong]), (chosen) => {
        const together = Object.assign({}, ...chosen.map(([variables]) => variables))
        const problems = problemsOf(together)
        for (const [, says] of chosen) {
          expect(problems.filter((problem) => says.test(problem))).to.have.lengthOf(1)
        }
        expect(problems).to.have.lengthOf(chosen.length)
        expect(problems.join()).to.not.include('hunter2')
      }),
    )
  })

  it('a secret that is missing is named with the rest', () => {
    const problems = problemsOf({ BASE_URL: 'https://id.example', PORT: 'x', LOG_LEVEL: 'loud' })
    expect(problems.join('\n')).to.match(/^PORT.*LOG_LEVEL.*SECRET or SECRET_FILE must be set/s)
  })

  it('no value that holds a password is repeated, wherever it was put by mistake', () => {
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

  it('whatever the variables hold, it throws nothing', () => {
    const name = fc.constantFrom(...Object.keys(environmentVariables.shape))
    const value = fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl(), fc.constantFrom('on', '80'))
    fc.assert(fc.property(fc.dictionary(name, value), (variables) => void problemsOf(variables)))
  })
})

describe('environment: secrets', () => {
  const other = `${SECRET}-the-second`

  it('several are in their order, separated by any white space', () => {
    expect(read({ SECRET: `${SECRET}  ${other}` }).secrets).to.deep.equal([SECRET, other])
  })

  it('a file holds one a line', () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'secret')
    writeFileSync(file, `${SECRET}\n${other}\n`)
    expect(read({ SECRET_FILE: file }).secrets).to.deep.equal([SECRET, other])
  })

  it('an empty file is a problem, not a reason to make a secret', () => {
    using folder = temporaryFolder()
    const file = join(folder.path, 'secret')
    writeFileSync(file, '\n')
    expect(problemsOf({ SECRET_FILE: file }).join()).to.match(/^each secret must have 32/)
  })

  for (const [why, variables] of [
    ['others can reach the service', { BASE_URL: 'https://id.example' }],
    ['it is https', { BASE_URL: 'https://localhost' }],
    ['processes share a database', { DATABASE_URL: 'postgres://h/x' }],
    ['processes share Redis', { REDIS_URL: 'redis://h' }],
    ['processes share a cluster', { REDIS_CLUSTER_NODES: 'h:1,i:2' }],
  ] as const) {
    it(`one is needed when ${why}`, () => {
      expect(problemsOf(variables).join()).to.match(/^SECRET or SECRET_FILE must be set/)
      expect(problemsOf({ ...variables, SECRET })).to.deep.equal([])
    })
  }
})

describe('config: the files (design, Errors and configuration)', () => {
  it('those of the repository are good, and cannot be changed while it runs', () => {
    const config = readConfig({}, configFolder)
    expect(config.service.lifetimes.idTokenSeconds).to.equal(600)
    expect(Object.isFrozen(config)).to.equal(true)
  })

  for (const [why, file, change, says] of [
    ['an unknown setting', 'service.json', { nonsense: 1 }, 'service.json: : '],
    ['a setting of another type', 'service.json', { name: 7 }, 'service.json: name'],
    ['an id_token of another life', 'service.json', lifetimes({ idTokenSeconds: 601 }), 'idToken'],
    ['a life of no length', 'service.json', lifetimes({ accessTokenSeconds: 0 }), 'accessToken'],
    ['a life without end', 'service.json', lifetimes({ accessTokenSeconds: 1e9 }), 'accessToken'],
    ['half a second', 'service.json', lifetimes({ accessTokenSeconds: 0.5 }), 'accessToken'],
    ['a loopback host of another kind', 'service.json', { loopbackHosts: ['0.0.0.0'] }, 'loopback'],
    ['no loopback host', 'service.json', { loopbackHosts: [] }, 'loopbackHosts'],
  ] as const) {
    it(`refuse ${why}, and name the file and the setting`, () => {
      using folder = temporaryFolder()
      for (const name of ['service.json', 'integrations.json']) {
        const value = JSON.parse(readFileSync(join(configFolder, name), 'utf8'))
        writeFileSync(
          join(folder.path, name),
          JSON.stringify(name === file ? merge(value, change) : value),
        )
      }
      expect(() => readConfig({}, folder.path)).to.throw(says)
    })
  }

  for (const [why, platform, says] of [
    ['twice the same name', { client_name: 'Claude' }, 'Claude is listed twice'],
    [
      'twice the same id',
      { client_id: 'integration-claude' },
      'integration-claude is listed twice',
    ],
    ['no address', { redirect_uris: [] }, 'redirect_uris'],
    ['an address that is a script', { redirect_uris: ['javascript:alert(1)'] }, 'redirect_uris'],
    ['a secret', { client_secret: 'x' }, 'client_secret'],
    ['another method', { token_endpoint_auth_method: 'private_key_jwt' }, 'token_endpoint'],
    ['an id with a space', { client_id: 'a b c' }, 'client_id'],
  ] as const) {
    it(`refuse a vendor platform with ${why}`, () => {
      using folder = temporaryFolder()
      for (const name of ['service.json', 'integrations.json']) {
        const value = JSON.parse(readFileSync(join(configFolder, name), 'utf8'))
        const added = {
          ...{ client_name: 'New', client_id: 'integration-new' },
          ...{ redirect_uris: ['https://new.example/callback'], ...platform },
        }
        const changed = name === 'integrations.json' ? [...value, added] : value
        writeFileSync(join(folder.path, name), JSON.stringify(changed))
      }
      expect(() => readConfig({}, folder.path)).to.throw(says)
    })
  }

  const coupons = {
    path: 'coupons',
    readScope: 'coupons:read',
    address: 'https://platform.internal/api/coupons',
    audience: 'https://platform.internal/api',
  }

  for (const [why, rows, says] of [
    ['a scope that nobody knows', [{ ...coupons, readScope: 'vouchers:read' }], '0.readScope'],
    ['a scope of members', [{ ...coupons, readScope: 'account:read' }], '0.readScope'],
    ['to read with a scope to write', [{ ...coupons, readScope: 'coupons:write' }], '0.readScope'],
    ['no scope', [{ ...coupons, readScope: undefined }], 'needs a readScope'],
    ['the same path twice', [coupons, coupons], 'coupons overlaps with coupons'],
    ['paths that overlap', [coupons, { ...coupons, path: 'coupons/old' }], 'overlaps'],
    ['a path with dots', [{ ...coupons, path: '../x' }], '0.path'],
    ['a slash at the end', [{ ...coupons, path: 'coupons/' }], '0.path'],
    ['http to another machine', [{ ...coupons, address: 'http://platform.internal' }], '0.address'],
    ['a query', [{ ...coupons, address: 'https://platform.internal/?a=b' }], '0.address'],
    ['a password', [{ ...coupons, address: 'https://a:b@platform.internal' }], '0.address'],
    ['an audience that is no URI', [{ ...coupons, audience: 'platform' }], '0.audience'],
    ['the issuer', [{ ...coupons, audience: 'http://127.0.0.1:3000' }], 'must not be the issuer'],
    ['the issuer with a slash', [{ ...coupons, audience: 'http://127.0.0.1:3000/' }], 'the issuer'],
    ['a client_id', [{ ...coupons, audience: 'https://app.example/client.json' }], 'client_id'],
  ] as const) {
    it(`refuse an upstream with ${why}`, () => {
      expect(() => readWith({ upstreams: rows })).to.throw(says)
    })
  }

  it('name every problem of every upstream at once', () => {
    const wrong = [
      { ...coupons, path: '/' },
      { ...coupons, address: 'x', audience: 'y' },
    ]
    expect(() => readWith({ upstreams: wrong })).to.throw(
      /0\.path[\s\S]*1\.address[\s\S]*1\.audience/,
    )
  })

  it('take an upstream whose audience nobody could have for a client_id', () => {
    for (const audience of [coupons.audience, 'urn:platform:api', 'https://platform.example']) {
      const [read] = readWith({ upstreams: [{ ...coupons, audience }] }).service.upstreams
      expect(read).to.deep.equal({
        ...coupons,
        audience,
        answerWithinSeconds: 15,
        bodyBytesMax: 1_048_576,
      })
    }
    const local = { ...coupons, address: 'http://127.0.0.1:8080/api' }
    expect(readWith({ upstreams: [local] }).service.upstreams).to.have.length(1)
  })

  /** The configuration with other settings in service.json. */
  function readWith(change: Record<string, unknown>) {
    using folder = temporaryFolder()
    for (const name of ['service.json', 'integrations.json']) {
      const value = JSON.parse(readFileSync(join(configFolder, name), 'utf8'))
      const changed = name === 'service.json' ? { ...value, ...change } : value
      writeFileSync(join(folder.path, name), JSON.stringify(changed))
    }
    return readConfig({ CONFIG_DIR: folder.path }, configFolder)
  }

  it('take the assistants of the repository where a folder has none of its own, and else those', () => {
    const [claude, ...others] = readWith({}).assistants
    expect([claude?.id, others.length]).to.deep.equal(['claude', 8])
    using folder = temporaryFolder()
    for (const name of ['service.json', 'integrations.json', 'assistants.json']) {
      const value = JSON.parse(readFileSync(join(configFolder, name), 'utf8'))
      const changed = name === 'assistants.json' ? value.slice(1, 2) : value
      writeFileSync(join(folder.path, name), JSON.stringify(changed))
    }
    const own = readConfig({ CONFIG_DIR: folder.path }, configFolder)
    expect(own.assistants.map(({ id }) => id)).to.deep.equal(['claude-code'])
    writeFileSync(join(folder.path, 'assistants.json'), JSON.stringify([{ id: 'x y' }]))
    expect(() => readConfig({ CONFIG_DIR: folder.path }, configFolder)).to.throw(
      /assistants\.json: 0\.id[\s\S]*assistants\.json: 0\.name/,
    )
  })

  function lifetimes(change: Record<string, number>) {
    return { lifetimes: change }
  }

  function merge(value: Record<string, object>, change: Record<string, unknown>) {
    const merged: Record<string, unknown> = { ...value }
    for (const [name, to] of Object.entries(change)) {
      const inner = typeof to === 'object' && !Array.isArray(to)
      merged[name] = inner ? { ...value[name], ...to } : to
    }
    return merged
  }
})

function temporaryFolder(): Disposable & { readonly path: string } {
  const path = mkdtempSync(join(tmpdir(), 'gatehouse-config-'))
  return { path, [Symbol.dispose]: () => rmSync(path, { recursive: true }) }
}
