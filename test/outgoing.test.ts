import { lookup } from 'node:dns/promises'
import { createServer } from 'node:https'
import type { Duplex } from 'node:stream'

import { pino } from 'pino'

import { openMetrics } from '../src/platform/monitoring/registry.ts'
import { openTraces } from '../src/platform/monitoring/traces.ts'
import { makeWatch } from '../src/platform/monitoring/watch.ts'
import {
  isPublicAddress,
  makeGuardedFetch,
  makeLookUpOutside,
  type SendOutgoing,
} from '../src/platform/outgoing/guarded-fetch.ts'
import { type DnsRecord, startNameServer } from './support/dns-server.ts'
import { certificate } from './support/document-host.ts'
import { listen } from './support/listen.ts'
import { shared } from './support/shared.ts'

/** Addresses from IANA's special-purpose registries, IPv6 addresses that embed IPv4 addresses, and invalid addresses. */
const inner: Readonly<Record<string, readonly string[]>> = {
  'this network': ['0.0.0.0', '0.255.255.255', '::'],
  'private use': ['10.0.0.0', '10.255.255.255', '172.16.0.1', '172.31.255.255', '192.168.0.1'],
  'shared address space (CGNAT)': ['100.64.0.0', '100.127.255.255'],
  loopback: ['127.0.0.1', '127.255.255.254', '::1'],
  'link-local': ['169.254.0.1', '169.254.169.254', 'fe80::1', 'febf::1'],
  'protocol assignments': ['192.0.0.1', '192.0.0.170', '2001:1::1', '2001:3::1', '2001:4:112::1'],
  documentation: ['192.0.2.1', '198.51.100.1', '203.0.113.1', '2001:db8::1', '3fff::1'],
  benchmarking: ['198.18.0.1', '198.19.255.255', '2001:2::1'],
  'relays and AS112': [
    ...['192.88.99.1', '192.31.196.1', '192.52.193.1', '192.175.48.1', '2620:4f:8000::1'],
  ],
  'multicast and broadcast': ['224.0.0.1', '239.255.255.255', '255.255.255.255', 'ff02::1'],
  reserved: ['240.0.0.1', '254.1.1.1', '4000::1', '1::1', 'e000::1', '5f00::1', '100::1'],
  'unique-local and site-local': ['fc00::1', 'fd00:ec2::254', 'fdff::1', 'fec0::1'],
  'IPv4-mapped': ['::ffff:127.0.0.1', '::ffff:7f00:1', '::ffff:169.254.169.254', '::FFFF:10.0.0.1'],
  'IPv4-compatible and translated': ['::127.0.0.1', '::7f00:1', '::ffff:0:127.0.0.1'],
  NAT64: ['64:ff9b::127.0.0.1', '64:ff9b::a9fe:a9fe', '64:ff9b:1::1', '64:ff9b::8.8.8.8'],
  '6to4 and Teredo': ['2002:7f00:1::', '2002:a9fe:a9fe::1', '2001::1', '2001:0:53aa:64c::1'],
  malformed: [
    ...['', 'localhost', '127.1', '0x7f000001', '2130706433', '1.1.1.1.1', 'fe80::1%1', '::g'],
  ],
}

const OUTSIDE = 'or one that is not public'
const outer = ['1.1.1.1', '8.8.8.8', '172.32.0.1', '100.128.0.1', '192.0.1.1', '2606:4700::1111']

describe('a public address [Client ID Metadata Document §6.5]', () => {
  for (const [kind, addresses] of Object.entries(inner)) {
    it(`is not ${kind}`, () => {
      for (const address of addresses) expect(isPublicAddress(address), address).to.equal(false)
    })
  }

  it('can be any other address', () => {
    for (const address of [...outer, '::ffff:8.8.8.8'])
      expect(isPublicAddress(address), address).to.equal(true)
  })
})

