import { randomUUID } from 'node:crypto'
import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import type { Transaction } from 'kysely'
import nodemailer from 'nodemailer'
import { pino } from 'pino'

import { readConfig } from '../src/config/config.ts'
import { makeMail } from '../src/directory/mail/mail.ts'
import { MAIL_FILES_MAX, mailFolder, openMailFolder } from '../src/directory/mail/mail-folder.ts'
import { type Mail, type MailKind, messages, queueMail } from '../src/directory/mail/messages.ts'
import { smtpOptions } from '../src/directory/mail/smtp.ts'
import { createLink, makeOneTimeLinks } from '../src/directory/people/one-time-links.ts'
import { checkMail, checkOutbox } from '../src/ops/doctor/machine-checks.ts'
import { makeLimits } from '../src/platform/limits/limits.ts'
import { outboxTask, waitingMessages } from '../src/platform/outbox/outbox.ts'
import { startBackgroundTasks } from '../src/platform/process/background-tasks.ts'
import { canonicalEmail, isMailAddress } from '../src/platform/store/mail-address.ts'
import type { OneTimeLinkKind, Schema } from '../src/platform/store/schema.ts'
import { change, insert, openInMemory, rowOf, rowsOf } from './support/database.ts'
import {
  configFolder,
  policyWith,
  type RunningService,
  sam,
  startService,
} from './support/gatehouse.ts'
import { within } from './support/in-time.ts'
import { mailsHandled, mailsTo } from './support/mail-folder.ts'
import { type MailServerOptions, smtpError, startMailServer } from './support/mail-server.ts'
import { decode } from './support/page-person.ts'
import { eventually, freePort, temporaryFolder } from './support/programs.ts'
import { rejection } from './support/rejection.ts'
import { getTokens } from './support/relying-party.ts'
import { sharedService } from './support/storages.ts'
import { send } from './support/wire.ts'

const TO = 'june@home.example'
const inPublic = { BASE_URL: 'https://login.example', SECRET: 's'.repeat(32) }

const values: { readonly [Kind in MailKind]: Extract<Mail, { kind: Kind }>['values'] } = {
  recovery: { byOperator: false },
  invitation: { invitedBy: 'Olivia' },
  join_request: { invitedBy: 'Olivia' },
  address_confirmation: {},
  account_exists: {},
  new_sign_in: { device: 'Firefox on Linux' },
  new_app: { app: 'Notes', clientId: 'notes' },
  password_changed: {},
  passkey_changed: { passkey: 'Phone', change: 'added' },
  identity_changed: { provider: 'Acme', change: 'linked' },
  second_factor: { change: 'added', left: 10 },
  second_factor_locked: {},
  second_factor_reset: {},
  deletion_requested: {},
  account_deleted: {},
  webhook_disabled: { url: 'hooks.example', reason: 'down' },
  deletion_stopped: { sites: ['Northlight', 'Open Kitchen'] },
}
const kinds = Object.keys(messages) as MailKind[]
const mailOf = (kind: MailKind, more: object = {}) =>
  ({ kind, to: TO, values: values[kind], ...more }) as Mail

type Place = { smtpUrl?: string | undefined; dataDir?: string }

