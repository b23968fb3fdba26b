import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'

import { paths } from '../../src/platform/http/paths.ts'
import { policyWith } from '../support/gatehouse.ts'
import {
  configWith,
  dataFolderWithDemo,
  refusedStart,
  type ServiceProcess,
  startProcess,
  type Variables,
} from '../support/process.ts'
import { eventually, freePort, temporaryFolder } from '../support/programs.ts'
import { serve } from '../support/serve.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo, SECRET } from '../support/storages.ts'
import { keepConnection } from '../support/workers.ts'

const example = join(import.meta.dirname, '../../config/example.env')

const refusals: [Variables, string[]][] = [
  [
    {
      ...{ PORT: 'pa55', TRUST_PROXY: 'true', DEMO_DATA: 'yes', LOG_LEVEL: 'pa55' },
      ...{ DATABASE_URL: 'mysql://root:pa55@h/x', REDIS_URL: 'http://:pa55@h', SECRET: 'pa55' },
      ...{ BASE_URL: 'https://id.example/login', WORKERS: '0' },
    },
    [
      'PORT must be a whole number from 1 to 65535',
      'BASE_URL must be an http(s) URL with only a host and an optional port (did you mean https://id.example?)',
      'WORKERS must be "auto" or a whole number from 1 to 256',
      'DATABASE_URL must be a postgres:// URL',
      'REDIS_URL must be a redis:// or rediss:// URL',
      'SECRET or SECRET_FILE must contain one or more secrets of at least 32 characters each',
      'TRUST_PROXY must be one of yes, no',
      'DEMO_DATA must be one of auto, on, off',
      'LOG_LEVEL must be one of fatal, error, warn, info, debug, silent',
    ],
  ],
  [
    {
      ...{ PORT: '3000x', BASE_URL: 'http://id.example' },
      ...{ REDIS_URL: 'redis://h', REDIS_CLUSTER_NODES: 'a:1' },
      ...{ SECRET, SECRET_FILE: '/dev/null' },
    },
    [
      'PORT must be a whole number from 1 to 65535',
      'BASE_URL must be an https URL, because http://id.example is not a loopback address',
      'set REDIS_URL or REDIS_CLUSTER_NODES, not both',
      'set SECRET or SECRET_FILE, not both',
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
      'OTEL_EXPORTER_OTLP_ENDPOINT must be an http or https URL',
      'OTEL_EXPORTER_OTLP_PROTOCOL must be http/protobuf, which every collector accepts',
      'OTEL_TRACES_SAMPLER must be one of parentbased_always_on, parentbased_always_off, parentbased_traceidratio, always_on, always_off, traceidratio',
      'OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1',
      'TRUST_TRACEPARENT must be one of yes, no',
    ],
  ],
  [
    { BASE_URL: 'id.example', REDIS_CLUSTER_NODES: 'a,b', SECRET_FILE: '/nowhere/secret' },
    [
      'BASE_URL must be an http(s) URL with only a host and an optional port, for example https://example.com',
      'REDIS_CLUSTER_NODES must be host:port pairs separated by commas',
      'SECRET_FILE must be the path of a readable file',
    ],
  ],
  [
    { SECRET: `${SECRET} pa55`, CONFIG_DIR: '/nowhere' },
    [
      'SECRET or SECRET_FILE must contain one or more secrets of at least 32 characters each',
      '/nowhere/service.json cannot be read',
      '/nowhere/integrations.json cannot be read',
    ],
  ],
]

