import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'chai'

import { paths } from '../src/http/paths.ts'
import { sharedService } from './support/shared-service.ts'

const suite = join(
  import.meta.dirname,
  '../node_modules/@modelcontextprotocol/conformance/dist/index.js',
)
const expectedFailures = join(import.meta.dirname, 'conformance/mcp-expected-failures.yml')

/** The scenarios of the older revision that need no fixture of the suite. */
const generic = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']

describe('the conformance suite of the Model Context Protocol [design 23]', () => {
  const running = sharedService()

  it('passes all that revision 2026-07-28 requires, except what needs a fixture', async () => {
    const said = await runSuite(running().url, [
      ...['--requirements', '2026-07-28'],
      ...['--expected-failures', expectedFailures],
    ])
    expect(said).to.include('Baseline check passed')
    expect(said).to.match(/server-stateless: 24 passed/)
  })

  for (const scenario of generic) {
    it(`passes ${scenario} of revision 2025-11-25`, async () => {
      const said = await runSuite(running().url, [
        ...['--spec-version', '2025-11-25'],
        ...['--scenario', scenario],
      ])
      expect(said).to.match(/Passed: (\d+)\/\1, 0 failed, 0 warnings/)
    })
  }
})

/** Runs the suite against the service; a failure that nobody expected fails the test. */
async function runSuite(url: string, options: readonly string[]): Promise<string> {
  const results = mkdtempSync(join(tmpdir(), 'conformance-'))
  const address = ['--url', url + paths.mcp]
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [suite, 'server', ...address, ...options, '--output-dir', results],
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
