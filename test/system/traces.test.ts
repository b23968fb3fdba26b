import { expect } from 'chai'
import { pino } from 'pino'

import { readScope } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { openTraces, readTraceparent } from '../../src/platform/monitoring/traces.ts'
import { obtainTokens, userinfo } from '../support/client.ts'
import { notes, sam, startService } from '../support/gatehouse.ts'
import { operatorToken } from '../support/mcp.ts'
import { type OtlpReceiver, startOtlpReceiver } from '../support/otlp-receiver.ts'
import { runGatehouse, startProcess } from '../support/process.ts'
import { freePort, temporaryFolder } from '../support/programs.ts'
import { startWithPlatform } from '../support/upstream.ts'
import { get, send } from '../support/wire.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const SAMPLED = `00-${TRACE}-${SPAN}-01`

/** What a service sends that is used so, once it has stopped. */
async function spansOf(
  receiver: OtlpReceiver,
  variables: Record<string, string>,
  use: (url: string) => Promise<unknown>,
) {
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, LOG_LEVEL: 'info', ...variables }
  await using service = await startProcess(settings)
  await use(service.url)
  // What was not sent yet goes out before the end.
  const { code, stdout } = await service.stop()
  expect(code).to.equal(0)
  return { spans: receiver.spans, log: stdout }
}

