import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { holdsDemoCampus } from '../../src/ops/import/demo-campus.ts'
import { isEvent } from '../support/audit-events.ts'
import { obtainTokens, refresh, userinfo } from '../support/client.ts'
import { openEmbedded } from '../support/database.ts'
import { configFolder, flushingSoon, notes, sam } from '../support/gatehouse.ts'
import {
  dataFolderWithDemo,
  gatehouse,
  runDoctor,
  runGatehouse,
  startProcess,
} from '../support/process.ts'
import { eventually, temporaryFolder } from '../support/programs.ts'
import { sharedService } from '../support/storages.ts'

const demoFolder = join(configFolder, 'demo')

describe('the gatehouse command', () => {
  it('prints help for every command, also when none is given', async () => {
    for (const words of [['help'], ['--help'], []]) {
      const printed = await gatehouse(words, {})
      for (const name of [
        ...['keys list', 'keys rotate', '--force', 'import <path>', 'export <folder>'],
        ...['backup <folder>', 'backup verify <folder>', 'restore <folder>', '--keep-grants'],
        ...['migrate', '--dry-run', 'reviewers', 'doctor', '--outside'],
      ])
        expect(printed).to.include(name)
    }
  })

  for (const words of [
    ...['keys', 'keys rotate --now', 'keys rotate --force --force', 'import', 'import a b'],
    ...['backup', 'backup verify', 'restore --keep-grants', 'migrate --keep-grants x'],
    'constructor',
  ]) {
    it(`rejects the invalid command "${words}" with exit code 2`, async () => {
      const { code, stdout, stderr } = await runGatehouse(words.split(' '), {})
      expect([code, stdout]).to.deep.equal([2, ''])
      expect(stderr).to.include(`Invalid command: ${words}\n`)
    })
  }

  it('migrates the database only in commands that write', async () => {
    const variables = { DATA_DIR: temporaryFolder() }
    for (const words of ['keys list', 'reviewers', 'audit', `export ${temporaryFolder()}`]) {
      const said = await gatehouse(words.split(' '), variables, 1)
      expect(said, words).to.include('Run `npm run gatehouse -- migrate`, or start the service')
    }
    const unknown = await gatehouse(['reviewers', 'add', 'a@b.example'], variables, 1)
    expect(unknown).to.include('There is no account')
  })

  it('reports the problems of the configuration as a start does', async () => {
    expect(await gatehouse(['keys', 'list'], { PORT: 'x', DATABASE_URL: 'mysql://x/y' }, 1))
      .to.include('PORT must be a whole number')
      .and.include('DATABASE_URL must be a postgres:// URL')
  })
})

