import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import {
  errorCodes,
  type Metric,
  metricTable,
  nameOfReason,
  reasonSentences,
} from '../src/platform/monitoring/metric-table.ts'
import { openMetrics, render } from '../src/platform/monitoring/registry.ts'
import { parseScrape } from './support/metrics.ts'
import { alertAdvice, errorTables } from './support/reference-data.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const rules = read('config/monitoring/alerts.yml')
const ruleTests = read('config/monitoring/alerts.test.yml')

interface Panel {
  readonly id: number
  readonly type: string
  readonly title: string
  readonly description?: string
  readonly gridPos: {
    readonly x: number
    readonly y: number
    readonly w: number
    readonly h: number
  }
  readonly targets?: readonly { readonly refId: string; readonly expr: string }[]
}
const dashboard: { readonly panels: readonly Panel[] } = JSON.parse(
  read('config/monitoring/dashboard.json'),
)
const expressions = dashboard.panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr))

/** What a scrape of the table has, by name, with the labels that are there. */
const series = new Map(
  Object.entries<Metric>(metricTable).flatMap(
    ([name, { type, labels = {} }]): [string, string[]][] => {
      const own = ['instance', 'job', ...Object.keys(labels)]
      if (type !== 'histogram') return [[name, own]]
      const bucket: [string, string[]] = [`${name}_bucket`, [...own, 'le']]
      return [bucket, [`${name}_sum`, own], [`${name}_count`, own]]
    },
  ),
)

/** The metrics that an expression names, with the labels that it selects by. */
function namesIn(expression: string) {
  return [...expression.matchAll(/\b(gatehouse_\w+)(?:\{([^}]*)\})?/g)].map(
    ([, name = '', selected = '']) => ({
      name,
      labels: [...selected.matchAll(/(\w+)\s*(?:=~|!=|!~|=)/g)].map(([, label = '']) => label),
      values: [...selected.matchAll(/(\w+)(?:=|=~|!=|!~)"([^"$]*)"/g)].map(
        ([, label = '', value = '']) => ({ label, value }),
      ),
    }),
  )
}

/** The values that a label may have, where the table lists them. */
function valuesOf(series: string, label: string): readonly string[] | undefined {
  const metric: Metric | undefined =
    metricTable[series.replace(/_(bucket|sum|count)$/, '') as keyof typeof metricTable]
  const values = metric?.labels?.[label]
  return values === undefined || 'valuesMax' in values ? undefined : [...values, 'other']
}

describe('what is written about metrics', () => {
  for (const [what, texts] of [
    ['the dashboard', expressions],
    ['the alert rules', [rules]],
    ['the tests of the alert rules', [ruleTests]],
  ] as const) {
    it(`${what}: names metrics, labels and values of the table only`, () => {
      const named = texts.flatMap(namesIn)
      expect(named).to.have.length.above(10)
      for (const { name, labels, values } of named) {
        expect(series.has(name), name).to.equal(true)
        expect(series.get(name), name).to.include.members(labels)
        for (const { label, value } of values) {
          const allowed = valuesOf(name, label)
          if (allowed) expect(allowed, `${name} ${label}`).to.include.members(value.split('|'))
        }
      }
    })
  }

  it('the dashboard shows every metric of the table', () => {
    const shown = new Set(
      expressions.flatMap(namesIn).map(({ name }) => name.replace(/_(bucket|count)$/, '')),
    )
    const hidden = Object.keys(metricTable).filter((name) => !shown.has(name))
    expect(hidden).to.deep.equal([
      // The alerts and the table of Grafana's own have them.
      'gatehouse_process_start_timestamp_seconds',
      'gatehouse_ignored_proxy_requests_total',
      'gatehouse_task_runs_total',
    ])
  })

  it('the panels of the dashboard have ids of their own, words, and do not overlap', () => {
    const { panels } = dashboard
    expect(new Set(panels.map(({ id }) => id)).size).to.equal(panels.length)
    const taken = new Set<string>()
    for (const { type, title, description, gridPos, targets = [] } of panels) {
      expect(title).to.not.equal('')
      if (type !== 'row') expect(description, title).to.match(/\.$/)
      expect(gridPos.x + gridPos.w, title).to.be.at.most(24)
      for (let x = gridPos.x; x < gridPos.x + gridPos.w; x += 1) {
        for (let y = gridPos.y; y < gridPos.y + gridPos.h; y += 1) {
          expect(taken.has(`${x},${y}`), title).to.equal(false)
          taken.add(`${x},${y}`)
        }
      }
      expect(new Set(targets.map(({ refId }) => refId)).size).to.equal(targets.length)
    }
  })

  it('each alert has a case in which it fires, one in which it does not, and what to do', () => {
    const alerts = [...rules.matchAll(/- alert: (\w+)/g)].map(([, name]) => name)
    expect(alerts).to.have.length.above(10)
    const cases = [...ruleTests.matchAll(/- name: '(\w+) (fires|is quiet)'/g)]
    expect(cases.map(([, name, kind]) => `${name} ${kind}`)).to.deep.equal(
      alerts.flatMap((name) => [`${name} fires`, `${name} is quiet`]),
    )
    expect(alertAdvice.map(([name]) => name)).to.deep.equal(alerts)
  })
})

