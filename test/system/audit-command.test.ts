import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { isEvent } from '../support/audit-events.ts'
import { obtainTokens } from '../support/client.ts'
import { flushingSoon, notes, sam } from '../support/gatehouse.ts'
import { eventually } from '../support/programs.ts'
import { sharedService } from '../support/storages.ts'

const command = join(import.meta.dirname, '../../src/ops/cli/gatehouse.ts')

const linesOf = (printed: string): { readonly id: string }[] =>
  printed
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line))

describe('gatehouse audit', () => {
  const service = sharedService({ policy: flushingSoon })
  const environment = () => {
    const { dataDir, port } = service().config
    return { env: { DATA_DIR: dataDir, PORT: String(port) } }
  }
  const audit = async (...words: string[]) => {
    const options = [command, 'audit', ...words]
    return (await promisify(execFile)(process.execPath, options, environment())).stdout
  }

  it('prints events as text and as JSON, for a site, a person and an action', async () => {
    await obtainTokens(service().url)
    const all = await eventually(20_000, async () => {
      const events = linesOf(await audit('--json'))
      expect(events).to.have.length(3)
      return events
    })
    for (const line of all) expect(isEvent(line), JSON.stringify(isEvent.errors)).to.equal(true)
    const asked = ['--person', sam.login, '--site', 'northlight', '--action', 'sign_in.success']
    expect(await audit(...asked, '--client', notes.clientId, '--since', '1h')).to.match(
      /^\d{4}-.*Z {2}Sam .*per_sam signed in to the application northlight-notes .*127\.0\.0\.0\/24.*\n$/,
    )
    expect(await audit('--site', 'open-kitchen', '--json')).to.equal('')
    const wrong = await audit('--since', 'yesterday').catch((error) => error.stderr)
    expect(wrong).to.include('--since must be a time like')
  })
})