describe('starting', () => {
  for (const [variables, sentences] of refusals) {
    it(`is refused with a sentence for each problem: ${Object.keys(variables).join(', ')}: ${sentences[0]}`, async () => {
      const said = await refusedStart({ DATA_DIR: temporaryFolder(), ...variables })
      const [title, ...lines] = said.trimEnd().split('\n')
      expect([title, lines.length]).to.deep.equal(['Gatehouse cannot start:', sentences.length])
      for (const sentence of sentences) expect(said).to.include(`\n- ${sentence}`)
      expect(said, 'a secret').not.to.include('pa55')
    })
  }

  it('names the problems of variables and files together', async () => {
    const lifetimes = { idTokenSeconds: 601 as 600 }
    const CONFIG_DIR = configWith(policyWith({ lifetimes, storage: { answerWithinMs: 5_000 } }))
    writeFileSync(join(CONFIG_DIR, 'integrations.json'), '[')
    expect(await refusedStart({ CONFIG_DIR, PORT: 'x', LOG_LEVEL: 'loud' }))
      .to.include('PORT must be')
      .and.include('LOG_LEVEL must be')
      .and.include('service.json: lifetimes.idTokenSeconds')
      .and.include('service.json: storage.answerWithinMs')
      .and.include('integrations.json is not valid JSON')
  })

  // [threat 39]
  it('refuses to serve the demo campus at a reachable address without DEMO_DATA=on', async function () {
    // A busy machine may keep the storage from answering in time.
    this.retries(2)
    const { DEMO_DATA, ...variables } = await postgresWithDemo(requireProgram(this, 'postgres'))
    expect(await refusedStart({ ...variables, PORT: String(await freePort()) })).to.match(
      /^Gatehouse cannot start: the database in DATABASE_URL contains the demo campus, whose passwords are public \(BASE_URL [^ ]+, HOST 127\.0\.0\.1\)\. Use an empty database or, if this is intended, set DEMO_DATA=on\.\n$/,
    )
    await using _asked = await startProcess({ ...variables, DEMO_DATA })

    const DATA_DIR = await dataFolderWithDemo()
    await (await startProcess({ DATA_DIR })).stop()
    const reachable = await refusedStart({ DATA_DIR, SECRET, BASE_URL: 'https://id.example' })
    expect(reachable).to.include('the embedded database contains the demo campus')
    // HOST alone makes the service reachable, whatever BASE_URL is.
    for (const HOST of ['0.0.0.0', '::', '192.0.2.1']) {
      const heard = await refusedStart({ DATA_DIR, HOST, PORT: String(await freePort()) })
      expect(heard).to.include(`HOST ${HOST}). Use an empty database`)
    }
  })

  it('names the store it cannot reach, without the password', async () => {
    const port = await freePort()
    const address = `pa55word@127.0.0.1:${port}`
    const DATABASE_URL = `postgres://user:${address}/x`
    for (const [store, problem] of [
      [{ DATABASE_URL }, 'PostgreSQL at 127.0.0.1: cannot be reached'],
      [{ REDIS_URL: `redis://:${address}` }, 'Redis at 127.0.0.1: is not ready'],
    ] as const) {
      const PORT = String(await freePort())
      const said = await refusedStart({ SECRET, PORT, DATA_DIR: temporaryFolder(), ...store })
      expect(said.replace(String(port), '')).to.equal(`${problem}.\n`)
    }
  })

  for (const WORKERS of ['1', '2']) {
    it(`says that its port is taken, with WORKERS=${WORKERS}`, async () => {
      await using other = await serve(() => {})
      const PORT = String(other.port)
      expect(await refusedStart({ PORT, DATA_DIR: temporaryFolder(), WORKERS })).to.equal(
        `Port ${PORT} on 127.0.0.1 is in use by another program. Stop that program, or choose another port.\n`,
      )
    })
  }

  it('succeeds with every default of config/example.env', async () => {
    const lines = readFileSync(example, 'utf8').matchAll(/^# ([A-Z_]+)=(.*)$/gm)
    const { BASE_URL, DATA_DIR, PORT, ...variables } = Object.fromEntries(
      [...lines].map(([, name = '', value = '']) => [name, value]),
    )
    expect([BASE_URL, DATA_DIR, PORT]).to.deep.equal(['http://127.0.0.1:<PORT>', './data', '3000'])
    await using service = await startProcess(variables)
    expect((await fetch(service.url)).status).to.equal(200)
  })
})

/** Less than the ten seconds after which the service closes open connections. */
const AT_ONCE_MS = 3_000

const body = 'grant_type=refresh_token&client_id=northlight-notes&refresh_token=unknown'

async function beginRequest({ url }: ServiceProcess): Promise<Socket> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`POST ${paths.token} HTTP/1.1\r\nHost: ${host}\r\n`)
  socket.write('Content-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue\r\n')
  socket.write(`Content-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`)
  // The interim response shows that the service has begun to handle the request.
  await once(socket, 'data')
  return socket
}

async function expectRefused({ url }: ServiceProcess): Promise<void> {
  await eventually(AT_ONCE_MS, async () => {
    const asking = fetch(`${url}${paths.health}`, { headers: { connection: 'close' } })
    expect(await asking.catch(({ cause }) => cause)).to.have.property('code', 'ECONNREFUSED')
  })
}

describe('stopping', function () {
  // On a busy machine, one stop may be late. A service that waits for idle connections is late each time.
  this.retries(2)

  for (const command of [undefined, ['npm', 'start']]) {
    it(`finishes the running request and accepts no new one${command ? ', through npm start too' : ''}`, async () => {
      await using service = await startProcess({ LOG_LEVEL: 'info' }, command)
      const socket = await beginRequest(service)
      const ending = service.stop()
      await expectRefused(service)
      socket.write(body.slice(10))
      expect(await text(socket))
        .to.match(/^HTTP\/1\.1 400 Bad Request\r\n/)
        .and.include('"error":"invalid_grant"')
      const { code, signal, stdout, stderr } = await ending
      expect(stdout).to.include('"status":400')
      if (command) return
      expect({ code, signal }).to.deep.equal({ code: 0, signal: null })
      // Standard error contains only the welcome message.
      expect(stderr).to.match(/^Gatehouse serves [^\n]+\n(.+\n)*$/)
    })
  }

  it('still answers on connections that were opened before, unused or kept alive', async () => {
    await using service = await startProcess()
    const { hostname, port, host } = new URL(service.url)
    const ask = `GET ${paths.health} HTTP/1.1\r\nHost: ${host}\r\n\r\n`
    const [fresh, kept] = [connect(Number(port), hostname), connect(Number(port), hostname)]
    kept.write(ask)
    await Promise.all([once(fresh, 'connect'), once(kept, 'data')])
    const ended = service.stop()
    await expectRefused(service)
    for (const socket of [fresh, kept]) {
      socket.write(ask)
      expect(await text(socket)).to.match(/^HTTP\/1\.1 200 OK\r\n(.+\r\n)*Connection: close\r\n/i)
    }
    expect((await ended).code).to.equal(0)
  })

  it('does not wait for idle connections', async () => {
    await using service = await startProcess()
    const kept = keepConnection(service.url)
    await kept.get(paths.health)
    const startedAt = performance.now()
    expect((await service.stop()).code).to.equal(0)
    expect(performance.now() - startedAt).to.be.lessThan(AT_ONCE_MS)
    kept.close()
  })

  for (const signal of ['SIGINT', 'SIGHUP'] as const) {
    it(`exits with 0 on ${signal} too, with every line of its log written`, async () => {
      await using service = await startProcess({ LOG_LEVEL: 'info' })
      for (let i = 0; i < 50; i += 1) await (await fetch(service.url + paths.jwks)).text()
      const { code, stdout } = await service.stop(signal)
      expect(code).to.equal(0)
      const lines = stdout.trim().split('\n')
      expect(lines.filter((line) => JSON.parse(line).route === 'jwks')).to.have.length(50)
    })
  }
})
