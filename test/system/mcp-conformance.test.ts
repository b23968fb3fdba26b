import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { json } from 'node:stream/consumers'
import { promisify } from 'node:util'

import { readScope } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { olivia } from '../support/gatehouse.ts'
import { operatorToken, problemOf } from '../support/mcp.ts'
import { memberToken } from '../support/member-api.ts'
import { makePagePerson } from '../support/page-person.ts'
import { startBalancer } from '../support/process.ts'
import { temporaryFolder } from '../support/programs.ts'
import { serve } from '../support/serve.ts'
import { shared } from '../support/shared.ts'
import { sharedService } from '../support/storages.ts'
import { postJson } from '../support/wire.ts'

const modules = join(import.meta.dirname, '../../node_modules')
const suite = join(modules, '@modelcontextprotocol/conformance/dist/index.js')
const expectedFailures = join(import.meta.dirname, '../conformance/mcp-expected-failures.yml')

const allPassed = /Passed: (\d+)\/\1, 0 failed, 0 warnings/
const required = ['--requirements', '2026-07-28', '--expected-failures', expectedFailures]
/** The scenarios of the older revision that need no fixture. */
const olderScenarios = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

for (const [path, tokenFor] of [
  [paths.mcp, undefined],
  [paths.mcpMember, async (url: string) => await memberToken(url)],
  [paths.mcpAdmin, async (url: string) => await operatorToken(url, readScope('courses'))],
] as const) {
  describe(`the conformance suite of the Model Context Protocol at ${path} [design 23]`, () => {
    const running = sharedService()
    // The suite cannot send a token, so a proxy adds it.
    const service = shared(async () => {
      const { url } = running()
      if (!tokenFor) return { url }
      const bearer = await startBalancer({ authorization: `Bearer ${await tokenFor(url)}` })
      bearer.serve([url])
      return bearer
    })

    it('passes all that revision 2026-07-28 requires, except what needs a fixture [Not shown 8]', async () => {
      const printed = await runSuite(service().url + path, required)
      expect(printed).to.match(/server-stateless: 24 passed[\s\S]*Baseline check passed/)
    })

    for (const scenario of olderScenarios) {
      it(`passes ${scenario} of revision 2025-11-25 [Not shown 8]`, async () => {
        const options = ['--spec-version', '2025-11-25', '--scenario', scenario]
        expect(await runSuite(service().url + path, options)).to.match(allPassed)
      })
    }
  })
}

// The suite calls fixture tools, so a stand-in translates these calls. The other scenarios for required input do not
// apply. Six need other kinds of input, a prompt that requires input, or several rounds. Two need a `requestState`, which
// approvals do not have, because the database stores the change. unsupported-methods already runs above.
const inputScenarios = [
  ...['basic-elicitation', 'result-type', 'ignore-extra-params'],
  ...['missing-input-response', 'validate-input'],
]

describe('the scenarios of the conformance suite for required input, with a change that needs an approval [design 37]', () => {
  const running = sharedService({ demandsApprovals: true })
  for (const scenario of inputScenarios) {
    it(`passes ${scenario}`, async () => {
      await using standIn = await startStandIn(running().url)
      const name = `input-required-result-${scenario}`
      const options = ['--spec-version', '2026-07-28', '--scenario', name]
      const printed = await runSuite(standIn.url + paths.mcpAdmin, options)
      expect(printed).to.match(allPassed)
    })
  }
})

type Json = Record<string, unknown>

/**
 * Starts a proxy that turns calls of the suite's fixture tool into calls of archive_course. In responses, it renames the
 * requested input as the suite expects. When the suite accepts it, the proxy first approves the change as the person.
 */
async function startStandIn(url: string) {
  const token = await operatorToken(url, 'courses:read courses:write')
  const values = { id: 'crs_portrait' }
  return await serve(async (incoming, outgoing) => {
    const message = (await json(incoming)) as { params: Json }
    const { user_name: answer, ...others } = (message.params['inputResponses'] ?? {}) as Json
    if ((answer as Json | undefined)?.['action'] === 'accept') {
      await problemOf(url, 'archive_course', { token, values })
      const person = makePagePerson(url, olivia)
      const shown = await person.visit(approvals)
      const [, change = ''] = /name="change" value="([^"]*)"/.exec(shown.text) ?? []
      await person.send(shown, approvals, { change, decision: 'approve' })
    }
    const params = {
      ...message.params,
      ...{ name: 'archive_course', arguments: values },
      ...(message.params['inputResponses'] !== undefined && {
        inputResponses: { ...others, ...(answer !== undefined && { approval: answer }) },
      }),
      _meta: { ...(message.params['_meta'] as Json), [CAPABILITIES]: { elicitation: { url: {} } } },
    }
    const headers = {
      accept: incoming.headers.accept ?? '',
      'mcp-protocol-version': String(incoming.headers['mcp-protocol-version']),
      ...{ 'mcp-method': 'tools/call', 'mcp-name': 'archive_course' },
    }
    const changed = { ...message, params }
    const { status, text } = await postJson(url + paths.mcpAdmin, changed, { token, headers })
    outgoing.writeHead(status, { 'content-type': 'application/json' })
    outgoing.end(text.replace('"approval":', '"user_name":'))
  })
}

const CAPABILITIES = 'io.modelcontextprotocol/clientCapabilities'
const approvals = '/admin/northlight/approvals'

async function runSuite(address: string, options: readonly string[]): Promise<string> {
  const words = ['server', '--url', address, ...options, '--output-dir', temporaryFolder()]
  try {
    const command = [suite, ...words]
    return (await promisify(execFile)(process.execPath, command, { maxBuffer: 10_000_000 })).stdout
  } catch (error) {
    const { stdout = '' } = error as { stdout?: string }
    throw new Error(stdout.slice(-4000), { cause: error })
  }
}
