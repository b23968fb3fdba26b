import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'

import { expect } from 'chai'

import { isEvent } from '../support/audit-events.ts'
import { obtainTokens } from '../support/client.ts'
import { notes, type RunningService, sam, startService } from '../support/gatehouse.ts'
import { eventually } from '../support/programs.ts'

const root = join(import.meta.dirname, '../..')

interface Line {
  readonly id: string
}

describe('the stream of audit events', () => {
  it('is told by the command too, in words and as lines, for a site, a person and an action', async function () {
    this.timeout(60_000)
    await using service = await startService({
      policy: (policy) => ({ ...policy, storage: { ...policy.storage, usageFlushSeconds: 1 } }),
    })
    await obtainTokens(service.url)
    const all = await eventually(20_000, async () => {
      const printed = (await audit(service, '--json')).trim().split('\n')
      expect(printed.length).to.equal(3)
      return printed.map((line) => JSON.parse(line) as Line)
    })
    for (const line of all) expect(isEvent(line), JSON.stringify(isEvent.errors)).to.equal(true)
    const asked = ['--person', sam.login, '--site', 'northlight', '--action', 'sign_in.success']
    const words = await audit(service, ...asked, '--client', notes.clientId, '--since', '1h')
    expect(words).to.match(
      /^\d{4}-.*Z {2}Sam .*per_sam signed in to the application northlight-notes .*127\.0\.0\.0\/24/,
    )
    expect(words.trim().split('\n')).to.have.length(1)
    expect(await audit(service, '--site', 'open-kitchen', '--json')).to.equal('')
    const wrong = await audit(service, '--since', 'yesterday').catch((error) => error.stderr)
    expect(wrong).to.include('--since must be a time like')

    const following = spawn(process.execPath, commandOf('--follow', '--json', '--since', '1h'), {
      env: environmentOf(service),
    })
    let told = ''
    following.stdout.on('data', (bytes) => (told += String(bytes)))
    await eventually(20_000, async () => expect(told.trim().split('\n').length).to.equal(3))
    await obtainTokens(service.url, { prompt: 'login' })
    await eventually(20_000, async () => {
      const ids = told
        .trim()
        .split('\n')
        .map((line) => (JSON.parse(line) as Line).id)
      expect(new Set(ids).size).to.equal(ids.length)
      expect(ids.length).to.be.at.least(5)
    })
    const ended = new Promise((resolve) => following.on('exit', resolve))
    following.kill('SIGTERM')
    expect(await ended).to.equal(0)
  })
})

const commandOf = (...words: readonly string[]) => [
  join(root, 'src/ops/cli/gatehouse.ts'),
  'audit',
  ...words,
]

function environmentOf({ config }: RunningService) {
  return { DATA_DIR: config.dataDir, PORT: String(config.port) }
}

async function audit(service: RunningService, ...words: readonly string[]): Promise<string> {
  const env = environmentOf(service)
  const { stdout } = await promisify(execFile)(process.execPath, commandOf(...words), { env })
  return stdout
}
