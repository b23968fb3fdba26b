import { pino } from 'pino'

import { readScope } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { openTraces } from '../../src/platform/monitoring/traces.ts'
import { obtainTokens, userinfo } from '../support/client.ts'
import { notes, sam, startService } from '../support/gatehouse.ts'
import { operatorToken } from '../support/mcp.ts'
import { startOtlpReceiver } from '../support/otlp-receiver.ts'
import { runGatehouse, startProcess, type Variables } from '../support/process.ts'
import { freePort, temporaryFolder } from '../support/programs.ts'
import { startWithPlatform } from '../support/upstream.ts'
import { expectAnswer, get, send } from '../support/wire.ts'

const TRACE = '4bf92f3577b34da6a3ce929d0e0e4736'
const SPAN = '00f067aa0ba902b7'
const SAMPLED = `00-${TRACE}-${SPAN}-01`

/** Runs `use` with a service, and stops the service. Returns the result, the exported traces and the log. */
async function exported<Result>(variables: Variables, use: (url: string) => Promise<Result>) {
  await using receiver = await startOtlpReceiver()
  const settings = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, LOG_LEVEL: 'info', ...variables }
  await using service = await startProcess(settings)
  const result = await use(service.url)
  const { code, stdout: log } = await service.stop()
  expect(code).to.equal(0)
  return { result, spans: receiver.spans, bytes: receiver.bytes(), log }
}

