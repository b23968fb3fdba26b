import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

import { expect } from 'chai'

import { environmentVariables, renderExampleEnv } from '../../src/config/environment.ts'
import {
  configWith,
  dataFolderWithDemo,
  runService,
  startProcess,
  type Variables,
} from '../support/process.ts'
import { freePort, temporaryFolder } from '../support/programs.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'

const SECRET = 'the-secret-of-these-tests-is-long-enough-to-be-one'
const example = join(import.meta.dirname, '../../config/example.env')

/** Variables, and the sentences with which the service refuses them, all at once. */
const refusals: readonly [Variables, readonly string[]][] = [
  [
    {
      ...{ PORT: '0', TRUST_PROXY: 'true', DEMO_DATA: 'yes', LOG_LEVEL: 'verbose' },
      ...{ DATABASE_URL: 'mysql://root:pa55@h/x', REDIS_URL: 'http://:pa55@h', SECRET: 'pa55' },
      ...{ BASE_URL: 'https://id.example/login', WORKERS: '0' },
    },
    [
      'PORT must be a number from 1 to 65535, not "0"',
      'BASE_URL must be scheme, host and port only, not "https://id.example/login" (did you mean https://id.example?)',
      'WORKERS must be auto or a number from 1 to 256',
      'DATABASE_URL must be a postgres:// URL',
      'REDIS_URL must be a redis:// or rediss:// URL',
      'each secret must have 32 characters or more',
      'TRUST_PROXY must be one of yes, no, not "true"',
      'DEMO_DATA must be one of auto, on, off, not "yes"',
      'LOG_LEVEL must be one of fatal, error, warn, info, debug, silent, not "verbose"',
    ],
  ],
  [
    {
      ...{ PORT: '3000x', BASE_URL: 'http://id.example' },
      ...{ REDIS_URL: 'redis://h', REDIS_CLUSTER_NODES: 'a:1' },
      ...{ SECRET, SECRET_FILE: '/dev/null' },
    },
    [
      'PORT must be a number from 1 to 65535, not "3000x"',
      'BASE_URL must be https, except on a loopback address: http://id.example',
      'set only one of REDIS_URL and REDIS_CLUSTER_NODES',
      'set only one of SECRET and SECRET_FILE',
    ],
  ],
  [
    {
      ...{ METRICS_PORT: '3000', OTEL_EXPORTER_OTLP_ENDPOINT: 'grpc://collector:4317' },
      ...{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_TRACES_SAMPLER: 'jaeger_remote' },
      ...{ OTEL_TRACES_SAMPLER_ARG: '2', TRUST_TRACEPARENT: 'true' },
    },
    [
      'METRICS_PORT must be different from PORT',
      'OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https address',
      'OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, which every collector accepts',
      'OTEL_TRACES_SAMPLER must be one of parentbased_always_on, parentbased_always_off, parentbased_traceidratio, always_on, always_off, traceidratio',
      'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1',
      'TRUST_TRACEPARENT must be one of yes, no',
    ],
  ],
  [
    { BASE_URL: 'id.example', REDIS_CLUSTER_NODES: 'a,b', SECRET_FILE: '/nowhere/secret' },
    [
      'BASE_URL must be scheme, host and port only, not "id.example"',
      'REDIS_CLUSTER_NODES must be host:port, separated by commas',
      'SECRET_FILE names a file that cannot be read',
    ],
  ],
  [
    { SECRET: `${SECRET} pa55`, CONFIG_DIR: '/nowhere' },
    [
      'each secret must have 32 characters or more',
      '/nowhere/service.json cannot be read',
      '/nowhere/integrations.json cannot be read',
    ],
  ],
  [
    { BASE_URL: 'https://id.example/' },
    [
      'SECRET or SECRET_FILE must be set, because BASE_URL is https://id.example, which is not a loopback address',
    ],
  ],
  [
    { BASE_URL: 'https://localhost:3000' },
    ['SECRET or SECRET_FILE must be set, because BASE_URL is https'],
  ],
  [
    { DATABASE_URL: 'postgres://127.0.0.1/x' },
    [
      'SECRET or SECRET_FILE must be set, because DATABASE_URL is set, and every process must have the same secret',
    ],
  ],
  [
    { REDIS_URL: 'redis://127.0.0.1' },
    [
      'SECRET or SECRET_FILE must be set, because Redis is set, and every process must have the same secret',
    ],
  ],
]

