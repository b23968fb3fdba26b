/**
 * `node bench/webhooks.ts [seconds] [events per second]`: delivers events of ten sites to 100 endpoints, ten of which
 * never answer, from two processes on PostgreSQL. It requests UserInfo at the same time. In the first seconds, both
 * processes open their connections to the endpoints, so a short run shows a longer p99.
 */

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'

import { makeCertificate } from '../conformance/certificate.ts'
import { makeSecretRoot } from '../src/oauth/keys/secret-root.ts'
import { recordAuditEvent } from '../src/platform/audit/record-audit-event.ts'
import type { Database } from '../src/platform/store/database.ts'
import { openDatabase } from '../src/platform/store/open-stores.ts'
import { endpointLabel } from '../src/platform/store/sealed-secrets.ts'
import { newWebhookSecret } from '../src/school/webhooks/webhook-signature.ts'
import { obtain, userinfo } from '../test/support/client.ts'
import { insert, patiently } from '../test/support/database.ts'
import { listen } from '../test/support/listen.ts'
import type { Variables } from '../test/support/process.ts'
import { temporaryFolder } from '../test/support/programs.ts'
import { describeMachine, processorSeconds } from './cores.ts'
import { newPlace, SECRET, startOurs, startStores } from './servers.ts'

const SITES = 10
const ENDPOINTS_PER_SITE = 10
const USERINFO_EVERY_MS = 10
const SETTLED_WITHIN_MS = 30_000
const [seconds = 90, eventsPerSecond = 60] = process.argv.slice(2).map(Number)
const folder = temporaryFolder()

/** Returns a script that resolves every host name to a public address, and directs TLS connections to the receiver. */
const network = (port: number) => `import dns from 'node:dns/promises'
import tls from 'node:tls'
dns.Resolver.prototype.resolve4 = async () => ['192.0.1.1']
dns.Resolver.prototype.resolve6 = async () => []
const { connect } = tls
const here = (_name, { all }, found) =>
  all ? found(null, [{ address: '127.0.0.1', family: 4 }]) : found(null, '127.0.0.1', 4)
tls.connect = (options) => connect({ ...options, port: ${port}, lookup: (name, asked, found) =>
  options.lookup(name, asked, (error) => (error ? found(error) : here(name, asked, found))) })`

/** Responds unless the host begins with `dead`. Sends the count and the longest delay of deliveries to the parent. */
async function receive(): Promise<void> {
  let [count, longestMs] = [0, 0]
  const [key, cert] = ['key', 'cert'].map((name) => readFileSync(join(process.argv[3] ?? '', name)))
  const server = createServer({ key, cert }, (request, response) => {
    if (request.headers.host?.startsWith('dead')) return
    const parts: Buffer[] = []
    request
      .on('data', (part: Buffer) => parts.push(part))
      .on('end', () => {
        const { timestamp } = JSON.parse(Buffer.concat(parts).toString())
        longestMs = Math.max(longestMs, Date.now() - Date.parse(timestamp))
        count += 1
        response.writeHead(204).end()
      })
  })
  const { port } = await listen(server)
  process.on('message', () => process.send?.({ count, longestMs }))
  process.send?.(port)
}

async function addEndpoints({ kysely }: Database): Promise<void> {
  const { seal } = makeSecretRoot([SECRET])
  for (let site = 0; site < SITES; site += 1) {
    const site_id = `site_${site}`
    await insert(kysely, 'site', { id: site_id, slug: `s-${site}`, name: 'S', created_at: 1 })
    for (let at = 0; at < ENDPOINTS_PER_SITE; at += 1) {
      const id = `whe_${site}_${at}`
      const sealed_secret = seal(newWebhookSecret(), endpointLabel(id))
      const url = `https://${at === 0 ? 'dead' : 'h'}-${site}-${at}.bench.example/`
      const row = { id, site_id, url, payload: 'full' as const, sealed_secret, created_at: 1 }
      await insert(kysely, 'webhook_endpoint', row)
      const type = 'course.published'
      await insert(kysely, 'webhook_endpoint_type', { endpoint_id: id, type })
    }
  }
}

