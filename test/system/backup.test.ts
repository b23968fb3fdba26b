import { execFileSync } from 'node:child_process'
import {
  appendFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'

import { expect } from 'chai'

import { readManifest } from '../../src/ops/backup/manifest.ts'
import { placeParts } from '../../src/ops/backup/restore.ts'
import { authorizeUrl, obtainTokens, refresh, userinfo } from '../support/client.ts'
import { sharedPostgres } from '../support/postgres.ts'
import {
  dataFolderWithDemo,
  patientService,
  runGatehouse,
  runService,
  type ServiceProcess,
  startProcess,
  type Variables,
} from '../support/process.ts'
import { eventually, freePort, temporaryFolder } from '../support/programs.ts'
import { requireProgram } from '../support/skipped.ts'
import { postgresWithDemo } from '../support/storages.ts'

const SECRET = 'only-for-tests-only-for-tests-only-for-tests'

/** Where a service is, and where it comes back to. */
interface Places {
  readonly from: Variables
  readonly to: () => Promise<Variables>
}

describe('a backup of the embedded database', () => {
  suite(async () => ({
    from: { DATA_DIR: await dataFolderWithDemo() },
    to: async () => ({ DATA_DIR: join(temporaryFolder(), 'data') }),
  }))

  it('has the generated secret when that is asked for, and a service starts on nothing else', async () => {
    const [DATA_DIR, folder] = [await dataFolderWithDemo(), join(temporaryFolder(), 'copy')]
    const PORT = String(await freePort())
    await using service = await startProcess({ DATA_DIR, PORT }, patientService)
    const made = await runGatehouse(['backup', '--with-secret', folder], { DATA_DIR, PORT })
    expect([made.code, made.stderr]).to.deep.equal([0, ''])
    expect(made.stdout).to.include('It contains the root secret, which can sign as this service')
    for (const part of ['database.sqlite', 'secret', 'manifest.json']) {
      expect(statSync(join(folder, part)).mode & 0o777, part).to.equal(0o600)
    }
    await service.kill()

    const to = { DATA_DIR: join(temporaryFolder(), 'data'), PORT }
    expect((await runGatehouse(['restore', folder], to)).code).to.equal(0)
    expect(readFileSync(join(to.DATA_DIR, 'secret'), 'utf8')).to.equal(
      readFileSync(join(DATA_DIR, 'secret'), 'utf8'),
    )
    await using again = await startProcess(to, patientService)
    await obtainTokens(again.url)
  })

  it('without the secret says so, and doctor finds that another one does not open the keys', async () => {
    const [DATA_DIR, folder] = [await dataFolderWithDemo(), join(temporaryFolder(), 'copy')]
    await (await startProcess({ DATA_DIR }, patientService)).stop()
    const made = await runGatehouse(['backup', folder], { DATA_DIR })
    expect(made.stdout).to.include('The root secret is not in it')
    expect(readdirSync(folder)).not.to.include('secret')
    const to = { DATA_DIR: join(temporaryFolder(), 'data') }
    expect((await runGatehouse(['restore', folder], to)).code).to.equal(0)
    const looked = await runGatehouse(['doctor'], { ...to, SECRET })
    expect(looked.code).to.equal(1)
    expect(looked.stdout).to.include('was sealed with another secret')
  })

  describe('is refused', () => {
    let folder: string
    const target = () => ({ DATA_DIR: join(temporaryFolder(), 'data'), SECRET })
    before(async () => {
      const DATA_DIR = await dataFolderWithDemo()
      await (await startProcess({ DATA_DIR, SECRET }, patientService)).stop()
      folder = join(temporaryFolder(), 'copy')
      const { code, stderr } = await runGatehouse(['backup', folder], { DATA_DIR, SECRET })
      expect([code, stderr]).to.deep.equal([0, ''])
    })

    const filePart = () =>
      `files/${readdirSync(join(folder, 'files'), { recursive: true }).find((path) => String(path).includes('/'))}`

    const damages: readonly (readonly [string, (copy: string) => void, RegExp])[] = [
      [
        'one bit of the database is another',
        (copy) => {
          const bytes = readFileSync(join(copy, 'database.sqlite'))
          bytes[bytes.length - 100] = (bytes[bytes.length - 100] ?? 0) ^ 1
          writeFileSync(join(copy, 'database.sqlite'), bytes)
        },
        /database\.sqlite has changed/,
      ],
      [
        'a file of an operator is longer',
        (copy) => appendFileSync(join(copy, filePart()), 'x'),
        /files\/.* has \d+ bytes instead of \d+/,
      ],
      [
        'a part is missing',
        (copy) => rmSync(join(copy, filePart())),
        /files\/.* is missing or cannot be read/,
      ],
      [
        'a part is a link to the same bytes somewhere else',
        (copy) => {
          renameSync(join(copy, filePart()), join(copy, '..', 'elsewhere'))
          symlinkSync(join(copy, '..', 'elsewhere'), join(copy, filePart()))
        },
        /files\/.* is missing or cannot be read/,
      ],
      [
        'a folder of it is a link to somewhere else',
        (copy) => {
          renameSync(join(copy, 'files'), join(copy, '..', 'all-elsewhere'))
          symlinkSync(join(copy, '..', 'all-elsewhere'), join(copy, 'files'))
        },
        /files\/.* is missing or cannot be read/,
      ],
      [
        'the manifest counts other rows than there are',
        (copy) => changeManifest(copy, (manifest) => ({ ...manifest, rows: { person: 1 } })),
        /The table person has 8 rows instead of 1/,
      ],
      [
        'it was broken off, so that it has no manifest',
        (copy) => rmSync(join(copy, 'manifest.json')),
        /is no complete backup/,
      ],
      [
        'a part of the manifest leads out of the folder',
        (copy) =>
          changeManifest(copy, (manifest) => ({
            ...manifest,
            parts: [{ path: '../secret', bytes: 1, sha256: '0'.repeat(64) }],
          })),
        /cannot be used \(parts/,
      ],
    ]
    for (const [what, damage, complaint] of damages) {
      // [threat 34]
      it(`by verify and by restore, when ${what}`, async () => {
        const copy = copyOf(folder)
        damage(copy)
        const verified = await runGatehouse(['backup', 'verify', copy], {})
        expect(verified.code).to.equal(1)
        expect(verified.stdout + verified.stderr).to.match(complaint)
        const to = target()
        const restored = await runGatehouse(['restore', copy], to)
        expect(restored.code).to.equal(1)
        expect(restored.stdout + restored.stderr).to.match(complaint)
        expect(existsSync(to.DATA_DIR), 'nothing was written').to.equal(false)
      })
    }

    it('when a newer version made it', async () => {
      const copy = copyOf(folder)
      changeManifest(copy, (manifest) => ({
        ...manifest,
        schema: [...(manifest['schema'] as object[]), { name: '9999-later.sql', digest: '' }],
      }))
      const restored = await runGatehouse(['restore', copy], target())
      expect(restored.code).to.equal(1)
      expect(restored.stdout).to.match(/A newer version made the backup.*9999-later\.sql/)
    })

    it('when the place is in use, with everything that is in the way', async () => {
      const to = target()
      mkdirSync(join(to.DATA_DIR, 'files', '00'), { recursive: true })
      writeFileSync(join(to.DATA_DIR, 'files', '00', 'a'), '')
      writeFileSync(join(to.DATA_DIR, 'gatehouse.db'), '')
      const restored = await runGatehouse(['restore', folder], to)
      expect(restored.code).to.equal(1)
      expect(restored.stdout).to.include('gatehouse.db exists and is not empty')
      expect(restored.stdout).to.include('files is not empty')
      expect(statSync(join(to.DATA_DIR, 'gatehouse.db')).size).to.equal(0)
    })

    for (const rest of ['-wal', '-journal', '-shm', '.restoring', '.restoring-wal']) {
      it(`beside a gatehouse.db${rest}, which would be written into what is restored, or is another's [187]`, async () => {
        const to = target()
        mkdirSync(to.DATA_DIR, { recursive: true })
        writeFileSync(join(to.DATA_DIR, `gatehouse.db${rest}`), 'of another database')
        const restored = await runGatehouse(['restore', folder], to)
        expect(restored.code).to.equal(1)
        const verb = rest === '.restoring' ? 'exists' : 'is'
        expect(restored.stdout).to.include(`gatehouse.db${rest} ${verb}`)
        expect(readdirSync(to.DATA_DIR)).to.deep.equal([`gatehouse.db${rest}`])
      })
    }

    it('when a service made a database in its place meanwhile, which is not taken from it', async () => {
      const dataDir = join(temporaryFolder(), 'data')
      const file = join(dataDir, 'gatehouse.db')
      const placed = await placeParts(folder, await readManifest(folder), {
        ...{ dataDir, location: { kind: 'sqlite', file }, environment: {} },
        ...{ filesOnDisk: true, secretFile: undefined },
      })
      writeFileSync(file, 'of a service')
      const failure = await placed.finish().catch((error: Error) => error.message)
      expect(failure).to.match(/gatehouse\.db was created meanwhile, by a service/)
      expect(readFileSync(file, 'utf8')).to.equal('of a service')
    })

    it('when the configuration names the other kind of database', async () => {
      const DATABASE_URL = 'postgres://127.0.0.1:1/none'
      const restored = await runGatehouse(['restore', folder], { ...target(), DATABASE_URL })
      expect(restored.code).to.equal(1)
      expect(restored.stdout).to.include('Use export and import to move data between them')
    })

    it('when something in the folder of files cannot be looked at, and not made without it', async () => {
      const DATA_DIR = temporaryFolder()
      await (await startProcess({ DATA_DIR, SECRET }, patientService)).stop()
      rmSync(join(DATA_DIR, 'files'), { recursive: true, force: true })
      // A link to itself, which not even root can follow.
      symlinkSync('files', join(DATA_DIR, 'files'))
      const made = await runGatehouse(['backup', join(temporaryFolder(), 'copy')], { DATA_DIR })
      expect(made.code, made.stdout).to.equal(1)
      expect(made.stderr).to.include('ELOOP')
    })

    it('into a folder that has something in it, or of a database that is not there', async () => {
      const variables = { DATA_DIR: temporaryFolder(), SECRET }
      const nothing = await runGatehouse(['backup', join(temporaryFolder(), 'copy')], variables)
      expect([nothing.code, nothing.stderr]).to.satisfy(
        ([code, said]: [number, string]) =>
          code === 1 && said.includes('there is nothing to back up'),
      )
      await (await startProcess(variables, patientService)).stop()
      const used = await runGatehouse(['backup', folder], variables)
      expect([used.code, used.stderr]).to.deep.equal([
        1,
        `${folder} is not empty: name an empty or new folder\n`,
      ])
    })
  })
})

describe('a backup of PostgreSQL', () => {
  let postgres = ''
  before(function () {
    postgres = requireProgram(this, 'postgres')
  })
  suite(async () => {
    const DATA_DIR = temporaryFolder()
    const from = { ...(await postgresWithDemo(postgres)), DATA_DIR }
    const empty = async () => await (await sharedPostgres(postgres)).createDatabase('nothing')
    return {
      from,
      to: async () => ({ ...from, DATA_DIR: temporaryFolder(), DATABASE_URL: await empty() }),
    }
  })

  it('that is broken off in the middle is used by nobody, with what was revoked since alive in it [188]', async () => {
    const from = await postgresWithDemo(postgres)
    const common = { SECRET, DATA_DIR: temporaryFolder() }
    await (await startProcess({ ...from, ...common }, patientService)).stop()
    const folder = join(temporaryFolder(), 'copy')
    expect((await runGatehouse(['backup', folder], { ...from, ...common })).code).to.equal(0)

    const tools = temporaryFolder()
    const real = execFileSync('sh', ['-c', 'command -v pg_restore']).toString().trim()
    const script = `#!/bin/sh\n'${real}' "$@" || exit\ncase "$1" in --list) ;; *) kill -9 $PPID ;; esac\n`
    writeFileSync(join(tools, 'pg_restore'), script, { mode: 0o755 })
    const DATABASE_URL = await (await sharedPostgres(postgres)).createDatabase('nothing')
    const to = { ...from, ...common, DATA_DIR: temporaryFolder(), DATABASE_URL }
    const PATH = `${tools}:${dirname(real)}:/usr/bin:/bin`
    expect((await runGatehouse(['restore', folder], { ...to, PATH })).signal).to.equal('SIGKILL')

    const words = 'is running or was interrupted'
    const started = await runService(to)
    expect([started.code, started.stderr]).to.satisfy(
      ([code, said]: [number, string]) => code === 1 && said.includes(words),
    )
    for (const command of [['doctor'], ['migrate'], ['keys', 'list'], ['backup', `${folder}-2`]]) {
      const { code, stdout, stderr } = await runGatehouse(command, to)
      expect([command, code, (stdout + stderr).includes(words)]).to.deep.equal([command, 1, true])
    }
    const again = await runGatehouse(['restore', folder], to)
    expect([again.code, again.stdout.includes('is not empty')]).to.deep.equal([1, true])
  })

  it('ends when a change of a table came between the counts and the dump, instead of waiting for it in a circle', async () => {
    const from = { ...(await postgresWithDemo(postgres)), SECRET, DATA_DIR: temporaryFolder() }
    const tools = temporaryFolder()
    const real = execFileSync('sh', ['-c', 'command -v pg_dump']).toString().trim()
    const change = `psql '${from.DATABASE_URL}' -c 'alter table person add column more text'`
    const script = `#!/bin/sh\n${change} >'${tools}/said' 2>&1 &\nsleep 1\nexec '${real}' "$@"\n`
    writeFileSync(join(tools, 'pg_dump'), script, { mode: 0o755 })
    const PATH = `${tools}:${dirname(real)}:/usr/bin:/bin`
    const made = await runGatehouse(['backup', join(temporaryFolder(), 'copy')], { ...from, PATH })
    expect(made.code).to.equal(1)
    expect(made.stderr).to.match(/^pg_dump failed: .*timeout.*LOCK TABLE/s)
    await eventually(10_000, async () =>
      expect(readFileSync(join(tools, 'said'), 'utf8')).to.include('ALTER TABLE'),
    )
  })

  it('says the password on no command line, wherever its address has it', async () => {
    const { DATABASE_URL = '', ...others } = await postgresWithDemo(postgres)
    const tools = temporaryFolder()
    const seen = join(tools, 'seen')
    // It writes down what it was called with, and goes on as the real one.
    const real = execFileSync('sh', ['-c', 'command -v pg_dump']).toString().trim()
    const script = `#!/bin/sh\nprintf '%s\\n' "$@" "$PGPASSWORD" > '${seen}'\nexec '${real}' "$@"\n`
    writeFileSync(join(tools, 'pg_dump'), script, { mode: 0o755 })
    const inAuthority = new URL(DATABASE_URL)
    inAuthority.password = 'only for tests'
    for (const address of [
      inAuthority.href,
      `${DATABASE_URL}?password=only%20for%20tests&options=-c%20work_mem%3D4MB`,
    ]) {
      const variables = { ...others, DATA_DIR: temporaryFolder(), SECRET, DATABASE_URL: address }
      const PATH = `${tools}:${dirname(real)}:/usr/bin:/bin`
      const folder = join(temporaryFolder(), 'copy')
      const made = await runGatehouse(['backup', folder], { ...variables, PATH })
      expect([made.code, made.stderr]).to.deep.equal([0, ''])
      const [target = '', ...words] = readFileSync(seen, 'utf8').trim().split('\n')
      expect(words.pop(), 'in its environment').to.equal('only for tests')
      expect([target, ...words].join(' ')).to.not.match(/password|only/)
      expect(target.includes('options=-c%20work_mem%3D4MB')).to.equal(address.includes('options'))
    }
  })
})

/** Serve, sign in, back up while traffic runs, kill, restore, doctor, serve. */
function suite(places: () => Promise<Places>): void {
  const opened = new AsyncDisposableStack()
  const folder = join(temporaryFolder(), 'copy')
  let place: Places
  let before_: Tokens
  let common: { readonly PORT: string; readonly BASE_URL: string; readonly SECRET: string }

  before(async () => {
    place = await places()
    const PORT = String(await freePort())
    common = { PORT, BASE_URL: `http://127.0.0.1:${PORT}`, SECRET }
    const service = opened.use(await startProcess({ ...common, ...place.from }, patientService))
    before_ = await tokensOf(service)
    const traffic = await startTraffic(service.url)
    const made = await runGatehouse(['backup', folder], { ...common, ...place.from })
    const answered = await traffic.stop()
    expect([made.code, made.stderr]).to.deep.equal([0, ''])
    expect(made.stdout).to.match(/^Backed up to .*: (sqlite|postgres), \d+ rows of \d+ tables/)
    expect(answered.count, 'answers meanwhile').to.be.greaterThan(0)
    expect(answered.statuses).to.deep.equal([200])
    await service.kill()
  })
  after(() => opened.disposeAsync())

  it('is whole, and says what it is of', async () => {
    const { code, stdout, stderr } = await runGatehouse(['backup', 'verify', folder], {})
    expect([code, stderr]).to.deep.equal([0, ''])
    expect(stdout).to.include(`of ${common.BASE_URL}`).and.not.include('Not checked')
  })

  // [threat 35]
  it('comes back with nobody signed in: tokens from before are refused, people authorize anew', async () => {
    const to = { ...common, ...(await place.to()) }
    const restored = await runGatehouse(['restore', folder], to)
    expect([restored.code, restored.stderr]).to.deep.equal([0, ''])
    expect(restored.stdout).to.match(/[1-9]\d* grants and all sessions ended/)
    const looked = await runGatehouse(['doctor'], to)
    expect([looked.code, looked.stderr], looked.stdout).to.deep.equal([0, ''])
    await using service = await startProcess(to, patientService)

    expect((await userinfo(service.url, before_.accessToken)).status).to.equal(401)
    const refused = await refresh(service.url, before_.refreshToken)
    expect([refused.status, refused.body.error]).to.deep.equal([400, 'invalid_grant'])
    const asked = await before_.person.open(authorizeUrl(service.url))
    expect(asked.headers.get('location')).to.match(/\/login$/)

    const after_ = await tokensOf(service)
    expect((await userinfo(service.url, after_.accessToken)).status).to.equal(200)
    expect((await refresh(service.url, after_.refreshToken)).status).to.equal(200)
  })

  it('comes back as it was with --keep-grants', async () => {
    const to = { ...common, ...(await place.to()) }
    const restored = await runGatehouse(['restore', folder, '--keep-grants'], to)
    expect([restored.code, restored.stderr]).to.deep.equal([0, ''])
    await using service = await startProcess(to, patientService)
    expect((await userinfo(service.url, before_.accessToken)).status).to.equal(200)
    expect((await refresh(service.url, before_.refreshToken)).status).to.equal(200)
  })

  it('does not come back into a place that has something', async () => {
    const to = { ...common, ...(await place.to()) }
    expect((await runGatehouse(['restore', folder], to)).code).to.equal(0)
    const again = await runGatehouse(['restore', folder], to)
    expect(again.code).to.equal(1)
    expect(again.stdout).to.include('exists and is not empty')
  })
}

type Tokens = Awaited<ReturnType<typeof obtainTokens>>

async function tokensOf(service: ServiceProcess): Promise<Tokens> {
  return await obtainTokens(service.url)
}

/** Families that are refreshed one time after another until they are told to stop; each has signed in already. */
async function startTraffic(url: string) {
  let running = true
  const statuses: number[] = []
  const signedIn = await Promise.all(Array.from({ length: 3 }, async () => await obtainTokens(url)))
  const families = signedIn.map(async ({ refreshToken }) => {
    let token = refreshToken
    while (running) {
      const answer = await refresh(url, token)
      statuses.push(answer.status)
      token = answer.body.refresh_token
    }
  })
  return {
    async stop() {
      running = false
      await Promise.all(families)
      return { count: statuses.length, statuses: [...new Set(statuses)] }
    },
  }
}

function copyOf(folder: string): string {
  const copy = join(temporaryFolder(), 'damaged')
  cpSync(folder, copy, { recursive: true })
  return copy
}

function changeManifest(folder: string, change: (manifest: Record<string, unknown>) => object) {
  const file = join(folder, 'manifest.json')
  writeFileSync(file, JSON.stringify(change(JSON.parse(readFileSync(file, 'utf8')))))
}
