import { expect } from 'chai'

import { paths } from '../../src/platform/http/paths.ts'
import { metricTable } from '../../src/platform/monitoring/metric-table.ts'
import { exchange, introspect, obtainTokens, refresh, revoke, userinfo } from '../support/client.ts'
import { notes, sam } from '../support/gatehouse.ts'
import { send as sendMessage } from '../support/mcp.ts'
import { askMember } from '../support/member-api.ts'
import { type Scrape, scrape, scrapeUntil } from '../support/metrics.ts'
import { configWith, runService, type ServiceProcess, startProcess } from '../support/process.ts'
import { eventually, freePort } from '../support/programs.ts'
import { send } from '../support/wire.ts'
import { keepConnection, startWorkers } from '../support/workers.ts'

const NAMES = Object.keys(metricTable)
const WAIT_MS = 30_000

/** A service with metrics, and where they are. */
async function startMeasured(variables: Record<string, string> = {}) {
  const port = await freePort()
  const service = await startProcess({ METRICS_PORT: String(port), ...variables })
  return { service, port }
}

describe('metrics: what is counted', function () {
  this.timeout(120_000)
  let service: ServiceProcess
  let port = 0
  before(async () => {
    // A second after which a refresh token that comes back is a theft.
    const CONFIG_DIR = configWith((policy) => ({
      ...policy,
      lifetimes: { ...policy.lifetimes, refreshRetrySeconds: 1 },
    }))
    ;({ service, port } = await startMeasured({ CONFIG_DIR }))
  })
  after(async () => await service[Symbol.asyncDispose]())

  /** How much each of these rose while the work was done, exactly. */
  async function risen(
    metric: string,
    rises: Readonly<Record<string, number>>,
    work: () => Promise<unknown>,
  ): Promise<void> {
    const { labels = {} } = metricTable[metric as keyof typeof metricTable]
    const label = Object.keys(labels).at(-1) ?? ''
    const sums = (scraped: Scrape) =>
      Object.fromEntries(
        Object.keys(rises).map((value) => [value, scraped.sum(metric, { [label]: value })]),
      )
    const before = sums(await scrape(port))
    await work()
    const expected = Object.fromEntries(
      Object.entries(rises).map(([value, rise]) => [value, (before[value] ?? 0) + rise]),
    )
    await scrapeUntil(port, (scraped) => expect(sums(scraped)).to.deep.equal(expected))
  }

  it('has every metric of the table and no other', async () => {
    const { text } = await scrape(port)
    const found = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type])
    const table = Object.entries(metricTable).map(([name, { type }]) => [name, type])
    expect(found).to.have.deep.members(table)
  })

  it('requests: each once, by its pattern and never by its address', async () => {
    const requests = { route: 'userinfo', method: 'GET' }
    const name = 'gatehouse_http_request_duration_seconds_count'
    const tokens = await obtainTokens(service.url)
    const before = await scrapeUntil(port, ({ sum }) => expect(sum(name)).to.be.above(0))
    for (let turn = 0; turn < 7; turn += 1) await userinfo(service.url, tokens.accessToken)
    await userinfo(service.url, 'nothing')
    const after = await scrapeUntil(port, ({ sum }) =>
      expect(sum(name, requests) - before.sum(name, requests)).to.equal(8),
    )
    const of = (status: string) =>
      after.sum(name, { ...requests, status }) - before.sum(name, { ...requests, status })
    expect([of('2xx'), of('4xx')]).to.deep.equal([7, 1])
    const buckets = 'gatehouse_http_request_duration_seconds_bucket'
    expect(after.sum(buckets, { ...requests, le: '+Inf' })).to.equal(after.sum(name, requests))
  })

  it('one statement of a store for each UserInfo', async () => {
    const tokens = await obtainTokens(service.url)
    const name = 'gatehouse_store_duration_seconds_count'
    const reading = { store: 'sqlite', operation: 'select' }
    const before = await scrape(port)
    for (let turn = 0; turn < 50; turn += 1) await userinfo(service.url, tokens.accessToken)
    const after = await scrape(port)
    // Background tasks read too.
    expect(after.sum(name, reading) - before.sum(name, reading)).to.be.within(50, 60)
  })

  it('sign-ins, by what came of them', async () => {
    await risen('gatehouse_sign_ins_total', { 'signed-in': 2, refused: 1 }, async () => {
      await obtainTokens(service.url)
      await obtainTokens(service.url)
      const guess = obtainTokens(service.url, {}, { ...sam, password: 'wrong' })
      expect(await guess.catch(() => 'refused')).to.equal('refused')
    })
  })

  it('exchanges of codes, and a code that comes back', async () => {
    const metric = 'gatehouse_code_exchanges_total'
    await risen(metric, { exchanged: 1, refused: 2, reused: 0 }, async () => {
      const { code } = await obtainTokens(service.url)
      // At once it is a page that ran its callback twice, and ends nothing.
      await exchange(service.url, code)
      await exchange(service.url, 'no-code')
    })
  })

  it('refreshes, their retries, and a refresh token that comes back', async () => {
    const metric = 'gatehouse_refreshes_total'
    const { refreshToken } = await obtainTokens(service.url)
    await risen(metric, { refreshed: 1, repeated: 1, refused: 1 }, async () => {
      await refresh(service.url, refreshToken)
      expect((await refresh(service.url, refreshToken)).status).to.equal(200)
      await refresh(service.url, 'no.token')
    })
    await risen(metric, { reused: 1 }, async () => {
      await eventually(WAIT_MS, async () =>
        expect((await refresh(service.url, refreshToken)).status).to.equal(400),
      )
    })
  })

  it('introspections, by what was told', async () => {
    const { accessToken } = await obtainTokens(service.url)
    const rises = { active: 1, inactive: 2, refused: 1 }
    await risen('gatehouse_introspections_total', rises, async () => {
      await introspect(service.url, accessToken)
      await introspect(service.url, 'nothing')
      await revoke(service.url, accessToken)
      await introspect(service.url, accessToken)
      await introspect(service.url, accessToken, { client_secret: 'wrong' })
    })
  })

  it('calls of tools and operations of GraphQL, by what came of them', async () => {
    const { url } = service
    const token = (await obtainTokens(url)).accessToken
    const call = async (name: string, values: object, bearer?: string) =>
      await sendMessage(url, 'tools/call', { params: { name, arguments: values }, token: bearer })
    const rises = { answered: 2, problem: 1, refused: 1, failed: 0 }
    await risen('gatehouse_tool_calls_total', rises, async () => {
      await call('list_sites', {})
      await call('get_viewer', {}, token)
      await call('list_public_courses', { site: 'no-such-site' })
      await call('get_viewer', {})
    })
    const operations = { answered: 1, errors: 1, refused: 1, failed: 0 }
    await risen('gatehouse_graphql_operations_total', operations, async () => {
      await askMember({ url, token }, { query: '{ viewer { id } }' })
      await askMember({ url, token }, { query: '{ nothing }' })
      await askMember({ url }, { query: '{ viewer { id } }' })
    })
  })

  it('refusals, by code and reason', async () => {
    const refused = async () => {
      const { sum } = await scrape(port)
      return sum('gatehouse_refusals_total', { error: 'invalid_token', reason: 'token_unknown' })
    }
    const before = await refused()
    const { accessToken } = await obtainTokens(service.url)
    await userinfo(service.url, `${accessToken.slice(0, -4)}AAAA`)
    await eventually(WAIT_MS, async () => expect(await refused()).to.equal(before + 1))
  })

  it('the process, its tasks and its keys', async () => {
    const nowSeconds = Date.now() / 1000
    await scrapeUntil(port, ({ sum }) => {
      expect(sum('gatehouse_build_info')).to.equal(1)
      expect(sum('gatehouse_processes')).to.equal(1)
      expect(sum('gatehouse_process_cpu_seconds_total')).to.be.above(0.1)
      expect(sum('gatehouse_process_resident_memory_bytes')).to.be.above(30_000_000)
      expect(sum('gatehouse_event_loop_delay_seconds_count')).to.be.above(5)
      const task = { task: 'keys' }
      const succeededAt = sum('gatehouse_task_last_success_timestamp_seconds', task)
      expect(succeededAt).to.be.closeTo(nowSeconds, 120)
      const madeAt = sum('gatehouse_signing_key_made_timestamp_seconds', { use: 'tokens' })
      expect(madeAt).to.be.closeTo(nowSeconds, 120)
    })
  })

  it('names nobody, and holds no token, code, secret or address', async () => {
    const { accessToken, refreshToken, code } = await obtainTokens(service.url)
    await userinfo(service.url, accessToken)
    await send(service.url, { path: `/nothing/${accessToken}?code=${code}` })
    const { text } = await scrape(port)
    for (const held of [
      ...[accessToken, refreshToken, code, notes.clientId, notes.redirectUri, sam.login],
      ...['per_', 'sit_', '127.0.0.1', 'localhost', 'correct-horse', '@', 'http:'],
    ]) {
      expect(text).to.not.include(held)
    }
  })

  it('has no more series whatever a caller chooses', async () => {
    const knock = async (i: number) => {
      await send(service.url, { path: `/nobody/${i}/${'x'.repeat(i)}` })
      await send(service.url, { path: `${paths.authorization}?client_id=c${i}&scope=s${i}` })
      await send(service.url, { method: i % 2 ? 'PROPFIND' : 'LOCK', path: paths.token })
      await send(service.url, { path: paths.userinfo, headers: { authorization: `Bearer t${i}` } })
      await sendMessage(service.url, 'tools/call', { params: { name: `tool-${i}` } })
      await sendMessage(service.url, `method-${i}`)
      await refresh(service.url, `token-${i}`, { client_id: `client-${i}` })
      await exchange(service.url, `code-${i}`, { grant_type: `grant-${i}` })
    }
    for (const i of [1, 2, 3, 4]) await knock(i)
    const seriesOf = ({ samples }: Scrape) =>
      samples.map(({ name, labels }) => `${name}${JSON.stringify(labels)}`)
    const total = 'gatehouse_http_request_duration_seconds_count'
    const knocked = await scrapeUntil(port, ({ sum }) => expect(sum(total)).to.be.above(32))
    for (let i = 5; i < 40; i += 1) await knock(i)
    const after = await scrapeUntil(port, ({ sum }) =>
      expect(sum(total) - knocked.sum(total)).to.be.at.least(8 * 35),
    )
    // What background tasks ask of the store has nothing to do with callers.
    const ofCallers = (name: string) => !/^gatehouse_(store|task)_/.test(name)
    const added = seriesOf(after).filter((one) => !seriesOf(knocked).includes(one))
    expect(added.filter(ofCallers)).to.deep.equal([])
    for (const { labels } of after.samples) {
      expect(Object.values(labels).join(' ')).to.not.match(/tool-|method-|client-|grant-|nobody/)
    }
  })

  it('answers GET /metrics and nothing else, at its own port and not at the service’s', async () => {
    const at = `http://127.0.0.1:${port}`
    const statuses = await Promise.all([
      send(at, { path: '/metrics' }),
      send(at, { path: '/' }),
      send(at, { path: paths.userinfo }),
      send(at, { method: 'POST', path: '/metrics' }),
      send(service.url, { path: '/metrics' }),
    ])
    expect(statuses.map(({ status }) => status)).to.deep.equal([200, 404, 404, 405, 404])
    expect(statuses[0]?.headers.get('content-type')).to.include('text/plain; version=0.0.4')
  })
})