describe('what is counted of refusals', () => {
  it('has every documented error code and no other', () => {
    const [own = [], endpoints = [], resources = []] = errorTables.map(({ rows }) => rows)
    const cells = [...own, ...endpoints].map(([, , code = '']) => code)
    const codes = [...cells, ...resources.map(([, code = '']) => code)]
    const named = new Set(codes.flatMap((cell) => cell.split(', ')))
    expect(errorCodes).to.include.members([...named])
    const foreign = errorCodes.filter((code) => !named.has(code))
    expect(foreign).to.deep.equal(['server_error', 'unsupported_response_type'])
  })

  it('knows reasons as the code says them', () => {
    const files = globSync('src/{oauth/grants,resource/resource-server,oauth/token}/*.ts', {
      cwd: root,
    })
    const text = files.map(read).join('\n')
    for (const [name, sentence] of Object.entries(reasonSentences)) {
      expect(text.includes(sentence), sentence).to.equal(true)
      expect(nameOfReason(`${sentence}: and more`)).to.equal(name)
    }
    expect(nameOfReason('the scope exceeds what was granted')).to.equal('other')
    expect(nameOfReason(undefined)).to.equal('other')
  })
})

describe('the registry of metrics', () => {
  it('has no more values of a label than the table allows', async () => {
    const metrics = openMetrics()
    for (let i = 0; i < 1000; i += 1) {
      const labels = { route: `/made-up/${i}`, method: `M${i}`, status: `${i}` }
      metrics.time('gatehouse_http_request_duration_seconds', labels, 0.001)
      metrics.add('gatehouse_refusals_total', { error: `e${i}`, reason: `r${i}` })
    }
    const { samples, sum } = parseScrape(await render([await metrics.snapshot()]))
    const name = 'gatehouse_http_request_duration_seconds_count'
    const found = samples.filter((sample) => sample.name === name)
    expect(found).to.have.lengthOf(251)
    expect(sum(name)).to.equal(1000)
    expect(sum(name, { route: 'other', method: 'other', status: 'other' })).to.equal(750)
    const refusals = samples.filter((sample) => sample.name === 'gatehouse_refusals_total')
    expect(refusals).to.have.lengthOf(1)
    expect(sum('gatehouse_refusals_total', { error: 'other', reason: 'other' })).to.equal(1000)
  })

  it('reads on when one thing cannot be read', async () => {
    const metrics = openMetrics()
    metrics.read('gatehouse_sign_out_notices_waiting', async () => {
      throw new Error('the store is away')
    })
    metrics.read('gatehouse_password_checks_waiting', () => [{ value: 3 }])
    const { sum, text } = parseScrape(await render([await metrics.snapshot()]))
    expect(sum('gatehouse_password_checks_waiting')).to.equal(3)
    expect(text).to.not.match(/^gatehouse_sign_out_notices_waiting /m)
  })
})
