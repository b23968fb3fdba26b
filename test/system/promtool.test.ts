import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { scrape } from '../support/metrics.ts'
import { startProcess } from '../support/process.ts'
import { freePort, temporaryFolder } from '../support/programs.ts'
import { askForProgram } from '../support/skipped.ts'

const folder = join(import.meta.dirname, '../../config/monitoring')
const dashboard = JSON.parse(readFileSync(join(folder, 'dashboard.json'), 'utf8'))
const expressions: string[] = dashboard.panels.flatMap(({ targets = [] }) =>
  targets.map(({ expr }: { expr: string }) => expr),
)

describe('promtool', () => {
  let promtool = ''
  before(function () {
    promtool = askForProgram(this, 'promtool')
  })
  const run = (words: readonly string[], input = '') =>
    execFileSync(promtool, words, { cwd: folder, input, encoding: 'utf8', stdio: 'pipe' })

  it('accepts the configuration and the rules, and each alert fires when it should', () => {
    expect(run(['check', 'config', 'prometheus.yml'])).to.include('SUCCESS')
    expect(run(['check', 'rules', 'alerts.yml'])).to.include('SUCCESS')
    expect(run(['test', 'rules', 'alerts.test.yml'])).to.include('SUCCESS')
  })

  it('accepts every expression of the dashboard', () => {
    const records = expressions.map((expression, i) => {
      const plain = expression.replaceAll('$__rate_interval', '5m').replaceAll('$instance', '.*')
      return `      - record: panel:${i}\n        expr: ${JSON.stringify(plain)}`
    })
    const file = join(temporaryFolder(), 'dashboard.yml')
    writeFileSync(file, `groups:\n  - name: dashboard\n    rules:\n${records.join('\n')}\n`)
    expect(run(['check', 'rules', file])).to.include(`${expressions.length} rules found`)
  })

  it('accepts a scrape without a suggestion', async () => {
    const port = await freePort()
    await using _service = await startProcess({ METRICS_PORT: String(port) })
    expect(run(['check', 'metrics'], (await scrape(port)).text)).to.equal('')
  })
})
