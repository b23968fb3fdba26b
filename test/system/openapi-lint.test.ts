import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { openApiDocument } from '../../src/api/discovery/openapi-document.ts'
import { everyPlanFacts, facts, strictFacts } from '../support/facts.ts'
import { temporaryFolder } from '../support/programs.ts'

const config = `extends: [recommended]
rules:
  operation-tag-defined: error
  operation-2xx-response: off
  operation-4xx-response: off
`

for (const [name, each] of Object.entries({ facts, strictFacts, everyPlanFacts })) {
  it(`openapi.json is valid OpenAPI 3.1 according to Redocly: ${name} [Discovery 5]`, async () => {
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'openapi.json'), JSON.stringify(openApiDocument(each)))
    writeFileSync(join(folder, 'redocly.yaml'), config)
    const binary = join(import.meta.dirname, '../../node_modules/@redocly/cli/bin/cli.js')
    const env = { REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' }
    const options = { env, cwd: folder }
    const words = ['lint', 'openapi.json', '--config', 'redocly.yaml', '--format', 'json']
    const linting = promisify(execFile)(process.execPath, [binary, ...words], options)
    const { stdout } = await linting.catch((error) => error)
    expect(JSON.parse(stdout).totals, stdout).to.include({ errors: 0, warnings: 0 })
  })
}
