import { introspect, obtainCode, obtainTokens, redeem, refresh } from '../support/client.ts'
import { policyWith } from '../support/gatehouse.ts'
import {
  configWith,
  dataFolderWithDemo,
  type Pair,
  startPair,
  type Variables,
} from '../support/process.ts'
import { eventually } from '../support/programs.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'
import type { Answer } from '../support/wire.ts'

const PARALLEL = 50

async function inParallel({ first, second }: Pair, call: (address: string) => Promise<Answer>) {
  const addresses = Array.from({ length: PARALLEL }, (_, i) => (i % 2 ? first : second).url)
  return await Promise.all(addresses.map(call))
}

function count(answers: readonly Answer[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { status, body } of answers) {
    const key = `${status} ${body.error ?? ''}`.trim()
    counts[key] = (counts[key] ?? 0) + 1
  }
  return counts
}

function races(stores: string, storageOf: (test: Mocha.Context) => Promise<Variables>): void {
  describe(`races between two processes on ${stores}`, function () {
    this.retries(0)
    const opened = new AsyncDisposableStack()
    let pair: Pair
    let impatient: Pair
    before(async function () {
      const storage = await storageOf(this)
      pair = opened.use(await startPair(storage))
      const CONFIG_DIR = configWith(policyWith({ lifetimes: { refreshRetrySeconds: 1 } }))
      impatient = opened.use(await startPair({ ...storage, CONFIG_DIR }))
    })
    after(() => opened.disposeAsync())

    // [RFC 6749 §4.1.2; RFC 6749 §10.5; threat 9]
    it('let exactly one of 50 parallel exchanges of a code succeed [design 11]', async () => {
      for (let round = 0; round < 3; round += 1) {
        const code = await obtainCode(pair.first.url)
        const answers = await inParallel(pair, (address) => redeem(address, code))
        expect(count(answers)).to.deep.equal({ '200': 1, '400 invalid_grant': PARALLEL - 1 })
      }
    })

    it('make one family of 50 parallel uses of a refresh token [design 10] [69]', async () => {
      let current = (await obtainTokens(pair.first.url)).refreshToken
      for (let round = 0; round < 3; round += 1) {
        const used = current
        const answers = await inParallel(pair, (address) => refresh(address, used))
        expect(count(answers)).to.deep.equal({ '200': PARALLEL })
        const families = answers.map(({ body }) => `${body.access_token} ${body.refresh_token}`)
        expect(new Set(families)).to.have.property('size', 1)
        const { access_token, refresh_token } = answers[0]?.body ?? {}
        for (const { url } of [pair.first, pair.second])
          expect((await introspect(url, access_token)).body.active).to.equal(true)
        expect(refresh_token).to.be.a('string').that.is.not.equal(used)
        current = refresh_token
      }
    })

    // [threat 10]
    it('end the grant when a replaced refresh token is used later [design 10]', async () => {
      const { refreshToken } = await obtainTokens(impatient.first.url)
      const { body: next } = await refresh(impatient.first.url, refreshToken)
      // Within the window of one second, this is a retry, which changes nothing.
      await eventually(20_000, async () => {
        const late = await refresh(impatient.second.url, refreshToken)
        expect(count([late])).to.deep.equal({ '400 invalid_grant': 1 })
      })
      for (const { url } of [impatient.first, impatient.second])
        expect((await introspect(url, next.access_token)).body).to.deep.equal({ active: false })
      const refused = await refresh(impatient.first.url, next.refresh_token)
      expect(count([refused])).to.deep.equal({ '400 invalid_grant': 1 })
    })
  })
}

races('one SQLite file', async () => ({ DATA_DIR: await dataFolderWithDemo() }))
races('PostgreSQL', async (test) => await postgresWithDemo(requireProgram(test, 'postgres')))
