import { setTimeout as delay } from 'node:timers/promises'

import type { Browser } from 'playwright-core'

import { paths } from '../../src/platform/http/paths.ts'
import { attempt, notRun, type Outcome, RUN_OVER } from '../support/driven.ts'
import { pdf } from '../support/files.ts'
import { olivia } from '../support/gatehouse.ts'
import { install } from '../support/install.ts'
import { makePagePerson, textOf } from '../support/page-person.ts'
import type { Agent, Known } from './client-table.ts'
import { type Desk, openDesk } from './desk.ts'
import { type Driving, type Way, type WayName, wayNames, ways } from './driving.ts'
import { startModelServer } from './model-server.ts'
import { approve, authorize } from './person.ts'

const CLIENT_TIMEOUT_MS = 120_000
const READ_EVERY_MS = 100
const applications = '/admin/northlight/applications'

interface Run {
  readonly serviceUrl: string
  readonly browser: Browser
  readonly over: AbortSignal
}

export async function* runAgent(
  agent: Agent,
  run: Run,
): AsyncGenerator<{ way: WayName; outcome: Outcome }> {
  const installed = run.over.aborted ? undefined : await install(agent.package, run.over)
  for (const way of wayNames.filter((each) => each !== 'later' || agent.known?.later)) {
    if (!installed || run.over.aborted) yield { way, outcome: notRun(RUN_OVER) }
    else if (installed.kind === 'missing') yield { way, outcome: notRun(installed.why) }
    else {
      const goOn = () => goOneWay(agent, ways[way], installed.folder, run)
      yield { way, outcome: await attempt(run.over, goOn) }
    }
  }
}

async function goOneWay(agent: Agent, way: Way, folder: string, run: Run): Promise<Outcome> {
  const { serviceUrl, browser } = run
  const known = agent.known?.[way.name]
  const signal = AbortSignal.any([run.over, AbortSignal.timeout(CLIENT_TIMEOUT_MS)])
  await using model = await startModelServer()
  await using desk = openDesk(async (address) => {
    const asked = { browser, serviceUrl, address, person: way.person }
    return await (isApproval(address) ? approve(asked) : authorize(asked))
  }, signal)
  let problem: string | undefined
  try {
    const clientId = way.name === 'member' ? await makeApplication(serviceUrl, agent) : undefined
    if (way.name === 'changes' && agent.document !== undefined)
      await approveDocument(serviceUrl, agent.document)
    const address = serviceUrl + way.path
    const scopes = async () => await scopesOf(serviceUrl, way)
    const said = await Promise.race([
      agent.drive({
        ...{ way, address, clientId, scopes, folder, desk, browser, model },
        use: userOf(way, desk),
      }),
      failure(desk, known),
    ])
    desk.note(`\nThe answer: ${said}`)
    if (said.includes('/upload/')) await sendFile(desk, uploadLink.exec(said)?.[0] ?? 'no link')
    const missing = way.calls.find(({ answers }) => !said.includes(answers))
    if (missing) problem = `the result of ${missing.tool} lacks the expected text`
    else if (desk.opened.length === 0) problem = 'reached the tool without a sign-in'
  } catch (error) {
    problem = error instanceof Error ? error.message : String(error)
    if (signal.aborted) problem = 'took too long'
    desk.note(`\n${problem}`)
  }
  return { ...judge(problem, desk, known), transcript: desk.transcript() }
}

const uploadLink = /http[^\s"'\\]*\/upload\/[\w.-]+/

/** Sends a file as the host of an assistant would: with a plain HTTP client, without the token. */
async function sendFile(desk: Desk, link: string): Promise<void> {
  const file = desk.write('guide.pdf', String(pdf))
  const words = ['--silent', '--fail-with-body', '--upload-file', file]
  await desk.succeed(['curl', ...words, `${link}?name=guide.pdf`])
}

const approvalLink = /http[^\s"'\\]*\/approvals\?client=[\w%.:/-]+/

const isApproval = (address: string) => approvalLink.test(address)

function userOf({ calls }: Way, desk: Desk): Driving['use'] {
  return async (call) => {
    const results: string[] = []
    for (const { tool, values } of calls) {
      const first = await call(tool, values)
      const [link] = approvalLink.exec(first) ?? []
      if (link !== undefined) await desk.open(link)
      results.push(link === undefined ? first : await call(tool, values))
    }
    return results.join('\n')
  }
}

async function makeApplication(serviceUrl: string, agent: Agent): Promise<string> {
  const operator = makePagePerson(serviceUrl, olivia)
  const page = await operator.send(await operator.visit(`${applications}/new`), applications, {
    // Names of a site's applications must be unique, and several rows are versions of one client.
    name: `${agent.name} ${crypto.randomUUID().slice(0, 8)}`,
    redirect_uris: agent.callback,
    auth_method: 'none',
    scope: ['account:read', 'account:write'],
  })
  const clientId = textOf(page, 'client-id')
  if (clientId === '')
    throw new Error(`the operator could not create an application at ${page.path}`)
  return clientId
}

async function approveDocument(serviceUrl: string, client: string): Promise<void> {
  const operator = makePagePerson(serviceUrl, olivia)
  const action = '/admin/northlight/self-declared-clients/approved'
  const page = await operator.visit(`${action}?${new URLSearchParams({ client })}`)
  await operator.send(page, action)
}

/** Returns the scopes in a resource's metadata, at the well-known path followed by the resource's path (RFC 9728 §3.1). */
async function scopesOf(serviceUrl: string, { path }: Way): Promise<readonly string[]> {
  const document = await fetch(`${serviceUrl}${paths.protectedResource}${path}`)
  const { scopes_supported: scopes } = (await document.json()) as { scopes_supported: string[] }
  return scopes
}

/** Throws when the time limit expires, or as soon as the client prints `known.sentence`. */
async function failure(desk: Desk, known: Known | undefined): Promise<never> {
  while (known === undefined || !desk.transcript().includes(known.sentence)) {
    desk.signal.throwIfAborted()
    await delay(READ_EVERY_MS)
  }
  throw new Error(known.sentence)
}

function judge(
  problem: string | undefined,
  desk: Desk,
  known: Known | undefined,
): Pick<Outcome, 'kind' | 'detail'> {
  if (known === undefined) {
    const asked = desk.opened.filter((address) => !isApproval(address)).map(scopeIn)
    const scopes = asked.join(', then ') || 'nothing'
    return problem === undefined
      ? { kind: 'passed', detail: `asked for: ${scopes}` }
      : { kind: 'failed', detail: `${problem.split('\n')[0]}; asked for: ${scopes}` }
  }
  if (problem === undefined)
    return { kind: 'failed', detail: 'is listed as one that fails, but reaches the tool' }
  return desk.transcript().includes(known.sentence)
    ? { kind: 'known', detail: known.reason }
    : { kind: 'failed', detail: `its user does not see “${known.sentence}”` }
}

function scopeIn(address: string): string {
  const scope = new URL(address).searchParams.get('scope') ?? 'no scope'
  const names = scope.split(' ')
  return names.length > 4 ? `${names.slice(0, 3).join(' ')} and ${names.length - 3} more` : scope
}