describe('metrics: a loopback port', () => {
  it('is read by the names of this machine, and by no page that rebinds its own (CVE-2025-66414)', async () => {
    const { service, port } = await startMeasured()
    await using _service = service
    const statusFor = async (host: string) =>
      (await send(`http://127.0.0.1:${port}`, { path: '/metrics', headers: ['Host', host] })).status
    const own = ['127.0.0.1', `localhost:${port}`, `[::1]:${port}`, '127.0.0.2']
    const foreign = ['evil.example', `evil.example:${port}`, '127.0.0.1.evil.example', 'a@b', '']
    expect(await Promise.all(own.map(statusFor))).to.deep.equal([200, 200, 200, 200])
    expect(await Promise.all(foreign.map(statusFor))).to.deep.equal([403, 403, 403, 403, 403])
  })
})

describe('metrics: names', () => {
  it('follow the conventions of Prometheus: prefix, unit, and _total for what counts', () => {
    for (const [name, { type, help, labels = {} }] of Object.entries(metricTable)) {
      expect(name).to.match(/^gatehouse_[a-z_]+$/)
      expect(name.endsWith('_total'), name).to.equal(type === 'counter')
      if (type === 'histogram') expect(name).to.match(/_seconds$/)
      expect(help).to.match(/\.$/)
      for (const label of Object.keys(labels)) expect(label).to.match(/^[a-z]+$/)
    }
    expect(NAMES).to.have.lengthOf(new Set(NAMES).size)
  })
})