describe('traces: sent by OTLP', function () {
  this.timeout(120_000)

  it('a span for a request, and one below it for each statement', async () => {
    await using receiver = await startOtlpReceiver()
    const use = async (url: string) => {
      const { accessToken, refreshToken, code } = await obtainTokens(url)
      expect((await userinfo(url, accessToken)).status).to.equal(200)
      await send(url, { path: `${paths.userinfo}?access_token=secret-in-the-query` })
      await send(url, { path: '/nobody/knows/this' })
      return { accessToken, refreshToken, code }
    }
    let made: Awaited<ReturnType<typeof use>> | undefined
    const variables = { OTEL_SERVICE_NAME: 'campus', OTEL_RESOURCE_ATTRIBUTES: 'site=north' }
    const { spans, log } = await spansOf(receiver, variables, async (url) => {
      made = await use(url)
    })
    const asked = spans.find(
      ({ name, attributes }) =>
        name === 'GET userinfo' && attributes['http.response.status_code'] === 200,
    )
    expect(asked?.attributes).to.include({ 'http.request.method': 'GET', 'http.route': 'userinfo' })
    expect(asked?.parentSpanId).to.equal('')
    expect(asked?.resource).to.include({ 'service.name': 'campus', site: 'north' })
    const below = spans.filter(({ parentSpanId }) => parentSpanId === asked?.spanId)
    expect(below.map(({ name }) => name)).to.deep.equal(['select oauth_grant'])
    expect(below[0]).to.have.property('traceId', asked?.traceId)
    expect(below[0]?.attributes).to.deep.equal({
      'db.system.name': 'sqlite',
      'db.operation.name': 'select',
      'db.query.summary': 'select oauth_grant',
    })
    const line = log.split('\n').find((text) => text.includes(String(asked?.traceId)))
    expect(JSON.parse(line ?? '{}')).to.include({
      route: 'userinfo',
      id: asked?.attributes['gatehouse.request_id'],
    })
    const sent = receiver.bytes()
    for (const held of [
      ...[made?.accessToken, made?.refreshToken, made?.code, 'secret-in-the-query', 'nobody'],
      ...[sam.login, sam.password, notes.clientId, notes.redirectUri, 'per_', 'sit_'],
    ]) {
      expect(sent).to.not.include(held)
    }
    // Nobody's own routes and methods are names of spans.
    expect(new Set(spans.map(({ name }) => name.split(' ')[0]))).to.not.include('')
  })

  it('goes on with the trace of a caller only where that is configured', async () => {
    for (const [trusted, expected] of [
      ['no', undefined],
      ['yes', SPAN],
    ] as const) {
      await using receiver = await startOtlpReceiver()
      const { spans } = await spansOf(receiver, { TRUST_TRACEPARENT: trusted }, async (url) => {
        await get(url + paths.jwks, { traceparent: SAMPLED })
        // Not sampled by who began it.
        await get(url + paths.userinfo, { traceparent: `00-${TRACE}-${SPAN}-00` })
      })
      const joined = spans.filter(({ traceId }) => traceId === TRACE)
      expect(joined.map(({ parentSpanId }) => parentSpanId)).to.deep.equal(
        expected === undefined ? [] : [expected],
      )
      expect(spans.some(({ name }) => name === 'GET userinfo')).to.equal(trusted === 'no')
    }
  })

  it('of the share of requests that the sampler says, and of none when it is off', async () => {
    for (const variables of [
      { OTEL_TRACES_SAMPLER: 'always_off' },
      { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
      { OTEL_SDK_DISABLED: 'true' },
    ]) {
      await using receiver = await startOtlpReceiver()
      const { spans, log } = await spansOf(receiver, variables, async (url) => {
        await get(url + paths.jwks)
      })
      expect(spans).to.deep.equal([])
      expect(log).to.not.include('"trace"')
    }
  })

  it('a collector that is away costs nobody an answer, and is a line of the log', async () => {
    const away = `http://127.0.0.1:${await freePort()}`
    const variables = { OTEL_EXPORTER_OTLP_ENDPOINT: away, LOG_LEVEL: 'warn' }
    await using service = await startProcess(variables)
    expect((await get(service.url + paths.jwks)).status).to.equal(200)
    const { code, stdout } = await service.stop()
    expect(code).to.equal(0)
    expect(stdout).to.include('spans could not be exported')
  })
})

describe('traces: to other services', function () {
  this.timeout(120_000)

  const settingsFor = ({ url }: OtlpReceiver) => ({
    address: `${url}/v1/traces`,
    serviceName: 'gatehouse',
    sendWithinMs: 3_000,
    sampler: 'always_on' as const,
    ratio: 1,
    trustParent: false,
  })

  it('the platform’s own API is sent the trace, in place of what the caller sent', async () => {
    await using receiver = await startOtlpReceiver()
    const traces = openTraces(settingsFor(receiver), pino({ level: 'silent' }))
    {
      await using service = await startWithPlatform({ watchers: { traces } })
      const token = await operatorToken(service.url, readScope('coupons'))
      const answer = await get(`${service.url}/admin/api/coupons`, {
        authorization: `Bearer ${token}`,
        traceparent: SAMPLED,
      })
      expect(answer.status).to.equal(200)
      const { seen } = await service.platform.seen()
      const came = readTraceparent(seen.at(-1)?.headers['traceparent'] ?? '')
      expect(came?.traceId).to.match(/^[0-9a-f]{32}$/)
      expect(came?.traceId).to.not.equal(TRACE)
      await traces[Symbol.asyncDispose]()
      const sending = receiver.spans.find(({ spanId }) => spanId === came?.spanId)
      expect(sending?.name).to.match(/^send 127\.0\.0\.1:\d+$/)
      const request = receiver.spans.find(({ spanId }) => spanId === sending?.parentSpanId)
      expect(request?.attributes['http.route']).to.equal(paths.upstream)
      expect(receiver.bytes()).to.not.include(token)
    }
  })

  it('without traces the header of the caller passes as it came', async () => {
    await using service = await startService()
    expect((await get(service.url + paths.jwks, { traceparent: SAMPLED })).status).to.equal(200)
  })
})

describe('traceparent (W3C Trace Context §3.2)', () => {
  it('is read as it is written down there, and is nothing otherwise', () => {
    expect(readTraceparent(SAMPLED)).to.deep.equal({
      ...{ traceId: TRACE, spanId: SPAN, traceFlags: 1, isRemote: true },
    })
    // A version that is not known yet may have more behind the flags.
    expect(readTraceparent(`01-${TRACE}-${SPAN}-03-more`)?.traceFlags).to.equal(1)
    for (const wrong of [
      ...['', 'x', `ff-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01-more`, `${SAMPLED}0`],
      ...[`00-${'0'.repeat(32)}-${SPAN}-01`, `00-${TRACE}-${'0'.repeat(16)}-01`],
      ...[SAMPLED.toUpperCase(), `00-${TRACE.slice(1)}-${SPAN}-01`, ` ${SAMPLED}`],
    ]) {
      expect(readTraceparent(wrong), wrong).to.equal(undefined)
    }
  })
})

describe('doctor: where metrics are read and traces are sent', function () {
  this.timeout(60_000)

  it('says that both are good, beside a running service too', async () => {
    await using receiver = await startOtlpReceiver()
    const METRICS_PORT = String(await freePort())
    const variables = { METRICS_PORT, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }
    const metrics = `http://127.0.0.1:${METRICS_PORT}/metrics`
    const DATA_DIR = temporaryFolder()
    const first = await runGatehouse(['doctor'], { DATA_DIR, ...variables })
    expect(first.stdout).to.include(`ok     Metrics can be served at ${metrics}.`)
    expect(first.stdout).to.include(`ok     The trace collector at ${receiver.url} answers.`)
    await using _service = await startProcess(variables)
    const second = await runGatehouse(['doctor'], { DATA_DIR, ...variables })
    expect(second.stdout).to.include(`ok     A service answers at ${metrics}.`)
    expect([first.code, second.code]).to.deep.equal([0, 0])
  })

  it('says what is wrong: a port that another program has, a collector that is away, an open address', async () => {
    await using receiver = await startOtlpReceiver()
    const { port } = new URL(receiver.url)
    const away = `http://127.0.0.1:${await freePort()}`
    const { code, stdout } = await runGatehouse(['doctor'], {
      ...{ DATA_DIR: temporaryFolder(), OTEL_EXPORTER_OTLP_ENDPOINT: away },
      ...{ METRICS_PORT: port, METRICS_HOST: '0.0.0.0' },
    })
    expect(code).to.equal(1)
    expect(stdout).to.match(
      /wrong {2}Metrics cannot be served at .*: another program uses the port; choose another port\./,
    )
    expect(stdout).to.include('restrict it to Prometheus with a firewall')
    expect(stdout).to.include(`wrong  The trace collector at ${away} is unreachable; check that`)
  })
})
