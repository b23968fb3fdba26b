import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { paths } from '../../src/platform/http/paths.ts'
import { metricTable } from '../../src/platform/monitoring/metric-table.ts'
import { exchange, introspect, obtainTokens, refresh, revoke, userinfo } from '../support/client.ts'
import { notes, policyWith, sam } from '../support/gatehouse.ts'
import { send as sendMessage } from '../support/mcp.ts'
import { askMember } from '../support/member-api.ts'
import { type Scrape, scrape, scrapeUntil } from '../support/metrics.ts'
import { configWith, refusedStart, startProcess } from '../support/process.ts'
import { eventually, freePort, temporaryFolder } from '../support/programs.ts'
import { shared } from '../support/shared.ts'
import { askForProgram } from '../support/skipped.ts'
import { send } from '../support/wire.ts'
import { keepConnection, startWorkers } from '../support/workers.ts'

const REQUESTS = 'gatehouse_http_request_duration_seconds_count'

describe('metrics', () => {
  let [url, port] = ['', 0]
  shared(async () => {
    // After one second, a repeated refresh token counts as stolen.
    const CONFIG_DIR = configWith(policyWith({ lifetimes: { refreshRetrySeconds: 1 } }))
    port = await freePort()
    const service = await startProcess({ METRICS_PORT: String(port), CONFIG_DIR })
    url = service.url
    return service
  })

  async function risen(
    metric: keyof typeof metricTable,
    rises: Readonly<Record<string, number>>,
    work: () => Promise<unknown>,
  ): Promise<void> {
    const label = Object.keys(metricTable[metric].labels ?? {}).at(-1) ?? ''
    const before = await scrape(port)
    await work()
    await scrapeUntil(port, (after) => {
      for (const [value, rise] of Object.entries(rises)) {
        const labels = { [label]: value }
        expect(after.sum(metric, labels) - before.sum(metric, labels), value).to.equal(rise)
      }
    })
  }

  it('are those of the table and no others', async () => {
    const { text } = await scrape(port)
    const found = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)].map(([, name, type]) => [name, type])
    const table = Object.entries(metricTable).map(([name, { type }]) => [name, type])
    expect(found).to.have.deep.members(table)
  })

  it('follow the conventions of Prometheus: prefix, unit, and _total for counters', () => {
    for (const [name, { type, help, labels = {} }] of Object.entries(metricTable)) {
      const isTimed = type === 'histogram'
      expect(name).to.match(isTimed ? /^gatehouse_[a-z_]+_seconds$/ : /^gatehouse_[a-z_]+$/)
      expect(name.endsWith('_total'), name).to.equal(type === 'counter')
      expect(help).to.match(/\.$/)
      for (const label of Object.keys(labels)) expect(label).to.match(/^[a-z]+$/)
    }
  })

  it('count each request once by its route, and one store statement for each UserInfo', async () => {
    const requests = { route: 'userinfo', method: 'GET' }
    const statements = 'gatehouse_store_duration_seconds_count'
    const { accessToken } = await obtainTokens(url)
    const before = await scrapeUntil(port, ({ sum }) => expect(sum(REQUESTS)).to.be.above(0))
    for (let turn = 0; turn < 50; turn += 1) await userinfo(url, accessToken)
    await userinfo(url, 'nothing')
    const after = await scrapeUntil(port, ({ sum }) =>
      expect(sum(REQUESTS, requests) - before.sum(REQUESTS, requests)).to.equal(51),
    )
    const rise = (...counted: Parameters<Scrape['sum']>) =>
      after.sum(...counted) - before.sum(...counted)
    const of = (status: string) => rise(REQUESTS, { ...requests, status })
    expect([of('2xx'), of('4xx')]).to.deep.equal([50, 1])
    const buckets = 'gatehouse_http_request_duration_seconds_bucket'
    expect(after.sum(buckets, { ...requests, le: '+Inf' })).to.equal(after.sum(REQUESTS, requests))
    expect(rise(statements, { store: 'sqlite', operation: 'select' })).to.be.within(50, 60)
  })

  it('count sign-ins by outcome', async () => {
    await risen('gatehouse_sign_ins_total', { 'signed-in': 2, refused: 1 }, async () => {
      await obtainTokens(url)
      await obtainTokens(url)
      const guess = obtainTokens(url, {}, { ...sam, password: 'wrong' })
      expect(await guess.catch(() => 'refused')).to.equal('refused')
    })
  })

  it('count code exchanges by outcome', async () => {
    const rises = { exchanged: 1, refused: 2, reused: 0 }
    await risen('gatehouse_code_exchanges_total', rises, async () => {
      // An immediate repetition does not count as reuse, because a page may have run its callback twice.
      await exchange(url, (await obtainTokens(url)).code)
      await exchange(url, 'no-code')
    })
  })

  it('count refreshes, their retries, and reused refresh tokens', async () => {
    const metric = 'gatehouse_refreshes_total'
    const { refreshToken } = await obtainTokens(url)
    await risen(metric, { refreshed: 1, repeated: 1, refused: 1 }, async () => {
      await refresh(url, refreshToken)
      expect((await refresh(url, refreshToken)).status).to.equal(200)
      await refresh(url, 'no.token')
    })
    await risen(metric, { reused: 1 }, () =>
      eventually(30_000, async () =>
        expect((await refresh(url, refreshToken)).status).to.equal(400),
      ),
    )
  })

  it('count introspections by outcome', async () => {
    const { accessToken } = await obtainTokens(url)
    const rises = { active: 1, inactive: 2, refused: 1 }
    await risen('gatehouse_introspections_total', rises, async () => {
      await introspect(url, accessToken)
      await introspect(url, 'nothing')
      await revoke(url, accessToken)
      await introspect(url, accessToken)
      await introspect(url, accessToken, { client_secret: 'wrong' })
    })
  })

  it('count tool calls and GraphQL operations by outcome', async () => {
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

  it('count refusals by code and reason', async () => {
    const { accessToken } = await obtainTokens(url)
    await risen('gatehouse_refusals_total', { token_unknown: 1 }, () =>
      userinfo(url, `${accessToken.slice(0, -4)}AAAA`),
    )
  })

  it('describe the process, its tasks and its keys', async () => {
    const nowSeconds = Date.now() / 1000
    await scrapeUntil(port, ({ sum }) => {
      expect([sum('gatehouse_build_info'), sum('gatehouse_processes')]).to.deep.equal([1, 1])
      expect(sum('gatehouse_process_cpu_seconds_total')).to.be.above(0.1)
      expect(sum('gatehouse_process_resident_memory_bytes')).to.be.above(30_000_000)
      expect(sum('gatehouse_event_loop_delay_seconds_count')).to.be.above(5)
      const succeededAt = sum('gatehouse_task_last_success_timestamp_seconds', { task: 'keys' })
      expect(succeededAt).to.be.closeTo(nowSeconds, 120)
      const madeAt = sum('gatehouse_signing_key_made_timestamp_seconds', { use: 'tokens' })
      expect(madeAt).to.be.closeTo(nowSeconds, 120)
    })
  })

  it('do not contain names, tokens, codes, secrets or addresses', async () => {
    const { accessToken, refreshToken, code } = await obtainTokens(url)
    await userinfo(url, accessToken)
    await send(url, { path: `/nothing/${accessToken}?code=${code}` })
    const { text } = await scrape(port)
    for (const held of [
      ...[accessToken, refreshToken, code, notes.clientId, notes.redirectUri, sam.login],
      ...['per_', 'sit_', '127.0.0.1', 'localhost', 'correct-horse', '@', 'http:'],
    ])
      expect(text).to.not.include(held)
  })

  it('do not gain series from values that callers choose', async () => {
    const knock = async (i: number) => {
      await send(url, { path: `/nobody/${i}/${'x'.repeat(i)}` })
      await send(url, { path: `${paths.authorization}?client_id=c${i}&scope=s${i}` })
      await send(url, { method: i % 2 ? 'PROPFIND' : 'LOCK', path: paths.token })
      await send(url, { path: paths.userinfo, headers: { authorization: `Bearer t${i}` } })
      await sendMessage(url, 'tools/call', { params: { name: `tool-${i}` } })
      await sendMessage(url, `method-${i}`)
      await refresh(url, `token-${i}`, { client_id: `client-${i}` })
      await exchange(url, `code-${i}`, { grant_type: `grant-${i}` })
    }
    // Exclude metrics of the store and of tasks, because background tasks change them independently of callers.
    const seriesOf = ({ samples }: Scrape) =>
      samples
        .filter(({ name }) => !/^gatehouse_(store|task)_/.test(name))
        .map(({ name, labels }) => `${name}${JSON.stringify(labels)}`)
    for (const i of [1, 2, 3, 4]) await knock(i)
    const before = await scrapeUntil(port, ({ sum }) => expect(sum(REQUESTS)).to.be.above(32))
    for (let i = 5; i < 40; i += 1) await knock(i)
    const after = await scrapeUntil(port, ({ sum }) =>
      expect(sum(REQUESTS) - before.sum(REQUESTS)).to.be.at.least(8 * 35),
    )
    expect(seriesOf(before)).to.include.members(seriesOf(after))
    for (const { labels } of after.samples)
      expect(Object.values(labels).join(' ')).to.not.match(/tool-|method-|client-|grant-|nobody/)
  })

  it('are served at GET /metrics of their own port only', async () => {
    const at = `http://127.0.0.1:${port}`
    const answers = await Promise.all([
      ...['/metrics', '/', paths.userinfo].map((path) => send(at, { path })),
      send(at, { method: 'POST', path: '/metrics' }),
      send(url, { path: '/metrics' }),
    ])
    expect(answers.map(({ status }) => status)).to.deep.equal([200, 404, 404, 405, 404])
    expect(answers[0]?.headers.get('content-type')).to.include('text/plain; version=0.0.4')
  })

  for (const [status, hosts] of [
    [200, ['127.0.0.1', 'localhost:1', '[::1]:1', '127.0.0.2']],
    [403, ['evil.example', 'evil.example:1', '127.0.0.1.evil.example', 'a@b', '']],
  ] as const) {
    it(`give ${status} on a loopback port to Host ${hosts.join(', ')} (CVE-2025-66414)`, async () => {
      for (const host of hosts) {
        const headers = ['Host', host.replace(/:1$/, `:${port}`)]
        const answer = await send(`http://127.0.0.1:${port}`, { path: '/metrics', headers })
        expect(answer.status, host).to.equal(status)
      }
    })
  }

  for (const WORKERS of ['1', '2']) {
    it(`name a port that is taken, with WORKERS=${WORKERS}`, async () => {
      const variables = { METRICS_PORT: String(port), PORT: String(await freePort()), WORKERS }
      expect(await refusedStart(variables)).to.include(
        `Port ${port} on 127.0.0.1, for metrics, is in use`,
      )
    })
  }

  const spy = `data:text/javascript,${encodeURIComponent(
    `import { registerHooks } from 'node:module'
     registerHooks({ load(url, context, next) {
       if (/prom-client|opentelemetry|monitoring.(registry|traces)/.test(url)) console.error('loaded', url)
       return next(url, context)
     } })`,
  )}`

  it('load their packages only when they are on', async () => {
    const spied = [process.execPath, '--import', spy, 'src/main.ts']
    await using off = await startProcess({}, spied)
    expect((await off.stop()).stderr).to.not.include('loaded')
    await using on = await startProcess({ METRICS_PORT: String(await freePort()) }, spied)
    const { stderr } = await on.stop()
    expect(stderr).to.match(/loaded .*prom-client/)
    expect(stderr).to.not.include('opentelemetry/sdk')
  })

  it('are summed over all workers, and never fall when one ends', async () => {
    const ownPort = await freePort()
    await using workers = await startWorkers(2, { METRICS_PORT: String(ownPort) })
    const { accessToken } = await obtainTokens(workers.url)
    const ask = async (connections: number) => {
      for (let i = 0; i < connections; i += 1) {
        const kept = keepConnection(workers.url, { authorization: `Bearer ${accessToken}` })
        for (let turn = 0; turn < 5; turn += 1) await kept.get(paths.userinfo)
        kept.close()
      }
    }
    const counts = async (requests: number) =>
      await scrapeUntil(ownPort, ({ sum }) => {
        const found = [sum(REQUESTS, { route: 'userinfo' }), sum('gatehouse_processes')]
        expect(found).to.deep.equal([requests, 2])
      })
    await ask(6)
    await counts(30)
    process.kill(workers.served()[0] ?? 0, 'SIGKILL')
    await workers.says('a worker accepts requests', 3)
    await counts(30)
    await ask(4)
    workers.signal('SIGHUP')
    await workers.says('reloaded')
    await ask(2)
    await counts(60)
    expect((await workers.stop()).code).to.equal(0)
  })
})

