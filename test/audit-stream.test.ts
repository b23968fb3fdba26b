import { appendFileSync, readFileSync, statSync, writeFileSync } from 'node:fs'
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
import { temporaryFolder } from './support/programs.ts'

describe('the stream of audit events', () => {
  it('has an example of its schema in docs/how-to/operate.md', () => {
    const page = readFileSync(join(import.meta.dirname, '../docs/how-to/operate.md'), 'utf8')
    const [, example = ''] = /```json\n(.*)\n```/.exec(page) ?? []
    expect(isEvent(JSON.parse(example)), JSON.stringify(isEvent.errors)).to.equal(true)
  })

  it('has a schema with exactly the actions of the table', () => {
    expect(eventSchema.properties.action.enum).to.have.members(Object.keys(auditActions))
  })

  it('writes lines of that schema to a private file, all of them before the service stops', async () => {
    const file = join(temporaryFolder(), 'service.jsonl')
    const service = await startService({ environment: { AUDIT_STREAM: file } })
    await obtainTokens(service.url)
    await service[Symbol.asyncDispose]()
    const text = readFileSync(file, 'utf8')
    expect(text.endsWith('\n')).to.equal(true)
    const lines = parsed(text.trimEnd().split('\n'))
    for (const line of lines) expect(isEvent(line), JSON.stringify(isEvent.errors)).to.equal(true)
    const actions = lines.map(({ action }) => action)
    const expected = ['sign_in.success', 'consent.given', 'authorization.given']
    expect(actions).to.have.members(expected)
    expect(statSync(file).mode & 0o777).to.equal(0o600)
  })

  it('starts a new line after the partial line of a killed process', async () => {
    const file = join(temporaryFolder(), 'torn.jsonl')
    writeFileSync(file, '{"version":1,"id":"ha')
    const sink = openEventSink(file)
    await sink(['{"one":1}'])
    appendFileSync(file, '{"mine":2}\n')
    await sink(['{"two":2}', '{"three":3}'])
    const [, ...lines] = readFileSync(file, 'utf8').split('\n')
    expect(lines).to.deep.equal(['{"one":1}', '{"mine":2}', '{"two":2}', '{"three":3}', ''])
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

  it('has every event once with two processes, also when one of them stops', async () => {
    await using database = await open()
    let clockMs = 1_800_000_000_000
    const first: Line[] = []
    const second: Line[] = []
    const streams = [first, second].map((taken) =>
      makeAuditStream(database, sinkOf(taken), () => clockMs),
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
    // A process that stops gives up its turn at once.
    await streams[other]?.end()
    await fill(database, 1)
    await streams[silent]?.run()
    expect([first, second][silent]).to.have.length(451)
    expect(new Set([...first, ...second].map(({ id }) => id)).size).to.equal(455)
  })

  it('repeats events with the same ids if the process ended before it marked them', async () => {
    await using database = await open()
    await fill(database, 5)
    const taken: Line[] = []
    let fails = true
    const sink = async (lines: readonly string[]) => {
      taken.push(...parsed(lines))
      if (fails) throw new Error('killed')
    }
    const stream = makeAuditStream(database, sink, Date.now)
    expect(await stream.run().catch((error: Error) => error.message)).to.equal('killed')
    fails = false
    await stream.run()
    expect(taken).to.have.length(10)
    expect(new Set(taken.map(({ id }) => id)).size).to.equal(5)
  })

  it('has no event of a change that was rolled back', async () => {
    await using database = await open()
    const change = { subject: { kind: 'site', id: 'north' }, siteId: 'north' } as const
    const now = { now: Date.now() }
    await database.kysely
      .transaction()
      .execute(async (trx) => {
        await recordAuditEvent(trx, now, { ...change, action: 'site.update' })
        throw new Error('rolled back')
      })
      .catch(() => {})
    await recordAuditEvent(database.kysely, now, { ...change, action: 'feature.on' })
    const taken: Line[] = []
    await makeAuditStream(database, sinkOf(taken), Date.now).run()
    expect(taken.map(({ action }) => action)).to.deep.equal(['feature.on'])
  })
})

interface Line {
  readonly id: string
  readonly action: string
}

const parsed = (lines: readonly string[]): Line[] => lines.map((line) => JSON.parse(line))

const sinkOf = (taken: Line[]) => async (lines: readonly string[]) =>
  void taken.push(...parsed(lines))