describe('metrics: off', function () {
  this.timeout(60_000)

  /** Says which of the packages that measure are loaded. */
  const spy = `data:text/javascript,${encodeURIComponent(
    `import { registerHooks } from 'node:module'
     registerHooks({ load(url, context, next) {
       if (/prom-client|opentelemetry|monitoring.(registry|traces)/.test(url)) console.error('loaded', url)
       return next(url, context)
     } })`,
  )}`
  const spied = [process.execPath, '--import', spy, 'src/main.ts']

  it('no port, and nothing of it is loaded', async () => {
    await using service = await startProcess({}, spied)
    const { stderr } = await service.stop()
    expect(stderr).to.not.include('loaded')
  })

  it('on: it is (so that the test before can fail)', async () => {
    await using service = await startProcess({ METRICS_PORT: String(await freePort()) }, spied)
    const { stderr } = await service.stop()
    expect(stderr).to.match(/loaded .*prom-client/)
    expect(stderr).to.not.include('opentelemetry/sdk')
  })

  it('a port that is taken is said in a sentence, also with workers', async () => {
    const { service, port } = await startMeasured()
    await using _service = service
    for (const WORKERS of ['1', '2']) {
      const variables = { METRICS_PORT: String(port), PORT: String(await freePort()), WORKERS }
      const { code, stderr } = await runService(variables)
      expect(code).to.equal(1)
      expect(stderr).to.include(`Port ${port} of 127.0.0.1, for metrics, is taken`)
    }
  })
})

