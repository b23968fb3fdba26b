import {
  introspect,
  type ObtainedCode,
  obtainCode,
  obtainTokens,
  redeem,
  refresh,
  userinfo,
} from '../support/client.ts'
import {
  dataFolderWithDemo,
  patientService,
  type ServiceProcess,
  startProcess,
} from '../support/process.ts'
import { freePort } from '../support/programs.ts'
import { refusalOf } from '../support/wire.ts'

const ROUNDS = 4
const FAMILIES = 6
const CODES = 6

/** What clients received in a round, which must survive the crash. `held` has the current refresh token of each family. */
type Ledger = { accessTokens: string[]; exchanged: ObtainedCode[]; held: string[] }

type Load = { codes: ObtainedCode[]; killAfter: number }

describe('a crash of the process on the embedded database', function () {
  this.retries(0)
  // [threat 33]
  it(`loses nothing that was acknowledged, in ${ROUNDS} rounds of kill -9 under load`, async () => {
    const variables = { DATA_DIR: await dataFolderWithDemo(), PORT: String(await freePort()) }
    await using processes = new AsyncDisposableStack()
    let service = processes.use(await startProcess(variables, patientService))
    const { url } = service
    for (let round = 0; round < ROUNDS; round += 1) {
      const ledger: Ledger = { accessTokens: [], exchanged: [], held: [] }
      const codes: ObtainedCode[] = []
      while (codes.length < CODES) codes.push(await obtainCode(url))
      while (ledger.held.length < FAMILIES) ledger.held.push((await obtainTokens(url)).refreshToken)
      const killAfter = 15 + 11 * round
      await crashUnderLoad(service, ledger, { codes, killAfter })
      expect(ledger.accessTokens.length).to.be.greaterThanOrEqual(killAfter)
      service = processes.use(await startProcess(variables, patientService))
      await expectKept(url, ledger)
    }
  })
})

/** Refreshes tokens and exchanges codes at the same time, and kills the process after `killAfter` responses. */
async function crashUnderLoad(service: ServiceProcess, ledger: Ledger, load: Load) {
  const { codes, killAfter } = load
  const note = (accessToken: string) => {
    ledger.accessTokens.push(accessToken)
    if (ledger.accessTokens.length === killAfter) process.kill(service.pid, 'SIGKILL')
  }
  const refreshing = ledger.held.map(async (_, family) => {
    for (;;) {
      const answer = await unlessGone(refresh(service.url, ledger.held[family] ?? ''))
      if (!answer) return
      expect(refusalOf(answer)).to.equal('200 undefined')
      ledger.held[family] = answer.body.refresh_token
      note(answer.body.access_token)
    }
  })
  const exchanging = async () => {
    for (const code of codes) {
      const answer = await unlessGone(redeem(service.url, code))
      if (!answer) return
      expect(refusalOf(answer)).to.equal('200 undefined')
      ledger.exchanged.push(code)
      ledger.held.push(answer.body.refresh_token)
      note(answer.body.access_token)
    }
  }
  await Promise.all([...refreshing, exchanging()])
  await service.ended()
}

/** Returns the answer, or undefined if the connection broke because the process is gone. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  return await answer.catch((error) => {
    if (!/^(ECONNRESET|ECONNREFUSED|EPIPE)$/.test(error?.code)) throw error
    return undefined
  })
}

async function expectKept(url: string, ledger: Ledger): Promise<void> {
  for (const token of ledger.accessTokens)
    expect((await introspect(url, token)).body.active).to.equal(true)
  expect((await userinfo(url, ledger.accessTokens.at(-1) ?? '')).status).to.equal(200)
  for (const token of ledger.held) {
    const answer = await refresh(url, token)
    expect(refusalOf(answer)).to.equal('200 undefined')
    expect(answer.body.refresh_token).not.to.equal(token)
  }
  // Last, because a replay ends its grant.
  for (const code of ledger.exchanged)
    expect(refusalOf(await redeem(url, code))).to.equal('400 invalid_grant')
}