describe('traces by OTLP', () => {
  it('have a span for a request, and one below it for each statement', async () => {
    const variables = { OTEL_SERVICE_NAME: 'campus', OTEL_RESOURCE_ATTRIBUTES: 'site=north' }
    const { result, spans, bytes, log } = await exported(variables, async (url) => {
      const obtained = await obtainTokens(url)
      expect((await userinfo(url, obtained.accessToken)).status).to.equal(200)
      await send(url, { path: `${paths.userinfo}?access_token=secret-in-the-query` })
      await send(url, { path: '/nobody/knows/this' })
      return obtained
    })
    const ofUserinfo = spans.filter(({ name }) => name === 'GET userinfo')
    const asked = ofUserinfo.find((span) => span.attributes['http.response.status_code'] === 200)
    expect(asked?.attributes).to.include({ 'http.request.method': 'GET', 'http.route': 'userinfo' })
    expect(asked?.parentSpanId).to.equal('')
    expect(asked?.resource).to.include({ 'service.name': 'campus', site: 'north' })
    const below = spans.filter(({ parentSpanId }) => parentSpanId === asked?.spanId)
    const expected = [['select refresh_token_family', asked?.traceId]]
    expect(below.map(({ name, traceId }) => [name, traceId])).to.deep.equal(expected)
    expect(below[0]?.attributes).to.deep.equal({
      'db.system.name': 'sqlite',
      'db.operation.name': 'select',
      'db.query.summary': 'select refresh_token_family',
    })
    const line = log.split('\n').find((text) => text.includes(String(asked?.traceId)))
    const id = asked?.attributes['gatehouse.request_id']
    expect(JSON.parse(line ?? '{}')).to.include({ route: 'userinfo', id })
    for (const held of [
      ...[result.accessToken, result.refreshToken, result.code, 'secret-in-the-query', 'nobody'],
      ...[sam.login, sam.password, notes.clientId, notes.redirectUri, 'per_', 'sit_'],
    ])
      expect(bytes).to.not.include(held)
    expect(spans.map(({ name }) => name.split(' ')[0])).to.not.include('')
  })

  for (const [TRUST_TRACEPARENT, parents] of Object.entries({ no: [], yes: [SPAN] })) {
    it(`continue the trace of a caller with TRUST_TRACEPARENT=yes only: ${TRUST_TRACEPARENT}`, async () => {
      const { spans } = await exported({ TRUST_TRACEPARENT }, async (url) => {
        await get(url + paths.jwks, { traceparent: SAMPLED })
        await get(url + paths.userinfo, { traceparent: `00-${TRACE}-${SPAN}-00` })
      })
      const joined = spans.filter(({ traceId }) => traceId === TRACE)
      expect(joined.map(({ parentSpanId }) => parentSpanId)).to.deep.equal(parents)
      expect(spans.some(({ name }) => name === 'GET userinfo')).to.equal(TRUST_TRACEPARENT === 'no')
    })
  }

  for (const variables of [
    { OTEL_TRACES_SAMPLER: 'always_off' },
    { OTEL_TRACES_SAMPLER: 'traceidratio', OTEL_TRACES_SAMPLER_ARG: '0' },
    { OTEL_SDK_DISABLED: 'true' },
  ] as const) {
    it(`have no span with ${JSON.stringify(variables)}`, async () => {
      const { spans, log } = await exported(variables, (url) => get(url + paths.jwks))
      expect(spans).to.deep.equal([])
      expect(log).to.not.include('"trace"')
    })
  }

  it('do not tell other hosts the tracestate of a caller', async () => {
    const off = { sampler: 'always_off', ratio: 1, trustParent: true } as const
    const receiver = { address: 'http://127.0.0.1:1', serviceName: 'campus', sendWithinMs: 100 }
    await using traces = openTraces({ ...off, ...receiver }, pino({ level: 'silent' }))
    const headers = { traceparent: SAMPLED, tracestate: 'caller=private' }
    const sent = async () => await traces.outgoing('hooks.example', async (given) => given)
    const given = await traces.middleware({ method: 'GET', headers } as never, sent)
    expect(Object.keys(given)).to.deep.equal(['traceparent'])
    expect(given.traceparent).to.include(TRACE)
  })

  it('do not affect responses when the collector is down, which is logged', async () => {
    const OTEL_EXPORTER_OTLP_ENDPOINT = `http://127.0.0.1:${await freePort()}`
    const off = { OTEL_EXPORTER_OTLP_ENDPOINT }
    const { result, log } = await exported(off, (url) => get(url + paths.jwks))
    expect(result.status).to.equal(200)
    expect(log).to.include('traces could not be exported')
  })

  it('continue at the platform’s own API, in place of the caller’s trace', async () => {
    await using receiver = await startOtlpReceiver()
    const settings = { serviceName: 'gatehouse', sendWithinMs: 3_000, ratio: 1, trustParent: false }
    const address = `${receiver.url}/v1/traces`
    const sampled = { ...settings, address, sampler: 'always_on' } as const
    const traces = openTraces(sampled, pino({ level: 'silent' }))
    await using service = await startWithPlatform({ watchers: { traces } })
    const token = await operatorToken(service.url, readScope('coupons'))
    const headers = { authorization: `Bearer ${token}`, traceparent: SAMPLED }
    expectAnswer(await get(`${service.url}/admin/api/coupons`, headers), 200)
    const { seen } = await service.platform.seen()
    const [, traceId, sent] = seen.at(-1)?.headers['traceparent']?.split('-') ?? []
    expect(traceId)
      .to.match(/^[0-9a-f]{32}$/)
      .and.not.equal(TRACE)
    await traces[Symbol.asyncDispose]()
    const sending = receiver.spans.find(({ spanId }) => spanId === sent)
    expect(sending?.name).to.match(/^send 127\.0\.0\.1:\d+$/)
    const request = receiver.spans.find(({ spanId }) => spanId === sending?.parentSpanId)
    expect(request?.attributes['http.route']).to.equal(paths.upstream)
    expect(receiver.bytes()).to.not.include(token)
  })

  it('may be off when a caller sends traceparent', async () => {
    await using service = await startService()
    expect((await get(service.url + paths.jwks, { traceparent: SAMPLED })).status).to.equal(200)
  })

  it('continue a trace only if traceparent follows W3C Trace Context §3.2', async () => {
    const { spans } = await exported({ TRUST_TRACEPARENT: 'yes' }, async (url) => {
      // A later version of traceparent may have more fields after the flags.
      await get(url + paths.jwks, { traceparent: `01-${TRACE}-${SPAN}-03-more` })
      for (const wrong of [
        ...['', 'x', `ff-${TRACE}-${SPAN}-01`, `00-${TRACE}-${SPAN}-01-more`, `${SAMPLED}0`],
        ...[`00-${'0'.repeat(32)}-${SPAN}-01`, `00-${TRACE}-${'0'.repeat(16)}-01`],
        ...[SAMPLED.toUpperCase(), `00-${TRACE.slice(1)}-${SPAN}-01`],
      ])
        await get(url + paths.userinfo, { traceparent: wrong })
    })
    const requests = spans.filter(({ name }) => /^GET /.test(name))
    expect(requests).to.have.length.above(9)
    const [continued, ...others] = requests.filter(({ parentSpanId }) => parentSpanId)
    expect(continued).to.include({ name: 'GET jwks', parentSpanId: SPAN, traceId: TRACE })
    expect(others).to.deep.equal([])
  })
})

it('doctor reports metrics at an open address', async () => {
  const metrics = { METRICS_PORT: String(await freePort()), METRICS_HOST: '0.0.0.0' }
  const { stdout } = await runGatehouse(['doctor'], { DATA_DIR: temporaryFolder(), ...metrics })
  expect(stdout).to.include('let only Prometheus connect to the metrics port')
})
