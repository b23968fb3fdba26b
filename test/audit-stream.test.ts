import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { expect } from 'chai'
import { pino } from 'pino'

import { auditActions } from '../src/platform/audit/audit-actions.ts'
import { makeAuditStream, openEventSink } from '../src/platform/audit/audit-stream.ts'
import { makeAuditTrail } from '../src/platform/audit/audit-trail.ts'
import { recordAuditEvent } from '../src/platform/audit/record-audit-event.ts'
import type { Database } from '../src/platform/store/database.ts'
import { eventSchema, isEvent } from './support/audit-events.ts'
import { obtainTokens } from './support/client.ts'
import { withDatabases } from './support/database.ts'
import { startService } from './support/gatehouse.ts'

interface Line {
  readonly id: string
  readonly action: string
  readonly [name: string]: unknown
}

describe('the stream of audit events', () => {
  const folder = mkdtempSync(join(tmpdir(), 'gatehouse-audit-'))
  after(() => rmSync(folder, { recursive: true, force: true }))

  it('has an example of its schema in docs/how-to/operate.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../docs/how-to/operate.md'), 'utf8')
    const [, example = ''] = /```json\n(.*)\n```/.exec(page) ?? []
    expect(isEvent(JSON.parse(example)), JSON.stringify(isEvent.errors)).to.equal(true)
  })

  it('has a schema that knows every action and no other', () => {
    expect(eventSchema.properties.action.enum).to.have.members(Object.keys(auditActions))
  })

  it('of a running service is lines of that schema in a file for its owner, all of them when it has stopped', async () => {
    const file = join(folder, 'service.jsonl')
    const service = await startService({ environment: { AUDIT_STREAM: file } })
    await obtainTokens(service.url)
    await service[Symbol.asyncDispose]()
    const lines = linesOf(file)
    for (const line of lines) expect(isEvent(line), JSON.stringify(isEvent.errors)).to.equal(true)
    expect(lines.map(({ action }) => action)).to.have.members([
      'sign_in.success',
      'consent.given',
      'authorization.given',
    ])
    expect(statSync(file).mode & 0o777).to.equal(0o600)
  })

  it('begins a line of its own after half a line that a killed process left', async () => {
    const file = join(folder, 'torn.jsonl')
    writeFileSync(file, '{"version":1,"id":"ha')
    const sink = openEventSink(file)
    await sink(['{"one":1}'])
    appendFileSync(file, '{"mine":2}\n')
    await sink(['{"two":2}', '{"three":3}'])
    expect(readFileSync(file, 'utf8').split('\n').slice(1)).to.deep.equal([
      ...['{"one":1}', '{"mine":2}', '{"two":2}', '{"three":3}'],
      '',
    ])
  })
})

withDatabases('the stream of audit events', (open) => {
  const fill = async (database: Database, count: number) => {
    const trail = makeAuditTrail(database, { logger: pino({ level: 'silent' }), now: Date.now })
    for (let i = 0; i < count; i += 1) {
      trail.noteEvent({ action: 'sign_in.success', personId: `per_${i}` })
    }
    await trail.flush()
  }

  it('of two processes at once has every event once, and goes on with the other when one falls silent', async () => {
    await using database = await open()
    let clockMs = 1_800_000_000_000
    const [first, second]: [Line[], Line[]] = [[], []]
    const streams = [first, second].map((taken) =>
      makeAuditStream(
        database,
        async (lines) => void taken.push(...lines.map((line) => JSON.parse(line))),
        () => clockMs,
      ),
    )
    await fill(database, 450)
    await Promise.all(streams.map(async ({ run }) => await run()))
    expect([...first, ...second]).to.have.length(450)
    expect([first.length, second.length]).to.include(0)
    const [silent, other] = first.length === 0 ? [1, 0] : [0, 1]
    await fill(database, 3)
    await streams[other]?.run()
    expect([...first, ...second]).to.have.length(450)
    clockMs += 31_000
    await streams[other]?.run()
    expect([first, second][other]).to.have.length(3)
    await fill(database, 1)
    // Whoever stops gives the turn away at once.
    await streams[other]?.end()
    await fill(database, 1)
    await streams[silent]?.run()
    expect([first, second][silent]).to.have.length(451)
    expect(new Set([...first, ...second].map(({ id }) => id)).size).to.equal(455)
  })

  it('sends an event again, with the same id, when the process ended before it was marked', async () => {
    await using database = await open()
    await fill(database, 5)
    const taken: Line[] = []
    let fails = true
    const sink = async (lines: readonly string[]) => {
      taken.push(...lines.map((line) => JSON.parse(line)))
      if (fails) throw new Error('killed')
    }
    const stream = makeAuditStream(database, sink, Date.now)
    expect(await stream.run().catch((error: Error) => error.message)).to.equal('killed')
    fails = false
    await stream.run()
    expect(taken).to.have.length(10)
    expect(new Set(taken.map(({ id }) => id)).size).to.equal(5)
  })

  it('has no event of a change that was taken back', async () => {
    await using database = await open()
    const change = {
      action: 'site.update',
      subject: { kind: 'site', id: 'north' },
      siteId: 'north',
    } as const
    await database.kysely
      .transaction()
      .execute(async (trx) => {
        await recordAuditEvent(trx, { now: Date.now() }, change)
        throw new Error('taken back')
      })
      .catch(() => {})
    await recordAuditEvent(
      database.kysely,
      { now: Date.now() },
      { ...change, action: 'feature.on' },
    )
    const taken: Line[] = []
    const sink = async (lines: readonly string[]) =>
      void taken.push(...lines.map((line) => JSON.parse(line)))
    await makeAuditStream(database, sink, Date.now).run()
    expect(taken.map(({ action }) => action)).to.deep.equal(['feature.on'])
  })
})

function linesOf(file: string): Line[] {
  const text = readFileSync(file, 'utf8')
  expect(text.endsWith('\n')).to.equal(true)
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))
}