describe('import and export', () => {
  it('load a campus whose people can sign in at once, and never mark it as the demo', async () => {
    const variables = { DATA_DIR: temporaryFolder(), DEMO_DATA: 'off' }
    await using service = await startProcess(variables)
    const imported = await gatehouse(['import', demoFolder], variables)
    expect(imported).to.match(/^Imported .*: site 2, person 8, .*\.\n$/)
    const { accessToken } = await obtainTokens(service.url)
    expect((await userinfo(service.url, accessToken)).body.sub).to.equal('per_sam')

    await using database = await openEmbedded(variables.DATA_DIR)
    expect(await holdsDemoCampus(database)).to.equal(false)
    const events = database.kysely.selectFrom('audit_event').selectAll().orderBy('occurred_at')
    const [first, ...later] = await events.execute()
    expect(first?.action).to.equal('campus.imported')
    expect(JSON.parse(first?.after ?? '')).to.include({ site: 2, person: 8 })
    expect(later.map(({ action }) => action)).to.include('consent.given')
  })

  it('copy a campus by files that only their owner can read, and a second import changes nothing', async () => {
    const [from, to] = [{ DATA_DIR: await dataFolderWithDemo() }, { DATA_DIR: temporaryFolder() }]
    const folder = join(temporaryFolder(), 'all')
    const exported = await gatehouse(['export', folder], from)
    expect(exported).to.include(`Exported to ${folder}: site 2, person 8, `)
    expect(readdirSync(folder).slice(0, 2)).to.deep.equal(['01-site.ndjson', '02-person.ndjson'])
    expect(statSync(join(folder, '02-person.ndjson')).mode & 0o777).to.equal(0o600)
    for (const _ of ['first', 'second'])
      expect(await gatehouse(['import', folder], to)).to.match(/^Imported .*site 2, person 8/)
    const second = await gatehouse(['export', folder], from, 1)
    expect(second).to.equal(`${folder} is not empty. Choose an empty or new folder.\n`)
  })

  it('collect rejected lines in a file, even in the imported one, and disable absent people', async () => {
    const DATA_DIR = temporaryFolder()
    const path = join(temporaryFolder(), 'school.ndjson')
    const person = (id: string, email = `${id}@school.example`) => ({
      ...{ type: 'person', id: `per_${id}`, email, name: id, createdAt: 'now' },
    })
    const site = { type: 'site', id: 'sit_1', slug: 'one', name: 'One', createdAt: 'now' }
    const post = { type: 'notificationSubscription', id: 'sub_1', person: 'per_bob' }
    const inbox = { ...post, site: 'sit_1', topic: 'news', channel: 'inbox' }
    const records = [site, person('ada'), person('bob', 'nowhere'), inbox]
    const lines = records.map((record) => `${JSON.stringify(record)}\n`)
    writeFileSync(path, lines.join(''))
    const importAll = ['import', path, '--rejects', path]
    expect(await runGatehouse(importAll, { DATA_DIR })).to.deep.include({
      code: 1,
      stdout:
        'school.ndjson:3: email: must be an e-mail address\n' +
        'Not written, because they refer to rejected records: notificationSubscription 1\n',
      stderr: `Imported ${path}: site 1, person 1. Invalid lines: 1. Correct them and import them again.\n`,
    })
    const rejects = readFileSync(path, 'utf8')
    expect(rejects).to.equal(lines.slice(2).join(''))
    expect(statSync(path).mode & 0o777).to.equal(0o600)
    writeFileSync(path, rejects.replace('nowhere', 'bob@school.example'))
    expect(await gatehouse([...importAll, '--missing', 'end'], { DATA_DIR })).to.equal(
      `Imported ${path}: person 1, notificationSubscription 1. ` +
        'People from earlier imports who are missing from this one (disabled and signed out): 1.\n',
    )
    expect(readFileSync(path, 'utf8')).to.equal('')
    const wrong = await gatehouse(['import', path, '--missing', 'all'], { DATA_DIR }, 1)
    expect(wrong).to.equal('--missing must be one of keep, end, end-all\n')
  })

  it('do not print control characters from a record', async () => {
    const DATA_DIR = temporaryFolder()
    const name = 'Eve \u001b[2J\u009b31m\u202eevE'
    const eve = {
      type: 'person',
      id: 'per_eve',
      email: 'eve@school.example',
      name,
      createdAt: 'now',
    }
    const path = join(temporaryFolder(), 'people.ndjson')
    writeFileSync(path, `${JSON.stringify(eve)}\n`)
    await gatehouse(['import', path], { DATA_DIR })
    writeFileSync(path, `${JSON.stringify({ ...eve, '\u001b]0;mine\u0007': 1 })}\n`)
    const refused = await gatehouse(['import', path], { DATA_DIR }, 1)
    expect(refused).to.include('mine')
    await gatehouse(['reviewers', 'add', eve.email], { DATA_DIR })
    const reviewers = await gatehouse(['reviewers'], { DATA_DIR })
    expect(reviewers).to.include('Eve')
    for (const printed of [refused, reviewers])
      expect(printed.replaceAll('\n', '')).to.not.match(/[\p{Cc}\p{Cf}]/u)
  })

  it('name a path without records', async () => {
    const [folder, DATA_DIR] = [temporaryFolder(), temporaryFolder()]
    const problemOf = (path: string) => gatehouse(['import', path], { DATA_DIR }, 1)
    expect(await problemOf('/nowhere')).to.equal('/nowhere cannot be read (ENOENT)\n')
    expect(await problemOf(folder)).to.include(`${folder} contains no .ndjson files`)
  })
})

it('the command person prints all data of a person, and deletes the account only with --yes', async () => {
  const variables = { DATA_DIR: await dataFolderWithDemo() }
  const run = async (words: string, code?: number) =>
    await gatehouse(['person', ...words.split(' ')], variables, code)
  const exported = async () => JSON.parse(await run('export per_noor')).person[0]
  expect(await exported()).to.include({ id: 'per_noor' })
  expect(await run('delete per_noor', 1)).to.equal(
    'Nothing was deleted. Check the output of `person export`, then confirm with --yes.\n',
  )
  expect(await run('delete per_olivia --yes', 1)).to.include('the last owner of')
  expect(await run('delete per_x --yes', 1)).to.include('no account with the id per_x')
  await run('delete per_noor --yes')
  expect(Date.parse((await exported()).deletion_due_at)).to.be.below(Date.now() + 1)
})

