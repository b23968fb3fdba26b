import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { pino } from 'pino'

import { paths } from '../../src/platform/http/paths.ts'
import { startBackgroundTasks } from '../../src/platform/process/background-tasks.ts'
import { makeHeadlessPerson } from '../../tools/token/headless-person.ts'
import { authorizeUrl, obtainTokens, userinfo } from '../support/client.ts'
import { insert, openEmbedded, rowsOf } from '../support/database.ts'
import { policyWith, sam } from '../support/gatehouse.ts'
import { cookiesIn, hiddenField, targetOf } from '../support/page-person.ts'
import { connectTo } from '../support/postgres.ts'
import { configWith, dataFolderWithDemo } from '../support/process.ts'
import { eventually, temporaryFolder } from '../support/programs.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'
import {
  isAlive,
  isStopped,
  type KeptConnection,
  keepConnection,
  readLines,
  startLoad,
  startWorkers,
  type Workers,
} from '../support/workers.ts'

const WAIT_MS = 45_000
const FAILURES_MAX = 4
/** Lines of about 200 bytes. Together, they are more than pipes and their readers can buffer. */
const LINES = 4_000

const fewFailures = () =>
  configWith(policyWith({ signIn: { failuresPerAccountAndAddressMax: FAILURES_MAX } }))

const living = (service: Workers) => service.served().filter(isAlive)
const tokenAt = async ({ url }: Workers) => ({ url, ...(await obtainTokens(url)) })