/** Starts the mail service. It sends to a stub server with these options, unless `place` has another destination. */
async function startMail(options: MailServerOptions = {}, place: Place = {}) {
  await using opening = new AsyncDisposableStack()
  const server = opening.use(await startMailServer(options))
  const database = opening.use(await openInMemory())
  const log: string[] = []
  const heard: string[] = []
  const logger = pino({ base: null }, { write: (line: string) => void log.push(line) })
  const clock = { aheadMs: 0 }
  const now = () => Date.now() + clock.aheadMs
  const noteAttempt = (_: string, outcome: string) => void heard.push(outcome)
  const ofOutbox = { database, now, logger, sweeps: undefined, lookMs: 50, noteAttempt }
  const { service } = readConfig({}, configFolder)
  const requestLimits = makeLimits({ policy: service, shared: undefined, now })
  const failed: object[] = []
  const links = makeOneTimeLinks([Buffer.alloc(32, 7)])
  const mail = makeMail(
    { database, now, requestLimits, noteEvent: (note) => void failed.push(note) },
    {
      ...{ baseUrl: 'https://gatehouse.example', mailFrom: 'no-reply@gatehouse.example', service },
      ...{ dataDir: temporaryFolder(), smtpUrl: server.url, ...place },
    },
    links,
  )
  opening.defer(mail.close)
  opening.use(startBackgroundTasks([outboxTask({ mail: mail.handler }, ofOutbox)], { logger }))
  const open = opening.move()
  const commit = async <T>(work: (trx: Transaction<Schema>) => Promise<T>) =>
    await database.kysely.transaction().execute(work)
  return {
    ...{ kysely: database.kysely, log, heard, failed, clock, now, received: server.received },
    queue: async (message: Mail) =>
      await commit(async (trx) => await queueMail(trx, message, now())),
    async link(kind: OneTimeLinkKind = 'recovery') {
      const link = { kind, email: TO, livesSeconds: 1200 }
      const id = await commit(async (trx) => await createLink(trx, link, now()))
      return { id, token: links.tokenOf({ kind, id }) }
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  }
}

const soon = async (work: () => void) => await eventually(10_000, async () => work())

const dropConnections: MailServerOptions['before'] = async (_, sockets) => {
  for (const socket of sockets) socket.destroy()
  await new Promise(() => {})
}

async function addPerson({ kysely }: Pick<RunningService, 'kysely'>, more: object = {}) {
  const row = { id: 'per_june', email: TO, email_canonical: TO, name: 'June', created_at: 1 }
  await insert(kysely, 'person', { ...row, imported_at: 1, ...more })
}

const headerOf = (content: string, name: string) => {
  const [head = ''] = content.split('\r\n\r\n', 1)
  const header = new RegExp(`^${name}: (.*(?:\r?\n[ \t].*)*)`, 'gim')
  return [...head.matchAll(header)].map(([, value]) => value)
}

describe('mail', () => {
  it('reaches the account’s address, not a look-alike, on an SMTP server within a second of the commit [228]', async () => {
    const alike = ['junе@home.example', 'ȷune@home.example', 'june@hοme.example']
    for (const typed of [...alike, 'ｊune@home.example'])
      expect(canonicalEmail(typed), typed).to.not.equal(TO)
    await using mail = await startMail()
    await addPerson(mail)
    const startedAtMs = performance.now()
    await mail.queue(mailOf('recovery', { to: undefined, personId: 'per_june' }))
    await soon(() => expect(mail.received).to.have.length(1))
    expect(performance.now() - startedAtMs).to.be.below(1500)
    const [message] = mail.received
    expect(message).to.deep.include({ to: [TO], from: 'no-reply@gatehouse.example' })
    expect(message?.content).to.match(/^Auto-Submitted: auto-generated\r$/m)
    expect(message?.content).to.match(/^Message-ID: <[0-9a-f-]{36}@gatehouse\.example>\r$/m)
    await soon(() => expect(mail.heard).to.deep.equal(['sent']))
    expect((await waitingMessages(mail)).get('mail')).to.equal(undefined)
    await mail.queue(mailOf('recovery', { linkId: 'used' }))
    await soon(() => expect(mail.heard).to.deep.equal(['sent', 'sent']))
    expect(mail.received, 'of a link that was used or has expired').to.have.length(1)
  })

  it('is a readable file by default, only for its owner, with equal text and HTML', async () => {
    const dataDir = temporaryFolder()
    const folder = mailFolder(dataDir)
    await using mail = await startMail({}, { smtpUrl: undefined, dataDir })
    const { id, token } = await mail.link()
    const sent = kinds.filter((kind) => messages[kind].notice !== true)
    for (const kind of sent) await mail.queue(mailOf(kind, { linkId: id }))
    const written = () => readdirSync(folder).filter((name) => name.endsWith('.eml'))
    await soon(() => expect(written()).to.have.length(sent.length))
    const href = `https://gatehouse.example/recover/${token}`
    const texts = readdirSync(folder).map((name) => {
      const file = join(folder, name)
      expect(statSync(file).mode & 0o777).to.equal(0o600)
      const [head = '', text = '', page = ''] = readFileSync(file, 'utf8').split('\n----_NmP')
      expect(head).to.match(/^To: june@home\.example$/m)
      for (const paragraph of text.split('\n\n').slice(1, -1))
        expect(decode(page.replace(/<[^>]+>/g, ' '))).to.include(paragraph.split(':\n')[0])
      return text
    })
    expect(texts.filter((text) => text.includes(`\n${href}\n`))).to.have.length(7)
    expect(texts.join('')).to.include('The link works once and expires after 20 minutes.')
  })

  it('keeps at most 200 files', async () => {
    const folder = temporaryFolder()
    const { deliver } = openMailFolder(folder)
    const from = { name: 'x', address: 'x@x.example' }
    const letter = { from, to: TO, subject: 'x', text: 'x', html: 'x' }
    for (let createdAt = 1; createdAt <= MAIL_FILES_MAX + 3; createdAt += 1)
      await deliver({ ...letter, createdAt, id: randomUUID() }, new AbortController().signal)
    expect(readdirSync(folder)).to.have.length(MAIL_FILES_MAX)
    expect(Math.min(...readdirSync(folder).map((name) => Number.parseInt(name, 10)))).to.equal(4)
  })

  it('waits for a mail server that is down even if it has no recipient, to hide which accounts exist; doctor reports it', async () => {
    await using mail = await startMail({}, { smtpUrl: `smtp://127.0.0.1:${await freePort()}` })
    await mail.queue(mailOf('recovery', { linkId: 'used' }))
    await soon(() => expect(mail.heard).to.deep.equal(['postponed']))
    const at = async (aheadMs: number) =>
      await Array.fromAsync(checkOutbox({ kysely: mail.kysely }, () => Date.now() + aheadMs))
    expect(await at(14 * 60_000)).to.deep.equal([])
    const [late] = await at(16 * 60_000)
    expect(late?.check).to.equal('mail.waiting')
    expect(late?.sentence).to.match(/^1 message is waiting, .*last error: .*(ECONNREFUSED|ESOCKET)/)
  })

  // [231, 234]
  it('waits for a mail server that is down, keeps its Message-ID, and does not log addresses or links', async () => {
    let isDown = true
    const attempts: string[] = []
    await using mail = await startMail({
      before: async ({ content }) => {
        attempts.push(...headerOf(content, 'Message-ID').map(String))
        if (isDown) throw smtpError(451, `\u001b[2J ${TO} ${'x'.repeat(400)}`)
      },
    })
    const { id, token } = await mail.link()
    await mail.queue(mailOf('recovery', { linkId: id }))
    await soon(() => expect(mail.heard).to.deep.equal(['postponed']))
    const row = await rowOf(mail.kysely, 'outbox')
    const reason = 'the mail server did not accept the message (EMESSAGE DATA 451)'
    expect(row.last_error).to.equal(reason)
    expect(JSON.stringify(row)).to.not.include(token.split('.')[1])
    isDown = false
    mail.clock.aheadMs = 11_000
    await soon(() => expect(mail.received).to.have.length(1))
    expect(attempts).to.have.length(2)
    expect(new Set(attempts).size).to.equal(1)
    expect(mail.log.join('')).to.not.match(/june|\[2J|xxxx/)
    expect(mail.log.join('')).to.not.include(token)
  })

  for (const [what, options, outcome] of [
    ['rejects the recipient', { onRcptTo: (_, __, done) => done(smtpError(550, TO)) }, 'dropped'],
    ['rejects the message', { before: () => Promise.reject(smtpError(554)) }, 'dropped'],
    ['is greylisting', { onRcptTo: (_, __, done) => done(smtpError(450)) }, 'postponed'],
    ['rejects the sender', { onMailFrom: (_, __, done) => done(smtpError(550)) }, 'postponed'],
    ['requires a password', { authOptional: false }, 'postponed'],
    ['drops the connection', { before: dropConnections }, 'postponed'],
  ] as const satisfies [string, MailServerOptions, string][]) {
    it(`is ${outcome === 'dropped' ? outcome : 'postponed for three days'} if the server ${what}`, async () => {
      await using mail = await startMail(options)
      await mail.queue(mailOf('password_changed', { personId: 'per_june', siteId: 'sit_a' }))
      await soon(() => expect(mail.heard).to.deep.equal([outcome]))
      const waiting = (await waitingMessages(mail)).get('mail')
      expect(waiting?.count).to.equal(outcome === 'dropped' ? undefined : 1)
      if (outcome === 'postponed') {
        expect(mail.failed).to.deep.equal([])
        mail.clock.aheadMs = 3 * 86_400_000
        await soon(() => expect(mail.heard).to.deep.equal(['postponed', 'dropped']))
      }
      const whose = { aboutPersonId: 'per_june', siteId: 'sit_a', reason: '' }
      const noted = mail.failed.map((note) => ({ ...note, reason: '' }))
      expect(noted).to.deep.equal([{ action: 'mail.failure', ...whose }])
    })
  }

  it('does not delay the shutdown when the server is silent [234]', async () => {
    const waiting = Promise.withResolvers<void>()
    const mail = await startMail({
      before: async () => {
        waiting.resolve()
        await new Promise(() => {})
      },
    })
    await mail.queue(mailOf('password_changed'))
    await waiting.promise
    await within(8_000, mail[Symbol.asyncDispose]())
    expect(mail.heard).to.deep.equal(['postponed'])
  })

  it('signs in over TLS, and requires TLS except on this machine', async () => {
    const onAuth: MailServerOptions['onAuth'] = ({ username, password }, _, done) =>
      done(null, password === 'p@ss/word' ? { user: username } : undefined)
    await using server = await startMailServer({ onAuth, authOptional: false })
    const smtpUrl = `smtp://gate%40house:p%40ss%2Fword@127.0.0.1:${server.port}`
    await using mail = await startMail({}, { smtpUrl })
    await mail.queue(mailOf('password_changed'))
    await soon(() => expect(server.received).to.have.length(1))
    expect(server.received[0]).to.include({ secure: true, user: 'gate@house' })
    await using plain = await startMailServer({ disabledCommands: ['STARTTLS'] })
    for (const [{ port }, code] of [
      [plain, 'ETLS'],
      [server, 'ESOCKET'],
    ] as const) {
      const there = { ...smtpOptions('smtp://u:p@mail.example'), host: '127.0.0.1', port }
      const transport = nodemailer.createTransport(there)
      const failure = await rejection(transport.verify())
      transport.close()
      expect(failure).to.have.property('code', code)
    }
  })

  it('accepts one plain address only [227]', async () => {
    for (const address of [TO, 'a.b+c@x.example', 'ü@müller.example', 'root@localhost'])
      expect(isMailAddress(address), address).to.equal(true)
    const hostile = [
      `${TO}, eve@evil.example`,
      `${TO};eve@evil.example`,
      'june@home.example@evil.example',
      `Eve <${TO}>`,
      `"eve@evil.example"@home.example`,
      `${TO}\r\nBcc: eve@evil.example`,
      `${TO}> SIZE=1 <eve@evil.example`,
      `june@home.example\0`,
      'june @home.example',
      'june@home.example/../x',
      `${'j'.repeat(65)}@home.example`,
      `june@${'h'.repeat(250)}.example`,
      'june@-home.example',
      'june@home-.example',
      `june@${'h'.repeat(64)}.example`,
      '@home.example',
      'june@home．example',
      'june@ｈome.example',
      '.june@home.example',
    ]
    await using mail = await startMail()
    for (const to of hostile) {
      expect(isMailAddress(to), JSON.stringify(to)).to.equal(false)
      await mail.queue(mailOf('password_changed', { to }))
    }
    await soon(() => expect(mail.heard).to.have.length(hostile.length))
    expect(new Set(mail.heard)).to.deep.equal(new Set(['dropped']))
    expect(mail.received).to.deep.equal([])
  })

  // [226, 230]
  it('contains names as text: they add no header, recipient, line or markup', async () => {
    const evil =
      'x\r\nBcc: eve@evil.example\r\n\r\n</title><script>alert(1)</script>\u202e"\'<img src=x onerror=y>'
    await using mail = await startMail()
    await addPerson(mail, { name: evil })
    await insert(mail.kysely, 'site', { id: 'sit_a', slug: 'a', name: evil, created_at: 1 })
    const values = { invitedBy: `${evil}${'y'.repeat(9999)}` }
    await mail.queue(mailOf('join_request', { personId: 'per_june', siteId: 'sit_a', values }))
    await soon(() => expect(mail.received).to.have.length(1))
    const [{ to, content } = { to: [], content: '' }] = mail.received
    expect(to).to.deep.equal([TO])
    const counts = ['Bcc', 'Subject'].map((name) => headerOf(content, name).length)
    expect([...counts, headerOf(content, 'To')]).to.deep.equal([0, 1, [TO]])
    const plain = content.replace(/=\r\n/g, '')
    const html = plain.slice(plain.indexOf('text/html'))
    expect(html).to.not.match(/<(script|img)/)
    expect(html.match(/<\/title>/g)).to.have.length(1)
    expect(content.length).to.be.below(9000)
  })

  it('reaches an address ten times a day for each kind [229, 260]', async () => {
    await using mail = await startMail()
    const { id: linkId } = await mail.link('invitation')
    for (let times = 1; times <= 15; times += 1)
      await mail.queue(mailOf('invitation', { linkId, to: times % 2 ? TO.toUpperCase() : TO }))
    await soon(() => expect(mail.heard).to.have.length(15))
    expect(mail.received).to.have.length(10)
    await mail.queue(mailOf('password_changed'))
    await soon(() => expect(mail.received).to.have.length(11))
  })
})

it('doctor reports files instead of mail, except on this machine, and a server that cannot be used', async () => {
  const look = async (variables: Record<string, string>) => {
    const findings = await Array.fromAsync(checkMail(readConfig(variables, configFolder)))
    return findings.map(({ check = 'ok' }) => check)
  }
  await using server = await startMailServer({ authOptional: false })
  expect(await look({})).to.deep.equal([])
  expect(await look(inPublic)).to.deep.equal(['mail.folder'])
  const MAIL_FROM = TO
  expect(await look({ ...inPublic, MAIL_FROM, SMTP_URL: server.url })).to.deep.equal(['ok'])
  await using strict = await startMailServer({ onAuth: (_, __, done) => done(smtpError(535)) })
  const SMTP_URL = strict.url.replace('//', '//u:secret@')
  expect(await look({ ...inPublic, MAIL_FROM, SMTP_URL })).to.deep.equal(['mail.server'])
})

describe('mail of a service', () => {
  const service = sharedService()

  const subjects = () => mailsTo(service()).flatMap((mail) => headerOf(mail, 'Subject'))

  it('tells a person about a new app once, and about sign-ins in new browsers after the first', async () => {
    const { url, kysely } = service()
    await getTokens(url)
    await mailsHandled(service())
    const first = 'Course Notes can now use your account'
    expect(subjects()).to.deep.equal([first])
    await getTokens(url)
    await mailsHandled(service())
    expect(subjects()).to.have.members([first, 'New sign-in to Gatehouse'])
    expect(mailsTo(service(), sam.login)).to.have.length(2)
    // A recovery ends all grants. The next sign-in must still not count as the first.
    await change(kysely, 'oauth_grant', {}, { ended_at: Date.now() })
    await getTokens(url)
    await mailsHandled(service())
    const signIns = subjects().filter((subject) => subject === 'New sign-in to Gatehouse')
    expect(signIns).to.have.length(2)
  })

  it('is shown by the demo under its file name; other files are not shown [232]', async () => {
    const { url, config } = service()
    const list = await send(url, { path: '/mail' })
    const [, path = ''] = /href="(\/mail\/[^"]+)"/.exec(list.text) ?? []
    const message = await send(url, { path })
    expect(message.text).to.include('Hello Sam').and.to.include(`href="${url}/account"`)
    expect(message.headers.get('content-security-policy')).to.match(/^default-src 'none';.*sandbox/)
    expect((await send(url, { path: '/' })).text).to.include('href="/mail"')
    writeFileSync(join(mailFolder(config.dataDir), 'other.eml'), 'text/html\n\nsecret')
    for (const file of [
      ...['other.eml', '..%2fsecret', '..%2Fgatehouse.db', '%2e%2e%2fsecret', '..\\secret'],
      ...['.', '%00'],
      '1795442643073-00000000-0000-0000-0000-000000000000.eml%2f..%2fother.eml',
    ])
      expect((await send(url, { path: `/mail/${file}` })).status, file).to.be.oneOf([400, 404])
  })

  for (const [what, environment] of [
    ['without demo data', { DEMO_DATA: 'off' }],
    ['at a public address', { DEMO_DATA: 'on', ...inPublic }],
    ['with a mail server', { SMTP_URL: 'smtp://127.0.0.1:9', MAIL_FROM: TO }],
  ] as const) {
    it(`is not shown ${what} [233]`, async () => {
      await using other = await startService({ environment })
      const { host } = new URL(other.config.baseUrl)
      const at = `http://127.0.0.1:${other.config.port}`
      for (const path of ['/mail', '/']) {
        const { status, text } = await send(at, { path, headers: ['Host', host] })
        expect(status).to.equal(path === '/' ? 200 : 404)
        expect(text).to.not.include('href="/mail"')
      }
    })
  }

  it('has no notices if signIn.notices is off', async () => {
    await using quiet = await startService({ policy: policyWith({ signIn: { notices: false } }) })
    await getTokens(quiet.url)
    await getTokens(quiet.url)
    expect(await rowsOf(quiet.kysely, 'outbox')).to.deep.equal([])
    expect(mailsTo(quiet)).to.deep.equal([])
  })
})
