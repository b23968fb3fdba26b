import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { readScope } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { operatorToken } from '../support/mcp.ts'
import { memberToken } from '../support/member-api.ts'
import { type Balancer, startBalancer } from '../support/process.ts'
import { temporaryFolder } from '../support/programs.ts'
import { sharedService } from '../support/storages.ts'

const suite = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
)
const expectedFailures = join(import.meta.dirname, '../conformance/mcp-expected-failures.yml')

const suites: readonly (readonly [what: string, options: readonly string[], passes: RegExp])[] = [
  [
    'all that revision 2026-07-28 requires, except what needs a fixture',
    ['--requirements', '2026-07-28', '--expected-failures', expectedFailures],
    /server-stateless: 24 passed[\s\S]*Baseline check passed/,
  ],
  // The scenarios of the older revision that need no fixture.
  ...['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection'].map(
    (scenario) =>
      [
        `${scenario} of revision 2025-11-25`,
        ['--spec-version', '2025-11-25', '--scenario', scenario],
        /Passed: (\d+)\/\1, 0 failed, 0 warnings/,
      ] as const,
  ),
]

for (const [path, tokenFor] of [
  [paths.mcp, undefined],
  [paths.mcpMember, async (url: string) => await memberToken(url)],
  [paths.mcpAdmin, async (url: string) => await operatorToken(url, readScope('courses'))],
] as const) {
  describe(`the conformance suite of the Model Context Protocol at ${path} [design 23]`, () => {
    const running = sharedService()
    // The suite cannot be given a token.
    let bearer: Balancer | undefined
    before(async () => {
      const { url } = running()
      bearer = tokenFor && (await startBalancer({ authorization: `Bearer ${await tokenFor(url)}` }))
      bearer?.serve([url])
    })
    after(() => bearer?.[Symbol.asyncDispose]())

    for (const [what, options, passes] of suites) {
      it(`passes ${what} [Not shown 8]`, async () => {
        expect(await runSuite((bearer ?? running()).url + path, options)).to.match(passes)
      })
    }
  })
}

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