describe('an outgoing request to a named server [Client ID Metadata Document §6.5]', () => {
  const connections = new Set<Duplex>()
  const used = new WeakSet<Duplex>()
  const arrived: string[] = []

  const server = shared(async () => {
    const { key, cert } = certificate
    const listener = createServer({ key, cert }, (request, response) => {
      const { method, headers, url, socket } = request
      arrived.push(`${method} ${headers.host}${url}`)
      if (url === '/elsewhere') return response.writeHead(302, { location: '/' }).end()
      if (url === '/nothing') return response.writeHead(204).end()
      if (url === '/never') return undefined
      if (url === '/once' && used.has(socket)) return socket.destroy()
      used.add(socket)
      const packed = url === '/packed' && { 'content-encoding': 'gzip' }
      response.writeHead(200, { 'content-type': 'application/json', ...packed })
      return request.pipe(response)
    })
    listener.on('connection', (socket) => connections.add(socket))
    return { ...(await listen(listener)), certificates: cert }
  })
  beforeEach(() => {
    connections.clear()
    arrived.length = 0
  })

  const namesAs = (...answers: readonly (readonly string[])[]) => {
    const asked: string[] = []
    const { certificates, port } = server()
    const send = makeGuardedFetch({
      certificates,
      port,
      lookUp: async (hostname) => {
        const answer = answers[Math.min(asked.length, answers.length - 1)] ?? []
        asked.push(hostname)
        return answer.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }))
      },
    })
    return { send, asked }
  }

  for (const [kind, addresses] of Object.entries(inner).filter(([kind]) => kind !== 'malformed')) {
    it(`does not connect when an address of the name is ${kind}`, async () => {
      for (const address of addresses) {
        for (const found of [[address], ['8.8.8.8', address], [address, '2606:4700::1111']]) {
          const why = await namesAs(found).send('https://client.example/keys').catch(String)
          expect(why, found.join()).to.include(OUTSIDE)
        }
      }
      expect(connections.size).to.equal(0)
    })
  }

  it('does not connect to such an address in any spelling', async () => {
    const { send, asked } = namesAs(['8.8.8.8'])
    for (const host of [
      ...['127.0.0.1', '127.1', '0x7f.1', '2130706433', '0177.0.0.1', '[::1]', '0.0.0.0', '[::]'],
      ...['169.254.169.254', '[fd00:ec2::254]', '[64:ff9b::7f00:1]', '[::ffff:127.0.0.1]'],
    ])
      expect(await send(`https://${host}/`).catch(String), host).to.include(OUTSIDE)
    expect([connections.size, asked]).to.deep.equal([0, []])
  })

  it('does not connect when the name has no address or the name server fails', async () => {
    const unknown = await namesAs([]).send('https://client.example/').catch(String)
    expect(unknown).to.include('no address')
    const lookUp = async () => await Promise.reject(new Error('SERVFAIL'))
    const failed = await makeGuardedFetch({ lookUp })('https://a.example/').catch(String)
    expect(failed).to.equal('Error: SERVFAIL')
    expect(connections.size).to.equal(0)
  })

  it('looks up the name once (DNS rebinding)', async () => {
    const { send, asked } = namesAs(['192.0.1.1'], ['127.0.0.1'])
    await send('https://client.example/', { signal: AbortSignal.timeout(300) }).catch(() => {})
    expect([asked, connections.size]).to.deep.equal([['client.example'], 0])
  })

  it('uses https only', async () => {
    const { send } = namesAs(['127.0.0.1'])
    const others = ['http://client.example/', 'file:///etc/passwd', 'ftp://client.example/']
    for (const address of others)
      expect(await send(address).catch(String), address).to.include('must use https')
  })

  it('times out when the name server or the host does not respond', async () => {
    const { send } = namesAs(['127.0.0.1'])
    const startedAt = performance.now()
    const [one, other] = await Promise.allSettled([
      makeGuardedFetch({ lookUp: () => new Promise(() => {}) })('https://client.example/'),
      send('https://client.example/never', { privateAddress: true }),
    ])
    expect([one.status, other.status]).to.deep.equal(['rejected', 'rejected'])
    expect(performance.now() - startedAt).to.be.within(2000, 4000)
  })

  it('waits as long as the signal of the request', async () => {
    const startedAt = performance.now()
    const init = { privateAddress: true, signal: AbortSignal.timeout(3000) }
    const { send } = namesAs(['127.0.0.1'])
    await send('https://client.example/never', init).catch(() => {})
    expect(performance.now() - startedAt).to.be.within(2900, 4500)
  })

  it('shares a connection with webhooks only, and opens another if the host has closed it', async () => {
    const { send, asked } = namesAs(['127.0.0.1'])
    const post = async (path: string, purpose?: 'webhook') => {
      const init = { privateAddress: true, method: 'POST', body: 'x', ...(purpose && { purpose }) }
      const answer = await send(`https://client.example${path}`, init)
      expect([answer.status, await answer.text()], path).to.deep.equal([200, 'x'])
      return connections.size
    }
    for (const _ of ['first', 'second']) expect(await post('/', 'webhook')).to.equal(1)
    expect(asked).to.have.length(1)
    expect(await post('/')).to.equal(2)
    expect(await post('/once', 'webhook')).to.equal(3)
  })

  it('reaches a configured host in the private network', async () => {
    const { send } = namesAs(['127.0.0.1'])
    const init = { privateAddress: true, method: 'POST', body: new URLSearchParams({ a: 'b' }) }
    const answer = await send('https://client.example/path?query', init)
    expect([answer.status, await answer.text()]).to.deep.equal([200, 'a=b'])
    expect(answer.headers.get('content-type')).to.equal('application/json')
    const own = { privateAddress: true, redirect: 'manual' } as const
    expect((await send('https://client.example/elsewhere', own)).status).to.equal(302)
    expect((await send('https://client.example/nothing', own)).status).to.equal(204)
    const packed = await send('https://client.example/packed', own).catch(String)
    expect(packed).to.include('is compressed')
    expect(await send('https://evil.example/', own).catch(String)).to.match(/altnames/i)
    expect(arrived).to.deep.equal([
      ...['POST client.example/path?query', 'GET client.example/elsewhere'],
      ...['GET client.example/nothing', 'GET client.example/packed'],
    ])
  })

  it('is guarded and counted when metrics are on', async () => {
    const metrics = openMetrics()
    await using traces = openTraces(
      {
        ...{ address: 'http://127.0.0.1:9/v1/traces', serviceName: 'gatehouse', sendWithinMs: 100 },
        ...{ sampler: 'always_off', ratio: 1, trustParent: false },
      },
      pino({ level: 'silent' }),
    )
    const send: SendOutgoing = makeWatch({ metrics, traces }).fetch(namesAs(['127.0.0.1']).send)
    const own = await send('https://client.example/path', { privateAddress: true })
    expect(own.status).to.equal(200)
    expect(await send('https://client.example/path').catch(String)).to.include(OUTSIDE)
    const counter = 'gatehouse_outgoing_requests_total'
    const counted = (await metrics.snapshot()).find(({ name }) => name === counter)
    const values = counted?.values.flatMap(({ labels: { purpose, outcome }, value }) =>
      value > 0 ? [`${purpose} ${outcome} ${value}`] : [],
    )
    expect(values).to.have.members(['document answered 1', 'document failed 1'])
  })
})

