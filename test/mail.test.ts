import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import type { Transaction } from 'kysely'
import { pino } from 'pino'

import { readConfig } from '../src/config/config.ts'
import { type Mail, makeMail } from '../src/directory/mail/mail.ts'
import { isMailAddress } from '../src/directory/mail/mail-address.ts'
import { type MailKind, messages } from '../src/directory/mail/messages.ts'
import { mailFolder } from '../src/directory/mail/transports.ts'
import { makeOneTimeLinks } from '../src/directory/people/one-time-links.ts'
import { makeLimits } from '../src/platform/limits/limits.ts'
import { makeOutbox } from '../src/platform/outbox/outbox.ts'
import { startBackgroundTasks } from '../src/platform/process/background-tasks.ts'
import { openDatabase } from '../src/platform/store/open-stores.ts'
import type { OneTimeLinkKind, Schema } from '../src/platform/store/schema.ts'
import { patiently } from './support/database.ts'
import { configFolder } from './support/gatehouse.ts'
import { smtpError, startMailServer } from './support/mail-server.ts'
import { eventually, temporaryFolder } from './support/programs.ts'

const TO = 'june@home.example'
const key = Buffer.alloc(32, 7)

const values: { readonly [Kind in MailKind]: Extract<Mail, { kind: Kind }>['values'] } = {
  recovery: { byOperator: false },
  invitation: { invitedBy: 'Olivia' },
  join_request: { invitedBy: 'Olivia' },
  address_confirmation: {},
  new_sign_in: { device: 'Firefox on Linux' },
  new_app: { app: 'Notes', host: 'notes.example' },
  password_changed: {},
  deletion_requested: {},
  account_deleted: {},
}
const kinds = Object.keys(messages) as MailKind[]
const mailOf = (kind: MailKind, more: object = {}) =>
  ({ kind, to: TO, values: values[kind], ...more }) as Mail