describe('workers', function () {
  this.timeout(180_000)

  it('share one port and one new database, and print one welcome', async () => {
    const DATA_DIR = temporaryFolder()
    await using service = await startWorkers(4, { DATA_DIR })
    expect(new Set(service.served())).to.have.property('size', 4)
    await eventually(WAIT_MS, async () => {
      await fetch(service.url + paths.jwks, { headers: { connection: 'close' } })
      const answering = service.lines().flatMap(({ id, pid }) => (id === undefined ? [] : pid))
      expect([...new Set(answering)]).to.have.members(service.served())
    })
    expect(readdirSync(DATA_DIR).filter((file) => file.startsWith('secret'))).to.eql(['secret'])
    const { accessToken } = await tokenAt(service)
    for (const _ of service.served())
      expect((await userinfo(service.url, accessToken)).status).to.eql(200)
    const { code, stderr } = await service.stop()
    expect([code, stderr.match(/Gatehouse serves/g)?.length]).to.deep.equal([0, 1])
    expect(stderr).to.match(/^Gatehouse serves [^\n]+ 4 workers\)\n(.+\n)*$/)
  })

  it('divide the connections to the database', async function () {
    const storage = await postgresWithDemo(requireProgram(this, 'postgres'))
    const CONFIG_DIR = configWith(policyWith({ storage: { databaseConnectionsMax: 5 } }))
    await using service = await startWorkers(2, { ...storage, CONFIG_DIR })
    expect((await fetch(service.url + paths.ready)).status).to.equal(200)
    const load = startLoad(await tokenAt(service), { connections: 16 })
    await load.progress(200)
    await using client = await connectTo(storage.DATABASE_URL)
    const { rows } = await client.query(`select count(*)::int from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`)
    await load.end()
    expect(rows[0].count).to.be.within(2, 4)
  })

  it('count failed sign-ins together without Redis, also when one of them dies', async () => {
    // A guess takes three requests and the two workers take turns, so consecutive guesses start at different workers.
    await using service = await startWorkers(2, { CONFIG_DIR: fewFailures() })
    const statuses = await Array.fromAsync({ length: FAILURES_MAX + 3 }, () => guess(service))
    expect(statuses).to.deep.equal([401, 401, 401, 401, 429, 429, 429])
    const [victim = 0] = service.served()
    process.kill(victim, 'SIGKILL')
    expect(await service.says('a worker died')).to.include({ worker: victim })
    await service.says('a worker accepts requests', 3)
    for (let turn = 0; turn < 4; turn += 1) expect(await guess(service)).to.equal(429)
    expect(living(service)).to.have.length(2)
    expect((await service.stop()).code).to.equal(0)
  })

  it('count by themselves while the primary does not answer', async () => {
    await using service = await startWorkers(2, { CONFIG_DIR: fewFailures() })
    const kept = keepConnection(service.url)
    expect(await guessOn(service, kept)).to.equal(401)
    service.signal('SIGSTOP')
    await eventually(WAIT_MS, async () => expect(isStopped(service.pid)).to.equal(true))
    const tries = { length: FAILURES_MAX + 2 }
    const statuses = await Array.fromAsync(tries, () => guessOn(service, kept))
    service.signal('SIGCONT')
    kept.close()
    expect(statuses.slice(0, FAILURES_MAX - 1)).to.deep.equal([401, 401, 401])
    expect(statuses.at(-1)).to.equal(429)
  })

  it('clean up in one worker at a time, and in another one when that worker dies', async () => {
    const CONFIG_DIR = configWith(policyWith({ storage: { sweepSeconds: 1 } }))
    const DATA_DIR = await dataFolderWithDemo()
    await using service = await startWorkers(2, { CONFIG_DIR, DATA_DIR })
    const words = 'a worker now runs the tasks that only one process per host runs'
    const { worker: first = 0 } = await service.says(words)
    await expectSwept(DATA_DIR)
    process.kill(first, 'SIGKILL')
    const { worker: second } = await service.says(words, 2)
    expect(service.served()).to.include(second)
    expect(second).not.to.equal(first)
    await expectSwept(DATA_DIR)
  })

  it('skip a task that another process runs', async () => {
    const [done, logger] = [[] as string[], pino({ level: 'silent' })]
    let mine = false
    const run = (name: string) => async () => done.push(name)
    const tasks = [
      { name: 'sweep', everySeconds: 0.001, run: run('sweep'), onlyWhen: () => mine },
      { name: 'flush', everySeconds: 0.001, run: run('flush') },
    ]
    await using _tasks = startBackgroundTasks(tasks, { logger })
    await eventually(WAIT_MS, async () => expect(done).to.have.length.above(3))
    expect(done).not.to.include('sweep')
    mine = true
    await eventually(WAIT_MS, async () => expect(done).to.include('sweep'))
  })

  it('write whole log lines to a pipe, even if its reader pauses', async () => {
    const pipe = join(temporaryFolder(), 'pipe')
    const script = `mkfifo "${pipe}"; cat "${pipe}" & exec node src/main.ts > "${pipe}"`
    await using service = await startWorkers(2, {}, ['sh', '-c', script])
    const at = await tokenAt(service)
    service.output.pause()
    const load = startLoad(at, { connections: 8, pauseMs: 0 })
    await load.progress(LINES)
    service.output.resume()
    await load.end()
    const ids = readLines((await service.stop()).stdout).flatMap(({ id }) => id ?? [])
    expect(ids.length).to.be.at.least(LINES)
    expect(new Set(ids)).to.have.property('size', ids.length)
  })

  it('do not lose requests on keep-alive connections during a reload', async () => {
    await using service = await startWorkers(2)
    const load = startLoad(await tokenAt(service), { connections: 12 })
    await load.progress(100)
    const before = service.served()
    for (const round of [1, 2]) {
      service.signal('SIGHUP')
      await service.says('reloaded', round)
      await load.progress(100)
    }
    await load.end()
    expect(new Set(load.outcomes)).to.deep.equal(new Set([200]))
    expect(service.served()).to.have.length(6)
    await eventually(WAIT_MS, async () => expect(before.filter(isAlive)).to.deep.equal([]))
    expect((await service.stop()).code).to.equal(0)
  })

  it('answer once more on each connection during a reload, with Connection: close', async () => {
    await using service = await startWorkers(2)
    const connections = [1, 2, 3, 4].map(() => keepConnection(service.url))
    for (const { get } of connections) expect((await get(paths.health)).statusCode).to.equal(200)
    service.signal('SIGHUP')
    const untilItEnds = async ({ get, close }: KeptConnection) => {
      await eventually(WAIT_MS, async () => {
        const { statusCode, headers } = await get(paths.health)
        expect([statusCode, headers.connection]).to.deep.equal([200, 'close'])
      })
      close()
    }
    await Promise.all(connections.map(untilItEnds))
    await service.says('reloaded')
  })

  it('are as many as before when one dies during a reload', async () => {
    await using service = await startWorkers(2)
    const [, other = 0] = service.served()
    service.signal('SIGHUP')
    process.kill(other, 'SIGKILL')
    await service.says('reloaded')
    await eventually(WAIT_MS, async () =>
      expect([living(service).length, service.served().length]).to.deep.equal([2, 4]),
    )
  })

  it('read the configuration again on a reload, and keep serving when it is wrong', async () => {
    const CONFIG_DIR = configWith((policy) => policy)
    await using service = await startWorkers(2, { CONFIG_DIR })
    const before = service.served()
    const file = join(CONFIG_DIR, 'service.json')
    const right = readFileSync(file, 'utf8')
    writeFileSync(file, '{')
    service.signal('SIGHUP')
    const failed = 'the reload failed; the remaining workers keep running and were not replaced'
    await service.says(failed)
    expect(before.filter(isAlive)).to.deep.equal(before)
    writeFileSync(file, right.replace('"name":"Gatehouse"', '"name":"Another Name"'))
    service.signal('SIGHUP')
    await service.says('reloaded')
    for (const _ of before) {
      const page = await fetch(service.url, { headers: { connection: 'close' } })
      expect(await page.text()).to.include('Another Name')
    }
  })

  it('stop under load after complete responses, and do not leave a process behind', async () => {
    await using service = await startWorkers(2)
    const load = startLoad(await tokenAt(service), { connections: 8 })
    await load.progress(100)
    const { code, signal } = await service.stop()
    await load.end()
    expect({ code, signal }).to.deep.equal({ code: 0, signal: null })
    expect(living(service)).to.deep.equal([])
    // A request on an idle connection that the service closes at the same moment gets no response.
    const others = load.outcomes.filter((outcome) => outcome !== 200)
    expect(others.length).to.be.at.most(8)
    for (const other of others) expect(other).to.match(/ECONNREFUSED|ECONNRESET|socket hang up/)
  })

  it('end by themselves when their primary is gone', async () => {
    await using service = await startWorkers(2)
    // Resolves when standard output is closed, that is, when the last worker has ended.
    await service.kill()
    expect(living(service)).to.deep.equal([])
  })
})