const folder = join(import.meta.dirname, '../../config/monitoring')
const dashboard = JSON.parse(readFileSync(join(folder, 'dashboard.json'), 'utf8'))
const expressions: string[] = dashboard.panels.flatMap(({ targets = [] }) =>
  targets.map(({ expr }: { expr: string }) => expr),
)

describe('promtool', () => {
  const promtool = shared(async function () {
    return askForProgram(this, 'promtool')
  })
  const run = (words: readonly string[], input = '') =>
    execFileSync(promtool(), words, { cwd: folder, input, encoding: 'utf8', stdio: 'pipe' })

  it('accepts the configuration and the rules, and each alert fires when it should', () => {
    expect(run(['check', 'config', 'prometheus.yml'])).to.include('SUCCESS')
    expect(run(['check', 'rules', 'alerts.yml'])).to.include('SUCCESS')
    expect(run(['test', 'rules', 'alerts.test.yml'])).to.include('SUCCESS')
  })

  it('accepts every expression of the dashboard', () => {
    const records = expressions.map((expression, i) => {
      const plain = expression.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*')
      return `      - record: panel:${i}\n        expr: ${JSON.stringify(plain)}`
    })
    const file = join(temporaryFolder(), 'dashboard.yml')
    writeFileSync(file, `groups:\n  - name: dashboard\n    rules:\n${records.join('\n')}\n`)
    expect(run(['check', 'rules', file])).to.include(`${expressions.length} rules found`)
  })

  it('accepts a scrape without a suggestion', async () => {
    const port = await freePort()
    await using _service = await startProcess({ METRICS_PORT: String(port) })
    expect(run(['check', 'metrics'], (await scrape(port)).text)).to.equal('')
  })
})