/** Mail with its own embedded database, without the rest of a service. */
async function startMail(place: { smtpUrl?: string; dataDir?: string }) {
  await using opening = new AsyncDisposableStack()
  const database = opening.use(await openDatabase({ kind: 'sqlite', file: ':memory:' }, patiently))
  const { kysely } = database
  const log: string[] = []
  const heard: string[] = []
  const logger = pino({ base: null }, { write: (line: string) => void log.push(line) })
  const clock = { aheadMs: 0 }
  const now = () => Date.now() + clock.aheadMs
  const hear = (_: string, outcome: string) => void heard.push(outcome)
  const outbox = makeOutbox({ database, now, logger, sweeps: undefined, hear })
  const { service } = readConfig({}, configFolder)
  const requestLimits = makeLimits({ policy: service, shared: undefined, now })
  const failed: object[] = []
  const noteEvent = (note: object) => void failed.push(note)
  const links = makeOneTimeLinks([key])
  const mail = makeMail(
    { database, now, outbox, requestLimits, noteEvent },
    {
      ...{ baseUrl: 'https://gatehouse.example', mailFrom: 'no-reply@gatehouse.example', service },
      ...{ dataDir: temporaryFolder(), smtpUrl: undefined, ...place },
    },
    links,
  )
  opening.defer(mail.close)
  opening.use(startBackgroundTasks([outbox.task({ mail: mail.handler })], { logger }))
  const open = opening.move()
  const commit = async <T>(work: (trx: Transaction<Schema>) => Promise<T>) =>
    await kysely.transaction().execute(work)
  return {
    ...{ kysely, log, heard, failed, clock, outbox, now },
    queue: async (message: Mail) =>
      await commit(async (trx) => await mail.queueMail(trx, message, now())),
    /** Stores a link, and returns its id and its token. */
    async link(kind: OneTimeLinkKind = 'recovery') {
      const whose = { kind, email: TO, emailCanonical: TO }
      const times = { nowMs: now(), livesSeconds: 1200 }
      const id = await commit(async (trx) => await links.create(trx, whose, times))
      return { id, token: links.tokenOf({ kind, id }) }
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

const soon = async (work: () => void) => await eventually(10_000, async () => work())

describe('mail', () => {
  it('reaches an SMTP server within a second of the commit', async () => {
    await using server = await startMailServer()
    await using mail = await startMail({ smtpUrl: server.url })
    const startedAtMs = performance.now()
    await mail.queue(mailOf('recovery'))
    await soon(() => expect(server.received).to.have.length(1))
    expect(performance.now() - startedAtMs).to.be.below(1500)
    const [message] = server.received
    expect(message?.to).to.deep.equal([TO])
    expect(message?.from).to.equal('no-reply@gatehouse.example')
    expect(message?.content).to.match(/^Auto-Submitted: auto-generated\r$/m)
    expect(message?.content).to.match(/^Message-ID: <[0-9a-f-]{36}@gatehouse\.example>\r$/m)
    await soon(() => expect(mail.heard).to.deep.equal(['sent']))
    expect((await mail.outbox.waiting()).count).to.equal(0)
  })

  it('is a readable file by default, which only its owner can read', async () => {
    const dataDir = temporaryFolder()
    const folder = mailFolder(dataDir)
    await using mail = await startMail({ dataDir })
    const { id, token } = await mail.link()
    for (const kind of kinds) await mail.queue(mailOf(kind, { linkId: id }))
    await soon(() => expect(readdirSync(folder)).to.have.length(kinds.length))
    const [name = ''] = readdirSync(folder)
    expect(name).to.match(/\.eml$/)
    expect(statSync(join(folder, name)).mode & 0o777).to.equal(0o600)
    const all = readdirSync(folder).map((each) => readFileSync(join(folder, each), 'utf8'))
    const href = `https://gatehouse.example/recover/${token}`
    expect(all.filter((each) => each.includes(`\n${href}\n`))).to.have.length(5)
    expect(all.join('')).to.include('The link works once and expires after 20 minutes.')
  })

  it('is not sent once its link has ended', async () => {
    await using server = await startMailServer()
    await using mail = await startMail({ smtpUrl: server.url })
    await mail.queue(mailOf('recovery', { linkId: 'another' }))
    await soon(() => expect(mail.heard).to.deep.equal(['sent']))
    expect(server.received).to.deep.equal([])
  })

  it('waits for a mail server that is down, and keeps its Message-ID', async () => {
    let isDown = true
    const attempts: string[] = []
    await using server = await startMailServer({
      before: async ({ content }) => {
        attempts.push(/^Message-ID: (.*)\r$/m.exec(content)?.[1] ?? '')
        if (isDown) throw smtpError(451, `try ${TO} later`)
      },
    })
    await using mail = await startMail({ smtpUrl: server.url })
    await mail.queue(mailOf('password_changed'))
    await soon(() => expect(mail.heard).to.deep.equal(['postponed']))
    isDown = false
    mail.clock.aheadMs = 11_000
    await soon(() => expect(server.received).to.have.length(1))
    expect(attempts).to.have.length(2)
    expect(attempts[0]).to.equal(attempts[1])
    expect(mail.log.join('')).to.not.include('june')
  })

  it('accepts one plain address only', () => {
    for (const address of [TO, 'a.b+c@x.example', 'ü@müller.example', 'root@localhost']) {
      expect(isMailAddress(address), address).to.equal(true)
    }
    for (const address of [
      `${TO}, eve@evil.example`,
      `${TO};eve@evil.example`,
      'june@home.example@evil.example',
      `Eve <${TO}>`,
      `"eve@evil.example"@home.example`,
      `${TO}\r\nBcc: eve@evil.example`,
      `june@home.example\0`,
      'june @home.example',
      'june@home.example/../x',
      `${'j'.repeat(65)}@home.example`,
      `june@${'h'.repeat(250)}.example`,
      'june@-home.example',
      '@home.example',
      '.june@home.example',
    ]) {
      expect(isMailAddress(address), JSON.stringify(address)).to.equal(false)
    }
  })
})
