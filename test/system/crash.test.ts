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
import { type Answer, refusalOf } from '../support/wire.ts'

const ROUNDS = 4
const FAMILIES = 6
const CODES = 6

// [threat 33]
it(`a crash of the process on the embedded database loses nothing that was acknowledged, in ${ROUNDS} rounds of kill -9 under load`, async function () {
  this.retries(0)
  const variables = { DATA_DIR: await dataFolderWithDemo(), PORT: String(await freePort()) }
  await using processes = new AsyncDisposableStack()
  let service = processes.use(await startProcess(variables, patientService))
  const { url } = service
  for (let round = 0; round < ROUNDS; round += 1) {
    const codes = await Array.fromAsync({ length: CODES }, () => obtainCode(url))
    const obtained = await Array.fromAsync({ length: FAMILIES }, () => obtainTokens(url))
    const held = obtained.map(({ refreshToken }) => refreshToken)
    const killAfter = 15 + 11 * round
    const received = await crashUnderLoad(service, { held, codes, killAfter })
    expect(received.accessTokens.length).to.be.greaterThanOrEqual(killAfter)
    service = processes.use(await startProcess(variables, patientService))
    await expectKept(url, received)
  }
})

type Load = { readonly held: string[]; readonly codes: ObtainedCode[]; readonly killAfter: number }

/**
 * Refreshes the held tokens and exchanges codes at the same time, and kills the process after `killAfter` responses.
 * Returns what clients received, which must survive the crash. `held` has the current refresh token of each family.
 */
async function crashUnderLoad(service: ServiceProcess, { held, codes, killAfter }: Load) {
  const accessTokens: string[] = []
  const exchanged: ObtainedCode[] = []
  /** Returns the refresh token in an answer, or undefined if the connection broke because the process is gone. */
  const receive = async (sent: Promise<Answer>): Promise<string | undefined> => {
    const answer = await sent.catch((error) => {
      if (!/^(ECONNRESET|ECONNREFUSED|EPIPE)$/.test(error?.code)) throw error
    })
    if (!answer) return undefined
    expect(refusalOf(answer)).to.equal('200 undefined')
    expect(answer.body.refresh_token).to.be.a('string')
    accessTokens.push(answer.body.access_token)
    if (accessTokens.length === killAfter) process.kill(service.pid, 'SIGKILL')
    return answer.body.refresh_token
  }
  const refreshing = held.map(async (first, family) => {
    let token: string | undefined = first
    while (token !== undefined) {
      held[family] = token
      token = await receive(refresh(service.url, token))
    }
  })
  const exchanging = async () => {
    for (const code of codes) {
      const token = await receive(redeem(service.url, code))
      if (token === undefined) return
      exchanged.push(code)
      held.push(token)
    }
  }
  await Promise.all([...refreshing, exchanging()])
  await service.ended()
  return { accessTokens, exchanged, held }
}

type Received = Awaited<ReturnType<typeof crashUnderLoad>>

async function expectKept(url: string, { accessTokens, exchanged, held }: Received): Promise<void> {
  for (const token of accessTokens)
    expect((await introspect(url, token)).body.active).to.equal(true)
  expect((await userinfo(url, accessTokens.at(-1) ?? '')).status).to.equal(200)
  for (const token of held) {
    const answer = await refresh(url, token)
    expect(refusalOf(answer)).to.equal('200 undefined')
    expect(answer.body.refresh_token).not.to.equal(token)
  }
  // Replay the codes last, because a replay ends its grant.
  for (const code of exchanged)
    expect(refusalOf(await redeem(url, code))).to.equal('400 invalid_grant')
}
