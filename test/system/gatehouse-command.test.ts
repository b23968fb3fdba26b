import { chmodSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'

import { holdsDemoCampus } from '../../src/ops/import/demo-campus.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { configFolder } from '../support/gatehouse.ts'
import { dataFolderWithDemo, type Ended, runGatehouse, startProcess } from '../support/process.ts'
import { freePort, temporaryFolder } from '../support/programs.ts'
import { startRedis } from '../support/redis.ts'
import { getTokens } from '../support/relying-party.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'

const SECRET = 'the-secret-of-these-tests-is-long-enough-to-be-one'
const demoFolder = join(configFolder, 'demo')

describe('the gatehouse command', () => {
  describe('help', () => {
    it('says what every command does, also when none is given', async () => {
      for (const words of [['help'], ['--help'], []]) {
        const { code, stdout, stderr } = await runGatehouse(words, {})
        expect([code, stderr]).to.deep.equal([0, ''])
        for (const name of [
          'keys list',
          'keys rotate',
          '--force',
          'import <path>',
          'export <folder>',
          'backup <folder>',
          'backup verify <folder>',
          'restore <folder>',
          '--keep-grants',
          'migrate status',
          '--dry-run',
          'reviewers',
          'doctor',
          '--outside',
        ]) {
          expect(stdout).to.include(name)
        }
      }
    })

    it('answers anything that is no command with itself and exit code 2', async () => {
      for (const words of [
        ['keys'],
        ['keys', 'rotate', '--now'],
        ['keys', 'rotate', '--force', '--force'],
        ['import'],
        ['import', 'a', 'b'],
        ['backup'],
        ['backup', 'verify'],
        ['restore', '--keep-grants'],
        ['migrate', '--keep-grants', 'x'],
        ['constructor'],
      ]) {
        const { code, stdout, stderr } = await runGatehouse(words, {})
        expect([code, stdout]).to.deep.equal([2, ''])
        expect(stderr).to.include(`Unknown command: ${words.join(' ')}\n`)
      }
    })

    it('says the problems of the configuration as a start does, with exit code 1', async () => {
      const ended = await runGatehouse(['keys', 'list'], { PORT: 'x', DATABASE_URL: 'mysql://x/y' })
      expect(ended.code).to.equal(1)
      expect(ended.stderr).to.include('PORT must be a number')
      expect(ended.stderr).to.include('DATABASE_URL must be a postgres:// URL')
    })
  })

  describe('import', () => {
    it('loads a campus that people sign in to at once, and never marks it as the demo', async () => {
      const variables = { DATA_DIR: temporaryFolder(), DEMO_DATA: 'off' }
      await using service = await startProcess(variables)
      const { code, stdout, stderr } = await runGatehouse(['import', demoFolder], variables)
      // What takes more than two seconds says how far it is.
      expect([code, stderr.replaceAll(/^import \d+ %: .*\n/gm, '')]).to.deep.equal([0, ''])
      expect(stdout).to.match(/^Imported .*: site 2, person 8, .*\.\n$/)
      expect((await getTokens(service.url)).tokens.claims()?.sub).to.equal('per_sam')

      const file = join(variables.DATA_DIR, 'gatehouse.db')
      await using database = await openDatabase({ kind: 'sqlite', file })
      expect(await holdsDemoCampus(database)).to.equal(false)
      const trail = await database.kysely
        .selectFrom('audit_event')
        .selectAll()
        .orderBy('occurred_at')
        .execute()
      // Sam was asked in the sign-in above; more of it may have been written meanwhile.
      const actions = trail.map(({ action }) => action)
      expect(actions.slice(0, 1)).to.deep.equal(['campus.imported'])
      expect(actions).to.include('consent.given')
      expect(JSON.parse(trail[0]?.after ?? '')).to.include({ site: 2, person: 8 })
    })

    it('changes nothing the second time, and says what is no data at all', async () => {
      const variables = { DATA_DIR: temporaryFolder() }
      expect((await runGatehouse(['import', demoFolder], variables)).code).to.equal(0)
      const again = await runGatehouse(['import', demoFolder], variables)
      expect([again.code, again.stdout.startsWith('Imported ')]).to.deep.equal([0, true])

      const empty = await runGatehouse(['import', temporaryFolder()], variables)
      expect([empty.code, empty.stderr.includes('has no .json file')]).to.deep.equal([1, true])
      const absent = await runGatehouse(['import', '/nowhere'], variables)
      expect([absent.code, absent.stderr]).to.deep.equal([1, '/nowhere cannot be read (ENOENT)\n'])
    })

    it('collects rejected lines in a file, also in the imported one, and ends absent people', async () => {
      const DATA_DIR = temporaryFolder()
      const path = join(temporaryFolder(), 'school.ndjson')
      const write = (lines: readonly object[]) =>
        writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
      const person = (id: string, email = `${id}@school.example`) => ({
        ...{ type: 'person', id: `per_${id}`, email, name: id, createdAt: 'now' },
      })
      const site = { type: 'site', id: 'sit_1', slug: 'one', name: 'One', createdAt: 'now' }
      const post = { type: 'notificationSubscription', id: 'sub_1', person: 'per_bob' }
      const inbox = { ...post, site: 'sit_1', topic: 'news', channel: 'inbox' }
      write([site, person('ada'), person('bob', 'nowhere'), inbox])
      const first = await runGatehouse(['import', path, '--rejects', path], { DATA_DIR })
      expect([first.code, first.stdout, first.stderr]).to.deep.equal([
        1,
        'school.ndjson:3: email: must be a valid email\n' +
          'Not written, because they refer to rejected records: notificationSubscription 1\n',
        `Imported ${path}: site 1, person 1. Wrong lines: 1. Correct them and import them again.\n`,
      ])
      const rejects = readFileSync(path, 'utf8')
      expect(rejects).to.equal(
        `${JSON.stringify(person('bob', 'nowhere'))}\n${JSON.stringify(inbox)}\n`,
      )
      expect(statSync(path).mode & 0o777).to.equal(0o600)
      writeFileSync(path, rejects.replace('nowhere', 'bob@school.example'))
      const next = ['import', path, '--rejects', path, '--missing', 'end']
      const second = await runGatehouse(next, { DATA_DIR })
      expect([second.code, second.stdout, readFileSync(path, 'utf8')]).to.deep.equal([
        0,
        `Imported ${path}: person 1, notificationSubscription 1. ` +
          'People of earlier imports who are absent, disabled and signed out: 1.\n',
        '',
      ])
      const wrong = await runGatehouse(['import', path, '--missing', 'all'], { DATA_DIR })
      expect([wrong.code, wrong.stderr]).to.deep.equal([1, '--missing must be keep or end\n'])
    })

    it('hands nothing to the terminal that a record says to it', async () => {
      const DATA_DIR = temporaryFolder()
      const eve = { type: 'person', id: 'per_eve', email: 'eve@school.example', createdAt: 'now' }
      const path = join(temporaryFolder(), 'people.ndjson')
      const name = 'Eve \u001b[2J\u009b31m\u202eevE'
      writeFileSync(path, `${JSON.stringify({ ...eve, name })}\n`)
      expect((await runGatehouse(['import', path], { DATA_DIR })).code).to.equal(0)
      writeFileSync(path, `${JSON.stringify({ ...eve, name, '\u001b]0;mine\u0007': 1 })}\n`)
      const { stdout: refused } = await runGatehouse(['import', path], { DATA_DIR })
      expect(refused).to.include('mine')
      await runGatehouse(['reviewers', 'add', eve.email], { DATA_DIR })
      const { stdout: reviewers } = await runGatehouse(['reviewers'], { DATA_DIR })
      expect(reviewers).to.include('Eve')
      for (const said of [refused, reviewers]) {
        expect(said.replaceAll('\n', '')).to.not.match(/[\p{Cc}\p{Cf}]/u)
      }
    })

    it('names every problem of a campus', async () => {
      const folder = temporaryFolder()
      writeFileSync(join(folder, 'a.json'), JSON.stringify({ sites: [{ id: 1 }], people: 'none' }))
      const { code, stderr } = await runGatehouse(['import', folder], {
        DATA_DIR: temporaryFolder(),
      })
      expect(code).to.equal(1)
      expect(stderr).to.match(/^The campus has problems:\n/)
      expect(stderr).to.include('- sites[0].id').and.include('- people')
    })
  })

  describe('export', () => {
    it('writes files that import takes into another database, for their owner alone', async () => {
      const [from, to] = [{ DATA_DIR: temporaryFolder() }, { DATA_DIR: temporaryFolder() }]
      await runGatehouse(['import', demoFolder], from)
      const folder = join(temporaryFolder(), 'all')
      const { code, stdout } = await runGatehouse(['export', folder], from)
      expect([code, stdout.startsWith(`Exported to ${folder}: site 2, person 8, `)]).to.deep.equal([
        0,
        true,
      ])
      expect(readdirSync(folder).slice(0, 2)).to.deep.equal(['01-site.ndjson', '02-person.ndjson'])
      expect(statSync(join(folder, '02-person.ndjson')).mode & 0o777).to.equal(0o600)
      const taken = await runGatehouse(['import', folder], to)
      expect([taken.code, taken.stdout.includes('site 2, person 8')]).to.deep.equal([0, true])
      const second = await runGatehouse(['export', folder], from)
      expect([second.code, second.stderr]).to.deep.equal([
        1,
        `${folder} is not empty: name an empty or new folder\n`,
      ])
    })
  })

  describe('reviewers', () => {
    it('gives the role of the platform, lists who has it, and takes it away [design 31]', async () => {
      const variables = { DATA_DIR: temporaryFolder() }
      const run = async (...words: string[]) =>
        await runGatehouse(['reviewers', ...words], variables)
      await using service = await startProcess(variables)
      expect((await fetch(`${service.url}/healthz`)).status).to.equal(200)
      expect((await run()).stdout).to.match(/^There are no reviewers for every site/)
      const added = await run('add', 'Olivia@northlight.example')
      expect([added.code, added.stdout]).to.deep.equal([
        0,
        'Olivia@northlight.example reviews self-declared clients for every site from now on.\n',
      ])
      expect((await run('add', 'olivia@northlight.example')).stdout).to.include('Nothing to change')
      expect((await run()).stdout).to.match(
        /^olivia@northlight\.example {2}Olivia Hartmann, since 20/,
      )
      expect((await run('remove', 'olivia@northlight.example')).stdout).to.include(
        'no longer reviews',
      )
      expect((await run()).stdout).to.match(/^There are no reviewers/)
      const unknown = await run('add', 'nobody@northlight.example')
      expect([unknown.code, unknown.stderr]).to.deep.equal([
        1,
        'There is no account with the address nobody@northlight.example.\n',
      ])
    })
  })

  describe('doctor', () => {
    const problems = ({ stdout }: Ended) =>
      stdout.split('\n').filter((line) => line.startsWith('wrong'))

    it('finds nothing wrong with an embedded service, and makes nothing before there is one', async () => {
      const DATA_DIR = temporaryFolder()
      const before = await runGatehouse(['doctor'], { DATA_DIR })
      expect(before.code).to.equal(0)
      expect(before.stdout).to.include('There is no database in')
      await using _service = await startProcess({ DATA_DIR })
      const after = await runGatehouse(['doctor'], { DATA_DIR })
      expect([after.code, after.stderr, problems(after)]).to.deep.equal([0, '', []])
      expect(after.stdout).to.include('The signing keys open with this secret')
      expect(after.stdout).to.include('holds the demo campus, whose passwords are public')
    })

    it('finds a readable secret, a wrong secret, and a demo campus that others could reach', async () => {
      const DATA_DIR = await dataFolderWithDemo()
      await using _service = await startProcess({ DATA_DIR })
      chmodSync(join(DATA_DIR, 'secret'), 0o644)
      const readable = await runGatehouse(['doctor'], { DATA_DIR })
      expect(readable.code).to.equal(1)
      expect(readable.stderr).to.equal('One thing is wrong.\n')
      expect(problems(readable)[0]).to.include('Other users of this machine can read')

      chmodSync(join(DATA_DIR, 'secret'), 0o600)
      chmodSync(join(DATA_DIR, 'gatehouse.db'), 0o644)
      expect(problems(await runGatehouse(['doctor'], { DATA_DIR })), 'behind its folder').to.be
        .empty
      chmodSync(DATA_DIR, 0o755)
      const copied = await runGatehouse(['doctor'], { DATA_DIR })
      expect(problems(copied).join()).to.match(/can read \S+gatehouse\.db;/)
      chmodSync(DATA_DIR, 0o700)

      const reachable = await runGatehouse(['doctor'], {
        ...{ DATA_DIR, SECRET, BASE_URL: 'https://id.example' },
      })
      expect(reachable.code).to.equal(1)
      expect(problems(reachable)).to.have.length(2)
      expect(problems(reachable)[0]).to.include('was sealed with another secret')
      expect(problems(reachable)[1]).to.include('the service will not start')
    })

    it('names a site whose slug is a route of the service, and where its pages are', async () => {
      const DATA_DIR = await dataFolderWithDemo()
      await using _service = await startProcess({ DATA_DIR })
      await using database = await openDatabase({
        kind: 'sqlite',
        file: join(DATA_DIR, 'gatehouse.db'),
      })
      const rename = database.kysely.updateTable('site').set({ slug: 'graphql' })
      await rename.where('id', '=', 'sit_northlight').execute()
      const ended = await runGatehouse(['doctor'], { DATA_DIR })
      expect(ended.code).to.equal(0)
      expect(ended.stdout).to.include(
        'note   The service itself uses /admin/graphql, so the pages of site sit_northlight are at ' +
          '/admin/sit_northlight; rename the site if people look for it there.',
      )
    })

    it('finds stores that do not answer, one not hiding the other', async () => {
      const port = await freePort()
      const ended = await runGatehouse(['doctor'], {
        ...{ SECRET, DATABASE_URL: `postgres://127.0.0.1:${port}/x` },
        REDIS_URL: `redis://127.0.0.1:${port}`,
      })
      expect([ended.code, ended.stderr]).to.deep.equal([1, '2 things are wrong.\n'])
      const cure = 'check that it runs and that its address is correct.'
      expect(problems(ended)).to.deep.equal([
        `wrong  The database does not answer: PostgreSQL at 127.0.0.1:${port} cannot be reached; ${cure}`,
        `wrong  Redis does not answer: Redis at 127.0.0.1:${port} is not ready; ${cure}`,
      ])
    })

    it('looks at the clocks of PostgreSQL and Redis, and finds a Redis that forgets', async function () {
      await using redis = await startRedis(requireProgram(this, 'redis-server'))
      const variables = {
        ...(await postgresWithDemo(requireProgram(this, 'postgres'))),
        REDIS_URL: redis.url,
      }
      const well = await runGatehouse(['doctor'], variables)
      expect([well.code, problems(well)]).to.deep.equal([0, []])
      expect(well.stdout).to.include('The clocks of this machine and of the database agree.')
      expect(well.stdout).to.include('The clocks of this machine and of Redis agree.')
      expect(well.stdout).to.include('There are no signing keys yet')

      await redis.ask('CONFIG', 'SET', 'maxmemory', '100mb')
      await redis.ask('CONFIG', 'SET', 'maxmemory-policy', 'allkeys-lru')
      const forgetful = await runGatehouse(['doctor'], variables)
      expect(forgetful.code).to.equal(1)
      expect(problems(forgetful)[0]).to.include('maxmemory-policy allkeys-lru')
    })
  })
})