describe('metrics of several workers', function () {
  this.timeout(120_000)

  it('one scrape has the sum of the host, which never falls when a worker goes', async () => {
    const port = await freePort()
    await using service = await startWorkers(2, { METRICS_PORT: String(port) })
    const { accessToken } = await obtainTokens(service.url)
    const name = 'gatehouse_http_request_duration_seconds_count'
    const userinfos = { route: 'userinfo' }
    const ask = async (connections: number) => {
      for (let i = 0; i < connections; i += 1) {
        const kept = keepConnection(service.url, { authorization: `Bearer ${accessToken}` })
        for (let turn = 0; turn < 5; turn += 1) await kept.get(paths.userinfo)
        kept.close()
      }
    }
    await ask(6)
    const counted = (requests: number) => (scraped: Scrape) =>
      expect(scraped.sum(name, userinfos)).to.equal(requests)
    await scrapeUntil(port, counted(30))
    expect((await scrape(port)).sum('gatehouse_processes')).to.equal(2)

    const [first = 0] = service.served()
    process.kill(first, 'SIGKILL')
    await service.says('a worker serves', 3)
    await scrapeUntil(port, (scraped) => {
      counted(30)(scraped)
      expect(scraped.sum('gatehouse_processes')).to.equal(2)
    })

    await ask(4)
    service.signal('SIGHUP')
    await service.says('reloaded')
    await ask(2)
    await scrapeUntil(port, (scraped) => {
      counted(60)(scraped)
      expect(scraped.sum('gatehouse_processes')).to.equal(2)
    })
    const { code } = await service.stop()
    expect(code).to.equal(0)
  })
})
