import { setTimeout as delay } from 'node:timers/promises'

import { decodeJwt } from 'jose'

import { makeClockWatch } from '../../src/platform/store/clock.ts'
import {
  authorizeUrl,
  exchange,
  introspect,
  obtainCode,
  obtainTokens,
  refresh,
} from '../support/client.ts'
import { policyWith } from '../support/gatehouse.ts'
import { configWith, startBalancedPair, withClock } from '../support/process.ts'
import { eventually } from '../support/programs.ts'
import { shared } from '../support/shared.ts'
import { sharedDemo } from '../support/storages.ts'
import { refusalOf } from '../support/wire.ts'

const SKEW_SECONDS = 300
const LIFE_SECONDS = 4
/** Allows for times that are rounded to whole seconds, and for delays of a busy machine. */
const TOLERANCE_SECONDS = 2

// The clocks of the two processes are ten minutes apart, as on different machines (design 32).
describe('processes whose clocks are 5 minutes ahead and 5 minutes behind', () => {
  const demo = sharedDemo()
  /** The first process is ahead, the second behind. */
  const pair = shared(async () => {
    const lives = { authorizationCodeSeconds: LIFE_SECONDS, accessTokenSeconds: LIFE_SECONDS }
    const policy = policyWith({ lifetimes: lives, storage: { answerWithinMs: 450 } })
    const commands = [withClock(SKEW_SECONDS), withClock(-SKEW_SECONDS)]
    return await startBalancedPair({ ...demo(), CONFIG_DIR: configWith(policy) }, commands)
  })

  /** Runs the check in both directions at once, because each direction waits for lifetimes to end. */
  async function both(check: (one: string, other: string) => Promise<void>): Promise<void> {
    const { first, second } = pair()
    await Promise.all([check(first.url, second.url), check(second.url, first.url)])
  }

  const redeemAt = async (url: string, code: string) =>
    await exchange(url, code, { resource: pair().url })

  it('accept a benign retry of a refresh at the other process [design 10]', async () => {
    await both(async (one, other) => {
      const { refreshToken } = await obtainTokens(pair().url)
      const first = await refresh(one, refreshToken)
      const again = await refresh(other, refreshToken)
      expect([first.status, again.status]).to.deep.equal([200, 200])
      expect(again.body.refresh_token).to.equal(first.body.refresh_token)
      expect((await refresh(one, again.body.refresh_token)).status).to.equal(200)
    })
  })

  it('keep the grant when a page runs its callback twice [design 11]', async () => {
    await both(async (one, other) => {
      const { code } = await obtainCode(pair().url)
      const first = await redeemAt(one, code)
      expect([first.status, (await redeemAt(other, code)).status]).to.deep.equal([200, 400])
      expect((await refresh(other, first.body.refresh_token)).status).to.equal(200)
    })
  })

  it('accept a code for its lifetime and no longer [RFC 6749 §4.1.2]', async () => {
    await both(async (one, other) => {
      expect((await redeemAt(other, await codeOf(one))).status).to.equal(200)
      const late = await codeOf(one)
      await delay((LIFE_SECONDS + TOLERANCE_SECONDS) * 1000)
      expect(refusalOf(await redeemAt(other, late))).to.equal('400 invalid_grant')
    })
  })

  it('end an access token in true time, and date it and its id_token by true time', async () => {
    await both(async (one, other) => {
      const { body } = await redeemAt(one, await codeOf(one))
      const issuedMs = Date.now()
      const { iat, exp, active } = (await introspect(other, body.access_token)).body
      expect([active, exp - iat]).to.deep.equal([true, LIFE_SECONDS])
      expect(iat).to.be.closeTo(issuedMs / 1000, TOLERANCE_SECONDS)
      const idToken = decodeJwt(body.id_token)
      expect(idToken.iat).to.be.closeTo(issuedMs / 1000, TOLERANCE_SECONDS)
      expect(idToken.exp).to.be.greaterThan(issuedMs / 1000)
      await eventually(20_000, async () => {
        expect((await introspect(other, body.access_token)).body.active).to.equal(false)
      })
      expect((Date.now() - issuedMs) / 1000).to.be.closeTo(LIFE_SECONDS, TOLERANCE_SECONDS)
    })
  })

  it('log the difference', () => {
    const [ahead, behind] = [pair().first, pair().second].map(({ output }) => output.soFar())
    expect(ahead).to.match(/The clock of this machine is 30\d\.\d s ahead of the database clock/)
    const said = /The clock of this machine is (29\d|300)\.\d s behind the database clock/
    expect(behind).to.match(said)
  })

  async function codeOf(url: string): Promise<string> {
    const { pathname, search } = authorizeUrl(pair().url)
    const answer = await (await obtainCode(pair().url)).person.open(new URL(pathname + search, url))
    return new URL(answer.headers.get('location') ?? 'none:').searchParams.get('code') ?? ''
  }
})

it('a machine clock that drifts is logged once, and so is its correction', async () => {
  const lines: string[] = []
  const add = (line: unknown) => void lines.push(String(line))
  const differences = [0, -1900, 2500, 3000, 10, 0]
  const watch = makeClockWatch(async () => differences.shift() ?? 0, { warn: add, info: add })
  const seen: number[] = []
  while (differences.length > 0) {
    await watch()
    seen.push(lines.length)
  }
  expect(seen).to.deep.equal([0, 0, 1, 1, 2, 2])
  expect(lines[0]).to.include('2.5 s ahead of the database clock')
  expect(lines[1]).to.include('matches the database clock again')
})