describe('starting', () => {
  describe('refuses a configuration in sentences, with exit code 1', () => {
    for (const [variables, sentences] of refusals) {
      it(`${Object.keys(variables).join(', ')}: ${sentences[0]}`, async () => {
        const DATA_DIR = temporaryFolder()
        const { code, stdout, stderr } = await runService({ DATA_DIR, ...variables })
        expect([code, stdout]).to.deep.equal([1, ''])
        const [title, ...lines] = stderr.trimEnd().split('\n')
        expect(title).to.equal('Gatehouse cannot start:')
        expect(lines.map((line) => line.slice(2))).to.have.length(sentences.length)
        for (const sentence of sentences) expect(stderr).to.include(`- ${sentence}`)
        expect(stderr, 'a secret').not.to.include('pa55')
      })
    }

    it('names the problems of the files in the same go', async () => {
      const CONFIG_DIR = configWith((policy) => ({
        ...policy,
        lifetimes: { ...policy.lifetimes, idTokenSeconds: 601 as 600 },
        storage: { ...policy.storage, answerWithinMs: 5_000 },
      }))
      writeFileSync(join(CONFIG_DIR, 'integrations.json'), '[')
      const { code, stderr } = await runService({ CONFIG_DIR, PORT: 'x', LOG_LEVEL: 'loud' })
      expect(code).to.equal(1)
      for (const part of [
        'PORT must be',
        'LOG_LEVEL must be',
        'service.json: lifetimes.idTokenSeconds',
        'service.json: storage.answerWithinMs',
        'integrations.json is not JSON',
      ]) {
        expect(stderr).to.include(part)
      }
    })
  })

  // [threat 39]
  it('refuses to serve the demo campus where others could reach it, unless asked', async function () {
    // A busy machine may keep the storage of a start from answering in time.
    this.retries(2)
    const { DEMO_DATA, ...variables } = await postgresWithDemo(requireProgram(this, 'postgres'))
    const refused = await runService({ ...variables, PORT: String(await freePort()) })
    expect(refused.code).to.equal(1)
    expect(refused.stderr).to.match(
      /^Gatehouse cannot start: the database of DATABASE_URL holds the demo campus, whose passwords are public, and BASE_URL is [^ ]+, HOST 127\.0\.0\.1\. Set DEMO_DATA=on if that is what you want, or use an empty database\.\n$/,
    )
    await using _asked = await startProcess({ ...variables, DEMO_DATA })

    const DATA_DIR = await dataFolderWithDemo()
    await (await startProcess({ DATA_DIR })).stop()
    const reachable = await runService({ DATA_DIR, SECRET, BASE_URL: 'https://id.example' })
    expect(reachable.code).to.equal(1)
    expect(reachable.stderr).to.include('the embedded database holds the demo campus')
    // Whatever the service calls itself, others reach it there.
    for (const HOST of ['0.0.0.0', '::', '192.0.2.1']) {
      const heard = await runService({ DATA_DIR, HOST, PORT: String(await freePort()) })
      expect(heard.code, HOST).to.equal(1)
      expect(heard.stderr).to.include(`HOST ${HOST}. Set DEMO_DATA=on`)
    }
  })

  it('says which store it cannot reach, without the password in its address', async () => {
    const port = await freePort()
    const variables = { SECRET, PORT: String(await freePort()) }
    const DATABASE_URL = `postgres://user:pa55word@127.0.0.1:${port}/x`
    const REDIS_URL = `redis://:pa55word@127.0.0.1:${port}`
    const [database, redis] = await Promise.all([
      runService({ ...variables, DATABASE_URL }),
      runService({ ...variables, DATA_DIR: temporaryFolder(), REDIS_URL }),
    ])
    expect([database.code, database.stderr]).to.deep.equal([
      1,
      `PostgreSQL at 127.0.0.1:${port} cannot be reached.\n`,
    ])
    expect([redis.code, redis.stderr]).to.deep.equal([
      1,
      `Redis at 127.0.0.1:${port} is not ready.\n`,
    ])
  })

  it('says so when its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const ended = await runService({ PORT: String(port), DATA_DIR: temporaryFolder() })
    other.close()
    expect(ended.code).to.equal(1)
    expect(ended.stderr).to.equal(
      `Port ${port} of 127.0.0.1 is in use by another program. Stop that program, or choose another port.\n`,
    )
  })

  it('config/example.env lists every variable with its default', () => {
    expect(
      readFileSync(example, 'utf8'),
      'config/example.env is out of date; `npm run gatehouse -- example-env > config/example.env` writes it',
    ).to.equal(renderExampleEnv())
    for (const name of Object.keys(environmentVariables.shape)) {
      expect(renderExampleEnv()).to.include(`# ${name}=`)
    }
  })

  it('starts with every default of config/example.env', async () => {
    const lines = readFileSync(example, 'utf8').matchAll(/^# ([A-Z_]+)=(.*)$/gm)
    const defaults = Object.fromEntries(
      [...lines].map(([, name = '', value = '']) => [name, value]),
    )
    const { BASE_URL, DATA_DIR, PORT, ...variables } = defaults
    expect([BASE_URL, DATA_DIR, PORT]).to.deep.equal(['http://127.0.0.1:<PORT>', './data', '3000'])
    await using service = await startProcess(variables)
    expect((await fetch(service.url)).status).to.equal(200)
  })
})
