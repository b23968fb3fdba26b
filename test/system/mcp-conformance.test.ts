import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'chai'

import { readScope } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { operatorToken } from '../support/mcp.ts'
import { memberToken } from '../support/member-api.ts'
import { sharedService } from '../support/shared-service.ts'
import { startTokenBearer } from '../support/token-bearer.ts'

const suite = join(
  import.meta.dirname,
  '../../node_modules/@modelcontextprotocol/conformance/dist/index.js',
)
const expectedFailures = join(import.meta.dirname, '../conformance/mcp-expected-failures.yml')

/** The scenarios of the older revision that need no fixture of the suite. */
const generic = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

/** The addresses of the tools, and a token where one is demanded. */
const addresses = [
  { path: paths.mcp },
  { path: paths.mcpMember, tokenFor: async (url: string) => await memberToken(url) },
  {
    path: paths.mcpAdmin,
    tokenFor: async (url: string) => await operatorToken(url, readScope('courses')),
  },
]

for (const { path, tokenFor } of addresses) {
  describe(`the conformance suite of the Model Context Protocol at ${path} [design 23]`, () => {
    const running = sharedService()
    let bearer: Awaited<ReturnType<typeof startTokenBearer>> | undefined

    before(async () => {
      const { url } = running()
      bearer = tokenFor && (await startTokenBearer(url, await tokenFor(url)))
    })
    after(async () => {
      await bearer?.[Symbol.asyncDispose]()
    })

    const address = () => (bearer ?? running()).url + path

    // [Not shown 8]
    it('passes all that revision 2026-07-28 requires, except what needs a fixture', async () => {
      const said = await runSuite(address(), [
        ...['--requirements', '2026-07-28'],
        ...['--expected-failures', expectedFailures],
      ])
      expect(said).to.include('Baseline check passed')
      expect(said).to.match(/server-stateless: 24 passed/)
    })

    for (const scenario of generic) {
      it(`passes ${scenario} of revision 2025-11-25`, async () => {
        const said = await runSuite(address(), [
          ...['--spec-version', '2025-11-25'],
          ...['--scenario', scenario],
        ])
        expect(said).to.match(/Passed: (\d+)\/\1, 0 failed, 0 warnings/)
      })
    }
  })
}

/** Runs the suite against the service; a failure that nobody expected fails the test. */
async function runSuite(address: string, options: readonly string[]): Promise<string> {
  const results = mkdtempSync(join(tmpdir(), 'conformance-'))
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [suite, 'server', '--url', address, ...options, '--output-dir', results],
      { maxBuffer: 10_000_000 },
    )
    return stdout
  } catch (error) {
    const { stdout = '' } = error as { stdout?: string }
    throw new Error(stdout.slice(-4000), { cause: error })
  } finally {
    rmSync(results, { recursive: true, force: true })
  }
}
