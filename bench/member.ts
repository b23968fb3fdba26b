import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { Agent, request } from 'node:http'
import { text } from 'node:stream/consumers'

import { paths } from '../src/http/paths.ts'
import { memberToken } from '../test/support/member-api.ts'
import { startProcess } from '../test/support/process.ts'

/**
 * `node bench/member.ts [seconds]`: processor time that a service process of its own spends on one
 * request of the Member API, verification of the token and the database included. The embedded
 * database, unless DATABASE_URL, REDIS_URL and SECRET are set (bench/endpoints.ts).
 */
const seconds = Math.min(60, Number(process.argv[2] ?? 4))
const CONNECTIONS = 16
const TICKS_PER_SECOND = 100

const documents = {
  'viewer { id }': '{ viewer { id } }',
  'viewer with schools': '{ viewer { id name email schools { name roles } } }',
  'viewer with courses and last lectures':
    '{ viewer { id name email schools { name roles } enrolledCourses(first: 20) { nodes { slug title expireDate hasLifetimeAccess lastWatchedLecture { lectureId positionSeconds } } pageInfo { hasNextPage endCursor } } } }',
  'everything, four lists and the inbox':
    '{ viewer { id name email schools { name roles } enrolledCourses { totalCount nodes { slug title expireDate hasLifetimeAccess lastWatchedLecture { lectureId positionSeconds } } } digitalProducts { nodes { slug title } } consultingServices { nodes { slug title scheduledAt } } eventRegistrations { nodes { slug startsAt } } } notifications { nodes { title body createdAt readAt } } unreadNotificationCount notificationSubscriptions { topic channel enabled } }',
} as const

interface Load {
  readonly url: string
  readonly pid: number
  readonly token: string
  readonly body: string
}

async function main(): Promise<void> {
  const { DATABASE_URL, REDIS_URL, SECRET } = process.env
  const given = Object.entries({ DATABASE_URL, REDIS_URL, SECRET }).filter(([, value]) => value)
  await using service = await startProcess({
    ...(Object.fromEntries(given) as Record<string, string>),
    LOG_LEVEL: 'silent',
  })
  const token = await memberToken(service.url)
  process.stdout.write(
    `${DATABASE_URL ? 'PostgreSQL' : 'SQLite'}${REDIS_URL ? ' and Redis' : ''}, node ${process.version}\n\n` +
      '| query | answer bytes | requests/s | processor µs/request |\n|-|-|-|-|\n',
  )
  for (const [name, query] of Object.entries(documents)) {
    const load = { url: service.url, pid: service.pid, token, body: JSON.stringify({ query }) }
    // The first second compiles the code paths and keeps the document.
    await run(load, 1)
    const { bytes, perSecond, microseconds } = await run(load, seconds)
    process.stdout.write(
      `| ${name} | ${bytes} | ${perSecond.toFixed(0)} | ${microseconds.toFixed(0)} |\n`,
    )
  }
}

async function run(load: Load, durationSeconds: number) {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const before = processorSeconds(load.pid)
  const startedAt = performance.now()
  let requests = 0
  let bytes = 0
  const one = async () => {
    while (performance.now() - startedAt < durationSeconds * 1000) {
      bytes = await send(load, agent)
      requests += 1
    }
  }
  await Promise.all(Array.from({ length: CONNECTIONS }, one))
  const elapsedSeconds = (performance.now() - startedAt) / 1000
  const microseconds = ((processorSeconds(load.pid) - before) / requests) * 1e6
  agent.destroy()
  return { bytes, perSecond: requests / elapsedSeconds, microseconds }
}

async function send({ url, token, body }: Load, agent: Agent): Promise<number> {
  const outgoing = request(url + paths.graphql, {
    agent,
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    },
  })
  outgoing.end(body)
  const [answer] = await once(outgoing, 'response')
  const received = await text(answer)
  if (answer.statusCode !== 200 || received.includes('"errors"')) throw new Error(received)
  return Buffer.byteLength(received)
}

/** User and system time of a process, all of its threads included (proc(5)). */
function processorSeconds(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND
}

await main()