describe('a name from a client', () => {
  const never = AbortSignal.timeout(60_000)
  const known: Readonly<Record<string, DnsRecord>> = {
    'four.example': [1, [192, 0, 2, 7]],
    'six.example': [28, [0x20, 0x01, 0x0d, 0xb8, ...Array(11).fill(0), 7]],
  }

  it('is looked up at the name servers for both address families', async () => {
    using names = await startNameServer(known)
    const lookUp = makeLookUpOutside([names.address])
    expect(await lookUp('four.example', never)).to.deep.equal([{ address: '192.0.2.7', family: 4 }])
    const six = { address: '2001:db8::7', family: 6 }
    expect(await lookUp('six.example', never)).to.deep.equal([six])
    const unknown = 'Error: the name nobody.example was not found'
    expect(await lookUp('nobody.example', never).catch(String)).to.equal(unknown)
    expect(new Set(names.asked).size).to.equal(3)
  })

  it('does not delay other lookups when name servers do not respond [149]', async function () {
    // If the machine delays this process by two seconds, the requests time out early.
    this.retries(2)
    using names = await startNameServer(known)
    const lookUp = makeLookUpOutside([names.address])
    const send = makeGuardedFetch({ lookUp })
    let ended = 0
    const waiting = Array.from({ length: 64 }, async (_, number) => {
      await send(`https://${number}.silent.example/`).catch(() => {})
      ended += 1
    })
    // Also try the system's resolver, which the database uses to reconnect.
    await lookup('127.0.0.1')
    await Promise.all([lookup('localhost'), lookUp('four.example', never)])
    expect(ended).to.equal(0)
    await Promise.all(waiting)
  })

  it('is cancelled with its request', async () => {
    using names = await startNameServer(known)
    const signal = AbortSignal.timeout(50)
    const failed = await makeLookUpOutside([names.address])('silent.example', signal).catch(String)
    expect(failed).to.include('ECANCELLED')
  })
})
