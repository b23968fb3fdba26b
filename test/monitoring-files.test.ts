import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import {
  errorCodes,
  type Metric,
  metricTable,
  nameOfReason,
  reasonSentences,
} from '../src/platform/monitoring/metric-table.ts'
import { openMetrics, renderSnapshots } from '../src/platform/monitoring/registry.ts'
import { parseScrape } from './support/metrics.ts'
import { alertAdvice, errorTables } from './support/reference-data.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const rules = read('config/monitoring/alerts.yml')
const ruleTests = read('config/monitoring/alerts.test.yml')

const { panels } = JSON.parse(read('config/monitoring/dashboard.json'))
const expressions: string[] = panels.flatMap(({ targets = [] }) =>
  targets.map(({ expr }: { expr: string }) => expr),
)

const seriesOf = (name: string) => name.replace(/_(bucket|sum|count)$/, '')

const series = new Map(
  Object.entries<Metric>(metricTable).flatMap(([name, { type, labels = {} }]) => {
    const own = ['instance', 'job', ...Object.keys(labels)]
    const suffixes = type === 'histogram' ? ['_bucket', '_sum', '_count'] : ['']
    return suffixes.map((suffix): [string, string[]] => [
      name + suffix,
      suffix === '_bucket' ? [...own, 'le'] : own,
    ])
  }),
)

function namesIn(expression: string) {
  return [...expression.matchAll(/\b(gatehouse_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', selected = '']) => ({
      name,
      selectors: [...selected.matchAll(/(\w+)\s*(?:=~|!=|!~|=)(?:"([^"$]*)")?/g)].map(
        ([, label = '', value]) => ({ label, value }),
      ),
    }),
  )
}

function valuesOf(name: string, label: string): readonly string[] | undefined {
  const metric: Metric | undefined = Reflect.get(metricTable, seriesOf(name))
  const values = metric?.labels?.[label]
  return values === undefined || 'valuesMax' in values ? undefined : [...values, 'other']
}

describe('the files about metrics', () => {
  for (const [what, texts] of [
    ['the expressions of the dashboard', expressions],
    ['the alert rules', [rules]],
    ['the tests of the alert rules', [ruleTests]],
  ] as const) {
    it(`${what} name metrics, labels and values of the table only`, () => {
      const named = texts.flatMap(namesIn)
      expect(named).to.have.length.above(10)
      for (const { name, selectors } of named) {
        expect(series.get(name), name).to.include.members(selectors.map(({ label }) => label))
        for (const { label, value } of selectors) {
          const values = value?.split('|') ?? []
          expect(valuesOf(name, label) ?? values, `${name} ${label}`).to.include.members(values)
        }
      }
    })
  }

  it('the dashboard shows every metric of the table', () => {
    const shown = new Set(expressions.flatMap(namesIn).map(({ name }) => seriesOf(name)))
    const hidden = Object.keys(metricTable).filter((name) => !shown.has(name))
    expect(hidden).to.deep.equal(['gatehouse_ignored_proxy_requests_total'])
  })

  it('the panels of the dashboard have unique ids and texts, and do not overlap', () => {
    expect(new Set(panels.map(({ id }: { id: number }) => id)).size).to.equal(panels.length)
    const cells: string[] = []
    for (const { type, title, description, gridPos, targets = [] } of panels) {
      expect(title).to.not.equal('')
      if (type !== 'row') expect(description, title).to.match(/\.$/)
      const { x, y, w, h } = gridPos
      expect(x + w, title).to.be.at.most(24)
      for (let cell = 0; cell < w * h; cell += 1)
        cells.push(`${x + (cell % w)},${y + Math.floor(cell / w)}`)
      expect(new Set(cells).size, title).to.equal(cells.length)
      const ids = new Set(targets.map(({ refId }: { refId: string }) => refId))
      expect(ids.size).to.equal(targets.length)
    }
  })

  it('each alert has a case that fires, a quiet one, and advice', () => {
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
    expect(alerts).to.have.length.above(10)
    const cases = [...ruleTests.matchAll(/- name: '(\w+) (fires|is quiet)'/g)]
    const expected = alerts.flatMap((name) => [`${name} fires`, `${name} is quiet`])
    expect(cases.map(([, name, kind]) => `${name} ${kind}`)).to.deep.equal(expected)
    expect(alertAdvice.map(([name]) => name)).to.deep.equal(alerts)
  })
})

describe('the counts of refusals', () => {
  it('have every documented error code and no other', () => {
    const [own = [], endpoints = [], resources = []] = errorTables.map(({ rows }) => rows)
    const cells = [...own, ...endpoints].map(([, , code = '']) => code)
    const codes = [...cells, ...resources.map(([, code = '']) => code)]
    const named = new Set(codes.flatMap((cell) => cell.split(', ')))
    expect(errorCodes).to.include.members([...named])
    const foreign = errorCodes.filter((code) => !named.has(code))
    expect(foreign).to.deep.equal(['server_error', 'unsupported_response_type'])
  })

  it('match the reasons in the code', () => {
    const folders = 'src/{oauth/grants,resource/resource-server,oauth/token}'
    const text = globSync(`${folders}/*.ts`, { cwd: root }).map(read).join('\n')
    for (const [name, sentence] of Object.entries(reasonSentences)) {
      expect(text.includes(sentence), sentence).to.equal(true)
      expect(nameOfReason(`${sentence}: and more`)).to.equal(name)
    }
    expect(nameOfReason('the scope exceeds what was granted')).to.equal('other')
    expect(nameOfReason(undefined)).to.equal('other')
  })
})

describe('the registry of metrics', () => {
  it('keeps no more values of a label than the table allows', async () => {
    const metrics = openMetrics()
    for (let i = 0; i < 1000; i += 1) {
      const labels = { route: `/made-up/${i}`, method: `M${i}`, status: `${i}` }
      metrics.time('gatehouse_http_request_duration_seconds', labels, 0.001)
      metrics.add('gatehouse_refusals_total', { error: `e${i}`, reason: `r${i}` })
    }
    const { samples, sum } = parseScrape(await renderSnapshots([await metrics.snapshot()]))
    const name = 'gatehouse_http_request_duration_seconds_count'
    expect(samples.filter((sample) => sample.name === name)).to.have.lengthOf(251)
    expect(sum(name)).to.equal(1000)
    expect(sum(name, { route: 'other', method: 'other', status: 'other' })).to.equal(750)
    const refusals = samples.filter((sample) => sample.name === 'gatehouse_refusals_total')
    expect(refusals).to.have.lengthOf(1)
    expect(sum('gatehouse_refusals_total', { error: 'other', reason: 'other' })).to.equal(1000)
  })

  it('skips a value that cannot be read', async () => {
    const metrics = openMetrics()
    metrics.read('gatehouse_outbox_messages_waiting', async () => {
      throw new Error('the store is away')
    })
    metrics.read('gatehouse_password_checks_waiting', () => [{ value: 3 }])
    const { sum, text } = parseScrape(await renderSnapshots([await metrics.snapshot()]))
    expect(sum('gatehouse_password_checks_waiting')).to.equal(3)
    expect(text).to.not.match(/^gatehouse_outbox_messages_waiting /m)
  })
})