async function guess({ url }: Workers): Promise<number> {
  const headers = { connection: 'close' }
  const person = makeHeadlessPerson(sam)
  const page = targetOf(await person.open(authorizeUrl(url), { headers }), url)
  const form = await (await person.open(page, { headers })).text()
  return (await person.open(page, { method: 'POST', body: wrongGuess(form), headers })).status
}

/** Guesses like `guess`, but on one connection, so that one worker handles every guess. */
async function guessOn({ url }: Workers, { send }: KeptConnection): Promise<number> {
  const { answer } = await send(authorizeUrl(url).href)
  const cookie = cookiesIn(answer.headers['set-cookie'] ?? [])
  const page = answer.headers.location ?? ''
  const form = await send(page, { cookie })
  return (await send(page, { cookie }, wrongGuess(form.body))).answer.statusCode ?? 0
}

function wrongGuess(form: string): URLSearchParams {
  const csrf = hiddenField(form)
  return new URLSearchParams({ csrf, login: sam.login, password: 'a-wrong-guess' })
}

async function expectSwept(dataDir: string): Promise<void> {
  await using database = await openEmbedded(dataDir)
  const id = `swept-${Date.now()}`
  const row = { model: 'Session', id, payload: '{}', expires_at: 1 } as never
  await insert(database.kysely, 'oauth_state', row)
  await eventually(WAIT_MS, async () =>
    expect(await rowsOf(database.kysely, 'oauth_state', { id })).to.deep.equal([]),
  )
}
