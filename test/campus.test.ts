import { hash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { isTime, resolveTime } from '../src/ops/import/campus-time.ts'
import {
  demoPeople,
  holdsDemoCampus,
  loadDemo,
  readDemo,
  valuesOfKind,
} from '../src/ops/import/demo-campus.ts'
import { readBatch } from '../src/ops/import/read-records.ts'
import type { Database } from '../src/platform/store/database.ts'
import { insert, openInMemory, rowOf, rowsOf } from './support/database.ts'
import { configFolder, sam } from './support/gatehouse.ts'
import { temporaryFolder } from './support/programs.ts'
import { rejection } from './support/rejection.ts'
import { fresh } from './support/shared.ts'

const NOW_MS = Date.UTC(2026, 2, 10, 12, 30)
const DAY_MS = 86_400_000

const demo = await readDemo(join(configFolder, 'demo'))
const people = valuesOfKind(demo, 'person')
const secrets = valuesOfKind(demo, 'application').flatMap(({ secret }) => secret ?? [])

describe('demo campus: the data', () => {
  it('keeps every address under a reserved domain (RFC 2606 §2), and marks its client secrets', () => {
    const addresses = people.flatMap(({ email, picture }) => [email, picture ?? []].flat())
    for (const address of addresses) expect(address).to.match(/@[a-z]+\.example$|\.example\//)
    expect(secrets).to.have.lengthOf(2)
    for (const secret of secrets) expect(secret).to.match(/^demo-only-/)
  })

  it('lists the accounts with their roles', () => {
    const accounts = demoPeople(demo)
    expect(accounts).to.have.lengthOf(8)
    expect(accounts[0]).to.deep.equal({ ...sam, what: 'student at Northlight Academy' })
    expect(accounts.map((account) => account.what)).to.include.members([
      'owner at Northlight Academy',
      'owner and lecturer at Open Kitchen School, student at Northlight Academy',
      'student at Northlight Academy; disabled',
    ])
  })
})

it('campus: times are instants, or relative to the moment of loading', () => {
  const offset = (moment: string) => resolveTime(moment, NOW_MS) - NOW_MS
  expect([offset('now'), offset('30 days ago')]).to.deep.equal([0, -30 * DAY_MS])
  expect(offset('in 1 hour')).to.equal(3_600_000)
  expect(offset('in 14 days at 18:00')).to.equal(14 * DAY_MS + 5.5 * 3_600_000)
  expect(offset('2026-03-10T12:30:00+01:00')).to.equal(-3_600_000)
  const wrong = ['', 'yesterday', '-3 days ago', 'in 3 days at 24:00', '2026-13-01T00:00Z']
  for (const text of wrong) expect(isTime(text), text).to.equal(false)
})

it('campus: the demo is refused with all its invalid lines', async () => {
  const folder = temporaryFolder()
  const put = (name: string, lines: string) => writeFileSync(join(folder, name), lines)
  put('1.ndjson', '{"type":"site"\n{"type":"vase"}\n')
  put('2.ndjson', '{"type":"site","id":"sit_1","slug":"one","createdAt":"now"}\n')
  const { message } = await rejection(readDemo(folder))
  expect(message.split('\n- ').map((line) => line.split(':')[0])).to.deep.equal([
    'The demo campus is invalid',
    'the line is not valid JSON, or is longer than 1 MiB',
    'type',
    'name',
  ])
})

describe('campus: loading the demo', () => {
  const database = fresh(openInMemory)

  it('writes every row with its id and time, the marker, and no secret in plain text', async () => {
    expect(await holdsDemoCampus(database())).to.equal(false)
    expect(await load(database(), demo)).to.equal(true)
    const counts = { site: 2, person: 8, course: 12, lecture: 50, oauth_application: 3, setting: 1 }
    const rows = (await dump(database())).map(([table, found]) => [table, found.length] as const)
    expect(Object.fromEntries(rows)).to.include(counts)
    expect(await holdsDemoCampus(database())).to.equal(true)

    const at = (days: number) => NOW_MS - days * DAY_MS
    const purchase = async (id: string) => await rowOf(database().kysely, 'course_purchase', { id })
    expect(await purchase('pur_sam_light')).to.include({ purchased_at: at(419), expires_at: null })
    const expiring = { purchased_at: at(400), expires_at: at(35) }
    expect(await purchase('pur_sam_portrait')).to.include(expiring)

    const everything = JSON.stringify(await dump(database()))
    const passwords = people.flatMap(({ password }) => password ?? [])
    expect(passwords.length + secrets.length).to.equal(10)
    for (const value of [...passwords, ...secrets]) expect(everything).not.to.include(value)
    for (const digest of [...passwords.map(hashed), ...secrets.map(sha256)])
      expect(everything).to.include(digest)
  })

  it('changes nothing the second time, or in a database with people', async () => {
    await load(database(), demo)
    await using other = await openInMemory()
    const person = { id: 'per_other', email: 'Sam@northlight.example', name: 'Sam', created_at: 1 }
    await insert(other.kysely, 'person', { ...person, email_canonical: 'sam@northlight.example' })
    for (const full of [database(), other]) {
      const before = await dump(full)
      expect([await load(full, demo), await dump(full)]).to.deep.equal([false, before])
    }
    expect(await holdsDemoCampus(other)).to.equal(false)
  })

  it('names records that contradict others, and writes nothing', async () => {
    const changes: Readonly<Record<string, object>> = {
      per_theo: { email: String(people[0]?.email.toUpperCase()) },
      crs_market: { lecturers: ['per_nobody'] },
      pur_sam_diary: { order: 'ord_noor_1' },
    }
    const broken = demo.map(({ line, record }, at) => {
      const value = { ...Object(line.value), ...changes[record.id] }
      return { number: at + 1, text: JSON.stringify(value), value, size: 1 }
    })
    const before = await dump(database())
    const { message } = await rejection(load(database(), readBatch(broken).lines))
    const problems = message.split('\n- ').slice(1)
    expect(problems.map((problem) => problem.replace(/: \{.*/, ''))).to.have.members([
      'another record has the same email',
      'lecturers: no person has the id per_nobody',
      'order: this order belongs to another person or site',
    ])
    expect(problems.join()).to.include('"id":"per_theo"')
    expect(await dump(database())).to.deep.equal(before)
  })
})

const sha256 = (text: string) => hash('sha256', text, 'base64url')
const hashed = (password: string) => `hash-of-${sha256(password)}`

function load(database: Database, lines: typeof demo) {
  const hashPassword = async (password: string) => hashed(password)
  return loadDemo(database, lines, { hashPassword, now: () => NOW_MS })
}

async function dump({ kysely }: Database) {
  const tables = await kysely.introspection.getTables()
  const names = tables.map(({ name }) => name).filter((name) => name !== 'schema_migration')
  return await Array.fromAsync(names.sort(), async (name) => {
    const rows = await rowsOf(kysely, name as 'setting')
    return [name, rows.map((row) => JSON.stringify(row)).sort()] as const
  })
}
