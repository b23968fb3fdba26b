import { expect } from 'chai'

import {
  introspect,
  type ObtainedCode,
  obtainCode,
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
import { getTokens } from '../support/relying-party.ts'

const ROUNDS = 4
const FAMILIES = 6
const CODES = 6
/** How many answers come before the process is killed; another number in each round. */
const killAfter = (round: number) => 15 + 11 * round

/** What clients were told in a round; all of it must hold after the crash. */
interface Ledger {
  readonly accessTokens: string[]
  readonly exchanged: ObtainedCode[]
  /** The refresh token that each client holds. */
  readonly held: string[]
}

describe('a crash of the process on the embedded database', function () {
  this.retries(0)
  // [threat 33]
  it(`loses nothing that was answered, in ${ROUNDS} rounds of kill -9 under load`, async () => {
    const variables = { DATA_DIR: await dataFolderWithDemo(), PORT: String(await freePort()) }
    await using processes = new AsyncDisposableStack()
    let service = processes.use(await startProcess(variables, patientService))
    const { url } = service
    for (let round = 0; round < ROUNDS; round += 1) {
      const codes = await inTurn(CODES, () => obtainCode(url))
      const held = await inTurn(FAMILIES, () => newFamily(url))
      const ledger: Ledger = { accessTokens: [], exchanged: [], held }

      await crashUnderLoad(service, { ledger, codes, killAfter: killAfter(round) })
      expect(ledger.accessTokens.length).to.be.greaterThanOrEqual(killAfter(round))
      service = processes.use(await startProcess(variables, patientService))
      await expectKept(url, ledger)
    }
  })
})

async function inTurn<T>(times: number, make: () => Promise<T>): Promise<T[]> {
  const made: T[] = []
  for (let i = 0; i < times; i += 1) made.push(await make())
  return made
}

async function newFamily(url: string): Promise<string> {
  return (await getTokens(url)).tokens.refresh_token ?? ''
}

interface Load {
  readonly ledger: Ledger
  readonly codes: readonly ObtainedCode[]
  readonly killAfter: number
}

/** Refreshes and exchanges at the same time, and a kill in the middle of them. */
async function crashUnderLoad(service: ServiceProcess, load: Load): Promise<void> {
  const { ledger, codes } = load
  const { url } = service
  const note = (accessToken: string) => {
    ledger.accessTokens.push(accessToken)
    if (ledger.accessTokens.length === load.killAfter) process.kill(service.pid, 'SIGKILL')
  }
  const refreshing = ledger.held.map(async (_, family) => {
    for (;;) {
      const answer = await unlessGone(refresh(url, ledger.held[family] ?? ''))
      if (!answer) return
      expect([answer.status, answer.body.error]).to.deep.equal([200, undefined])
      ledger.held[family] = answer.body.refresh_token
      note(answer.body.access_token)
    }
  })
  const exchanging = async () => {
    for (const code of codes) {
      const answer = await unlessGone(redeem(url, code))
      if (!answer) return
      expect([answer.status, answer.body.error]).to.deep.equal([200, undefined])
      ledger.exchanged.push(code)
      ledger.held.push(answer.body.refresh_token)
      note(answer.body.access_token)
    }
  }
  await Promise.all([...refreshing, exchanging()])
  await service.ended()
}

const isGone = /^(ECONNRESET|ECONNREFUSED|EPIPE)$/

/** Nothing, when the connection broke because the process is gone. */
async function unlessGone<T>(answer: Promise<T>): Promise<T | undefined> {
  try {
    return await answer
  } catch (error) {
    if (error instanceof Error && 'code' in error && isGone.test(String(error.code)))
      return undefined
    throw error
  }
}

async function expectKept(url: string, ledger: Ledger): Promise<void> {
  for (const token of ledger.accessTokens) {
    expect((await introspect(url, token)).body.active).to.equal(true)
  }
  expect((await userinfo(url, ledger.accessTokens.at(-1) ?? '')).status).to.equal(200)
  for (const token of ledger.held) {
    // The one whose refresh the crash interrupted is repeated here, and works as well.
    const { status, body } = await refresh(url, token)
    expect([status, body.error]).to.deep.equal([200, undefined])
    expect(body.refresh_token).not.to.equal(token)
  }
  // Last, because a replay ends its grant.
  for (const code of ledger.exchanged) {
    const { status, body } = await redeem(url, code)
    expect([status, body.error]).to.deep.equal([400, 'invalid_grant'])
  }
}