it('the command reviewers gives the role of the platform, lists who has it, and takes it away [design 31]', async () => {
  const variables = { DATA_DIR: await dataFolderWithDemo() }
  const run = async (...words: string[]) => await gatehouse(['reviewers', ...words], variables)
  const none = /^There are no platform reviewers/
  expect(await run()).to.match(none)
  const expected = 'Olivia@northlight.example can now review self-declared clients for all sites.\n'
  expect(await run('add', 'Olivia@northlight.example')).to.equal(expected)
  const olivia = 'olivia@northlight.example'
  expect(await run('add', olivia)).to.include('Nothing to do')
  expect(await run()).to.match(/^olivia@northlight\.example {2}Olivia Hartmann, since 20/)
  expect(await run('remove', olivia)).to.include('can no longer review')
  expect(await run()).to.match(none)
  expect(await gatehouse(['reviewers', 'add', 'nobody@northlight.example'], variables, 1)).to.equal(
    'There is no account with the e-mail address nobody@northlight.example.\n',
  )
})

// [191]
it('after a restore by other means, grants end-all ends every grant and session once it is confirmed, and prints the counts', async () => {
  const variables = { DATA_DIR: await dataFolderWithDemo() }
  await using service = await startProcess(variables)
  const { url } = service
  const { accessToken, refreshToken } = await obtainTokens(url)
  const expected = 'Nothing was ended. Answer y to confirm, or use --yes if there is no terminal.\n'
  expect(await gatehouse(['grants', 'end-all'], variables, 1)).to.equal(expected)
  expect((await userinfo(url, accessToken)).status).to.equal(200)
  expect(await gatehouse(['grants', 'end-all', '--yes'], variables)).to.match(
    /^Ended all sessions and grants \([1-9]\d*\), and removed records such as sessions, codes and one-time links \([1-9]\d*\)\./,
  )
  expect((await userinfo(url, accessToken)).status).to.equal(401)
  expect((await refresh(url, refreshToken)).body.error).to.equal('invalid_grant')
})

it('files that the database names and the folder lacks are reported by doctor, backup and verify', async () => {
  const variables = { DATA_DIR: await dataFolderWithDemo() }
  await using _service = await startProcess(variables)
  const files = join(variables.DATA_DIR, 'files')
  const named = readdirSync(files).filter((name) => name.length === 2)
  rmSync(join(files, named[0] ?? ''), { recursive: true })
  const found = (await runDoctor(variables)).findings.find(({ check }) => check === 'files.missing')
  const said = /lacks 1 of the files that are listed in the database, such as fil_/
  expect(found?.sentence).to.match(said)
  const folder = join(temporaryFolder(), 'backup')
  for (const command of [['backup'], ['backup', 'verify']]) {
    expect(await runGatehouse([...command, folder], variables)).to.deep.include({
      code: 1,
      stderr:
        `The backup lacks 1 of the files that are listed in the database, such as ${found?.sentence.split('such as ')[1]}. ` +
        'Let all hosts share DATA_DIR/files, or use S3.\n',
    })
  }
})

describe('gatehouse audit', () => {
  const service = sharedService({ policy: flushingSoon })
  const audit = async (...words: string[]) => {
    const { dataDir, port } = service().config
    return await runGatehouse(['audit', ...words], { DATA_DIR: dataDir, PORT: String(port) })
  }

  it('prints events as text and as JSON, for a site, a person and an action', async () => {
    await obtainTokens(service().url)
    const lines = await eventually(20_000, async () => {
      const printed = (await audit('--json')).stdout.trim().split('\n')
      expect(printed).to.have.length(3)
      return printed
    })
    for (const line of lines)
      expect(isEvent(JSON.parse(line)), JSON.stringify(isEvent.errors)).to.equal(true)
    const asked = ['--person', sam.login, '--site', 'northlight', '--action', 'sign_in.success']
    const found = await audit(...asked, '--client', notes.clientId, '--since', '1h')
    expect(found.stdout).to.match(
      /^\d{4}-.*Z {2}Sam .*per_sam signed in to the application northlight-notes .*127\.0\.0\.0\/24.*\n$/,
    )
    expect(await audit('--site', 'open-kitchen', '--json')).to.include({ code: 0, stdout: '' })
    const wrong = await audit('--since', 'yesterday')
    expect(wrong.stderr).to.include('--since must be a time like')
    expect(wrong.code).to.not.equal(0)
  })
})
