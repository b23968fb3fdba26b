import { expect } from 'chai'
import { decodeJwt } from 'jose'

import {
  authorizeUrl,
  exchange,
  introspect,
  obtainCode,
  obtainTokens,
  refresh,
} from '../support/client.ts'
import { configWith, type ServiceProcess, startBalancer, startProcess } from '../support/process.ts'
import { eventually } from '../support/programs.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'

const SKEW_SECONDS = 300
const LIFE_SECONDS = 4
/** Both ends are rounded to whole seconds somewhere, and a machine may be busy. */
const TOLERANCE_SECONDS = 2

// design 32: two processes that are one service, on machines whose clocks are ten minutes apart.
describe('processes whose clocks are 5 minutes ahead and 5 minutes behind', () => {
  const opened = new AsyncDisposableStack()
  let ahead: ServiceProcess
  let behind: ServiceProcess
  let baseUrl: string

  before(async function () {
    const storage = await postgresWithDemo(requireProgram(this, 'postgres'))
    const balancer = opened.use(await startBalancer())
    baseUrl = balancer.url
    const CONFIG_DIR = configWith((policy) => ({
      ...policy,
      lifetimes: {
        ...policy.lifetimes,
        authorizationCodeSeconds: LIFE_SECONDS,
        accessTokenSeconds: LIFE_SECONDS,
      },
      storage: { ...policy.storage, answerWithinMs: 450 },
    }))
    const variables = { ...storage, BASE_URL: baseUrl, CONFIG_DIR }
    ahead = opened.use(await startProcess(variables, withClock(SKEW_SECONDS)))
    behind = opened.use(await startProcess(variables, withClock(-SKEW_SECONDS)))
    balancer.serve([ahead.url, behind.url])
  })
  after(() => opened.disposeAsync())

  it('take a benign retry of a refresh for what it is, whichever of them hears it [design 10]', async () => {
    for (const [one, other] of pairs()) {
      const { refreshToken } = await obtainTokens(baseUrl)
      const first = await refresh(one.url, refreshToken)
      const again = await refresh(other.url, refreshToken)
      expect([first.status, again.status]).to.deep.equal([200, 200])
      expect(again.body.refresh_token).to.equal(first.body.refresh_token)
      expect((await refresh(one.url, again.body.refresh_token)).status).to.equal(200)
    }
  })

  it('take a page that runs its callback twice for what it is [design 11]', async () => {
    for (const [one, other] of pairs()) {
      const { code } = await obtainCode(baseUrl)
      const first = await exchange(one.url, code, { resource: baseUrl })
      expect(first.status).to.equal(200)
      expect((await exchange(other.url, code, { resource: baseUrl })).status).to.equal(400)
      expect((await refresh(other.url, first.body.refresh_token)).status).to.equal(200)
    }
  })

  it('let a code live as long as it lives, and no longer [RFC 6749 §4.1.2]', async () => {
    await both(async (one, other) => {
      const { code } = await codeOf(one)
      expect((await exchange(other.url, code, { resource: baseUrl })).status).to.equal(200)
      const late = await codeOf(one)
      await passed(late.atMs, LIFE_SECONDS + TOLERANCE_SECONDS)
      const refused = await exchange(other.url, late.code, { resource: baseUrl })
      expect([refused.status, refused.body.error]).to.deep.equal([400, 'invalid_grant'])
    })
  })

  it('end an access token when it ends, and say so in true time', async () => {
    await both(async (one, other) => {
      const { code } = await codeOf(one)
      const { body } = await exchange(one.url, code, { resource: baseUrl })
      const issuedMs = Date.now()
      const { iat, exp, active } = (await introspect(other.url, body.access_token)).body
      expect(active).to.equal(true)
      expect(exp - iat).to.equal(LIFE_SECONDS)
      expect(iat).to.be.closeTo(issuedMs / 1000, TOLERANCE_SECONDS)
      await eventually(20_000, async () => {
        const answer = await introspect(other.url, body.access_token)
        if (answer.body.active) throw new Error('it lives')
      })
      const lived = (Date.now() - issuedMs) / 1000
      expect(lived).to.be.closeTo(LIFE_SECONDS, TOLERANCE_SECONDS)
    })
  })

  it('date an id_token by true time, so that no client finds it to be of the future', async () => {
    for (const process of [ahead, behind]) {
      const { code } = await codeOf(process)
      const { body } = await exchange(process.url, code, { resource: baseUrl })
      const { iat = 0, exp = 0 } = decodeJwt(body.id_token)
      expect(iat).to.be.closeTo(Date.now() / 1000, TOLERANCE_SECONDS)
      expect(exp).to.be.greaterThan(Date.now() / 1000)
    }
  })

  it('name the difference in the log', async () => {
    const lines = (process: ServiceProcess) => process.output.soFar()
    expect(lines(ahead)).to.match(
      /The clock of this machine is 30\d\.\d s ahead of the database clock/,
    )
    expect(lines(behind)).to.match(
      /The clock of this machine is (29\d|300)\.\d s behind the database clock/,
    )
  })

  function pairs(): [ServiceProcess, ServiceProcess][] {
    return [
      [ahead, behind],
      [behind, ahead],
    ]
  }

  /** At the same time, because lives are waited for. */
  async function both(
    check: (one: ServiceProcess, other: ServiceProcess) => Promise<void>,
  ): Promise<void> {
    await Promise.all(pairs().map(([one, other]) => check(one, other)))
  }

  /** A code that this very process issued, and when. */
  async function codeOf(process: ServiceProcess) {
    const { person } = await obtainCode(baseUrl)
    const { pathname, search } = authorizeUrl(baseUrl)
    const answer = await person.open(new URL(pathname + search, process.url))
    const location = new URL(answer.headers.get('location') ?? 'none:')
    return { code: location.searchParams.get('code') ?? '', atMs: Date.now() }
  }
})

async function passed(sinceMs: number, seconds: number): Promise<void> {
  await eventually(20_000, async () => {
    if (Date.now() - sinceMs < seconds * 1000) throw new Error('not yet')
  })
}

/** The service on a machine whose clock is wrong: what Node says of the time is moved before it starts. */
function withClock(seconds: number): readonly string[] {
  const moved = `const { now } = Date
const true_ = globalThis.Date
const move = () => now() + ${seconds * 1000}
globalThis.Date = class Date extends true_ {
  constructor(...parts) { parts.length === 0 ? super(move()) : super(...parts) }
  static now() { return move() }
}`
  const preload = `data:text/javascript,${encodeURIComponent(moved)}`
  return [process.execPath, '--import', preload, 'src/main.ts']
}
