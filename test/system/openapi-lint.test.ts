import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'chai'

import { openApiDocument } from '../../src/api/discovery/openapi-document.ts'
import { everyPlanFacts, facts, strictFacts } from '../support/facts.ts'

describe('openapi.json', () => {
  // [Discovery 5]
  it('is valid OpenAPI 3.1 in the eyes of Redocly', async () => {
    for (const each of [facts, strictFacts, everyPlanFacts]) {
      expect(await lint(openApiDocument(each))).to.equal('')
    }
  })
})

const lintConfig =
  'extends: [recommended]\nrules:\n  operation-2xx-response: off\n  operation-4xx-response: off\n'

/** What the linter finds wrong with a document: nothing, when it is sound. */
async function lint(document: object): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'openapi-'))
  try {
    const file = join(folder, 'openapi.json')
    const config = join(folder, 'redocly.yaml')
    await writeFile(file, JSON.stringify(document))
    await writeFile(config, lintConfig)
    const binary = join(import.meta.dirname, '../../node_modules/@redocly/cli/bin/cli.js')
    const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const command = [binary, 'lint', file, '--config', config, '--format', 'json']
    const { stdout } = await promisify(execFile)(process.execPath, command, { env })
    const { totals } = JSON.parse(stdout) as { totals: { errors: number; warnings: number } }
    return totals.errors + totals.warnings === 0 ? '' : stdout
  } catch (error) {
    return String((error as { stdout?: string }).stdout || error)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
