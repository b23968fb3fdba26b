import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'

import { paths } from '../../src/platform/http/paths.ts'
import { type ServiceProcess, startProcess } from '../support/process.ts'
import { eventually } from '../support/programs.ts'
import { keepConnection } from '../support/workers.ts'

/** Less than the ten seconds after which the service closes open connections. */
const AT_ONCE_MS = 3_000

const body = 'grant_type=refresh_token&client_id=northlight-notes&refresh_token=unknown'

async function beginRequest({ url }: ServiceProcess): Promise<Socket> {
  const { hostname, port, host } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.write(`POST ${paths.token} HTTP/1.1\r\nHost: ${host}\r\n`)
  socket.write('Content-Type: application/x-www-form-urlencoded\r\nExpect: 100-continue\r\n')
  socket.write(`Content-Length: ${body.length}\r\n\r\n${body.slice(0, 10)}`)
  // The interim response shows that the service works on the request.
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
    it(`finishes the running request and takes no new one${command ? ', through npm start too' : ''}`, async () => {
      await using service = await startProcess({ LOG_LEVEL: 'info' }, command)
      const socket = await beginRequest(service)
      const ending = service.stop()
      await expectRefused(service)
      socket.write(body.slice(10))
      const answer = await text(socket)
      expect(answer).to.match(/^HTTP\/1\.1 400 Bad Request\r\n/)
      expect(answer).to.include('"error":"invalid_grant"')
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
      const answer = await text(socket)
      expect(answer).to.match(/^HTTP\/1\.1 200 OK\r\n/)
      expect(answer).to.match(/\r\nConnection: close\r\n/i)
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
    it(`ends with 0 on ${signal} too, with every line of its log written`, async () => {
      await using service = await startProcess({ LOG_LEVEL: 'info' })
      for (let i = 0; i < 50; i += 1) await (await fetch(service.url + paths.jwks)).text()
      const { code, stdout } = await service.stop(signal)
      expect(code).to.equal(0)
      const lines = stdout.trim().split('\n')
      expect(lines.filter((line) => JSON.parse(line).route === 'jwks')).to.have.length(50)
    })
  }
})