/** Starts the receiver in another process. */
async function startReceiver(): Promise<ChildProcess> {
  const { privateKey, certificate } = makeCertificate('*.bench.example')
  writeFileSync(join(folder, 'key'), privateKey)
  writeFileSync(join(folder, 'cert'), certificate)
  return fork(import.meta.filename, ['receive', folder])
}

type Received = Readonly<Record<'count' | 'longestMs', number>>

async function ask(receiver: ChildProcess): Promise<Received> {
  receiver.send('count')
  const [found] = await once(receiver, 'message')
  return found
}

/** Records events at a steady rate. @returns how many */
async function recordEvents({ kysely }: Database, begunMs: number, endMs: number): Promise<number> {
  let events = 0
  while (performance.now() < endMs) {
    const due = ((performance.now() - begunMs) / 1000) * eventsPerSecond
    for (; events < due; events += 1) {
      const subject = { kind: 'course', id: `crs_${events % 1000}` }
      const siteId = `site_${events % SITES}`
      const change = { action: 'course.publish', subject, siteId } as const
      await recordAuditEvent(kysely, { now: Date.now() }, change)
    }
    await delay(5)
  }
  return events
}

/** Requests UserInfo at a steady rate. @returns the sorted durations */
async function askUserInfo(url: string, token: string, endMs: number): Promise<number[]> {
  const requests: Promise<number>[] = []
  const request = async () => {
    const sentMs = performance.now()
    const { status } = await userinfo(url, token)
    if (status !== 200) throw new Error(`UserInfo responded with ${status}`)
    return performance.now() - sentMs
  }
  for (; performance.now() < endMs; await delay(USERINFO_EVERY_MS)) requests.push(request())
  return (await Promise.all(requests)).sort((one, other) => one - other)
}

async function main(): Promise<void> {
  const receiver = await startReceiver()
  const [port] = await once(receiver, 'message')
  await using stores = await startStores()
  const common = { WORKERS: '2', NODE_EXTRA_CA_CERTS: join(folder, 'cert'), LOG_LEVEL: 'silent' }
  const place: Variables = { ...(await newPlace('postgres', stores)), ...common }
  const preload = `data:text/javascript,${encodeURIComponent(network(port))}`
  const nodeFlags = ['--import', preload]
  await using service = await startOurs(place, { cores: undefined, nodeFlags })
  const url = place['DATABASE_URL'] ?? ''
  await using database = await openDatabase({ kind: 'postgres', url, connectionsMax: 4 }, patiently)
  await addEndpoints(database)
  const { access_token } = await obtain(service.url)
  const pids = childrenOf(service.pid)
  const spentSeconds = () => pids.reduce((sum, pid) => sum + processorSeconds(pid), 0)

  const spentBefore = spentSeconds()
  const begunMs = performance.now()
  const endMs = begunMs + seconds * 1000
  const asking = askUserInfo(service.url, access_token, endMs)
  const offered = (await recordEvents(database, begunMs, endMs)) * (ENDPOINTS_PER_SITE - 1)
  const inTime = await ask(receiver)
  const tookMs = await asking
  const spentMs = (spentSeconds() - spentBefore) * 1000
  let all = inTime
  for (; all.count < offered && performance.now() < endMs + SETTLED_WITHIN_MS; await delay(50))
    all = await ask(receiver)
  receiver.kill()
  const percentile = (share: number) => tookMs[Math.floor(tookMs.length * share)]?.toFixed(1)
  process.stdout.write(`${describeMachine(undefined)}; load average ${loadavg()[0]?.toFixed(1)}
Deliveries per second: ${(inTime.count / seconds).toFixed(0)} of ${(offered / seconds).toFixed(0)}; missing at the end: ${offered - all.count}; longest delay: ${all.longestMs} ms
UserInfo, ${tookMs.length} requests: median ${percentile(0.5)} ms, p99 ${percentile(0.99)} ms
Processor time of both processes, with UserInfo, per delivery: ${(spentMs / inTime.count).toFixed(2)} ms
`)
}

function childrenOf(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
  return children.trim().split(' ').map(Number)
}

await (process.argv[2] === 'receive' ? receive() : main())
