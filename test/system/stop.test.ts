import { once } from 'node:events'
import { Agent, request } from 'node:http'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'

import { expect } from 'chai'

import { paths } from '../../src/platform/http/paths.ts'
import { type ServiceProcess, startProcess } from '../support/process.ts'
import { eventually } from '../support/programs.ts'

/** Less than the ten seconds after which open connections are cut. */
const AT_ONCE_MS = 3_000

const body = 'grant_type=refresh_token&client_id=northlight-notes&refresh_token=unknown'

/** A request whose body has not come completely: the service is at work on it. */
async function beginRequest({ url }: ServiceProcess): Promise<Socket> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  await once(socket, 'connect')
  socket.write(
    [
      `POST ${paths.token} HTTP/1.1`,
      `Host: ${host}`,
      'Content-Type: application/x-www-form-urlencoded',
      `Content-Length: ${body.length}`,
      'Expect: 100-continue',
      '',
      body.slice(0, 10),
    ].join('\r\n'),
  )
  // The interim answer shows that the request has begun.
  await once(socket, 'data')
  return socket
}

async function expectRefused({ url }: ServiceProcess): Promise<void> {
  await eventually(AT_ONCE_MS, async () => {
    const error = await fetch(`${url}${paths.health}`, { headers: { connection: 'close' } }).then(
      () => undefined,
      ({ cause }) => cause,
    )
    expect(error?.code).to.equal('ECONNREFUSED')
  })
}

describe('stopping', function () {
  // A busy machine may stop late once; a service that waits for idle connections does so each time.
  this.retries(2)

  it('finishes the running request, takes no new one, and ends with 0', async () => {
    await using service = await startProcess()
    const socket = await beginRequest(service)
    const ended = service.stop()
    await expectRefused(service)
    socket.write(body.slice(10))
    const answer = await text(socket)
    expect(answer).to.match(/^HTTP\/1\.1 400 Bad Request\r\n/)
    expect(answer).to.include('"error":"invalid_grant"')
    expect(await ended).to.include({ code: 0, signal: null, stderr: welcomeOf(await ended) })
  })

  it('answers on connections that it had before it was asked, new ones and kept ones', async () => {
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
      const answer = await text(socket)
      expect(answer).to.match(/^HTTP\/1\.1 200 OK\r\n/)
      expect(answer).to.match(/\r\nConnection: close\r\n/i)
    }
    expect((await ended).code).to.equal(0)
  })

  it('does not wait for connections that are only kept open', async () => {
    await using service = await startProcess()
    const agent = new Agent({ keepAlive: true })
    const call = request(`${service.url}${paths.health}`, { agent }).end()
    const [answer] = await once(call, 'response')
    await text(answer)
    const startedAt = performance.now()
    expect((await service.stop()).code).to.equal(0)
    expect(performance.now() - startedAt).to.be.lessThan(AT_ONCE_MS)
    agent.destroy()
  })

  for (const signal of ['SIGINT', 'SIGHUP'] as const) {
    it(`ends with 0 on ${signal} too, and has written every line of its log`, async () => {
      await using service = await startProcess({ LOG_LEVEL: 'info' })
      for (let i = 0; i < 50; i += 1) await (await fetch(service.url + paths.jwks)).text()
      const { code, stdout } = await service.stop(signal)
      expect(code).to.equal(0)
      const lines = stdout.trim().split('\n')
      const routes = lines.map((line): string => JSON.parse(line).route)
      expect(routes.filter((route) => route === 'jwks')).to.have.length(50)
    })
  }

  it('is asked through npm start too', async () => {
    await using service = await startProcess({ LOG_LEVEL: 'info' }, ['npm', 'start'])
    const socket = await beginRequest(service)
    const ended = service.stop()
    await expectRefused(service)
    socket.write(body.slice(10))
    expect(await text(socket)).to.include('"error":"invalid_grant"')
    const { stdout } = await ended
    expect(stdout).to.include('"status":400')
  })
})

/** The one thing that belongs on stderr. */
function welcomeOf({ stderr }: { stderr: string }): string {
  return /^Gatehouse serves [^\n]+\n(.+\n)*$/.test(stderr) ? stderr : 'the welcome and nothing else'
}
