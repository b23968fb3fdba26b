import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  cpSync,
  existsSync,
  globSync,
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

import { readManifest } from '../../src/ops/backup/manifest.ts'
import { placeParts } from '../../src/ops/backup/restore.ts'
import { obtainTokens, openAuthorization, refresh, userinfo } from '../support/client.ts'
import { sharedPostgres } from '../support/postgres.ts'
import {
  dataFolderWithDemo,
  patientService,
  refusedStart,
  gatehouse as run,
  runGatehouse,
  startProcess,
  type Variables,
} from '../support/process.ts'
import { eventually, freePort, temporaryFolder } from '../support/programs.ts'
import { shared } from '../support/shared.ts'
import { sharedProgram } from '../support/skipped.ts'
import { postgresWithDemo, SECRET } from '../support/storages.ts'
import { startTraffic } from '../support/traffic.ts'
import { refusalOf } from '../support/wire.ts'

const newCopy = () => join(temporaryFolder(), 'copy')
const newData = () => join(temporaryFolder(), 'data')

/** Starts a service and stops it, to create its keys and files. */
async function startOnce(variables: Variables): Promise<void> {
  await (await startProcess(variables, patientService)).stop()
}

describe('a backup of the embedded database', () => {
  cycle(async () => ({
    from: { DATA_DIR: await dataFolderWithDemo() },
    to: async () => ({ DATA_DIR: newData() }),
  }))

  it('lacks the secret and says so, and a restored service needs that secret', async () => {
    const [DATA_DIR, folder] = [await dataFolderWithDemo(), newCopy()]
    const PORT = String(await freePort())
    await using service = await startProcess({ DATA_DIR, PORT }, patientService)
    const printed = await run(['backup', folder], { DATA_DIR, PORT })
    const secret = join(DATA_DIR, 'secret')
    expect(printed).to.include(`The backup does not contain the root secret (${secret}). Store it`)
    expect(readdirSync(folder)).not.to.include('secret')
    for (const part of ['database.sqlite', 'manifest.json'])
      expect(statSync(join(folder, part)).mode & 0o777, part).to.equal(0o600)
    await service.kill()
    const to = { DATA_DIR: newData(), PORT }
    await run(['restore', folder], to)
    expect(await run(['doctor'], { ...to, SECRET }, 1)).to.include('encrypted with another root')
    cpSync(secret, join(to.DATA_DIR, 'secret'))
    await using again = await startProcess(to, patientService)
    await obtainTokens(again.url)
  })

  describe('is refused', () => {
    const folder = newCopy()
    const target = () => ({ DATA_DIR: newData(), SECRET })
    before(async () => {
      const variables = { DATA_DIR: await dataFolderWithDemo(), SECRET }
      await startOnce(variables)
      await run(['backup', folder], variables)
    })

    const filePart = () => join('files', globSync('*/*', { cwd: join(folder, 'files') })[0] ?? '')
    const moveAway = (copy: string, part: string) => {
      const elsewhere = join(copy, '..', 'elsewhere')
      renameSync(join(copy, part), elsewhere)
      symlinkSync(elsewhere, join(copy, part))
    }
    const flipBit = (copy: string) => {
      const bytes = readFileSync(join(copy, 'database.sqlite'))
      bytes[bytes.length - 100] = (bytes[bytes.length - 100] ?? 0) ^ 1
      writeFileSync(join(copy, 'database.sqlite'), bytes)
    }
    // The database is unreadable, but its digest matches.
    const replace = (copy: string) => {
      const bytes = Buffer.from('not a database')
      writeFileSync(join(copy, 'database.sqlite'), bytes)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const part = { path: 'database.sqlite', bytes: bytes.length, sha256 }
      changeManifest(copy, () => ({ parts: [part] }))
    }
    const append = (copy: string) => appendFileSync(join(copy, filePart()), 'x')
    const noManifest = (copy: string) => rmSync(join(copy, 'manifest.json'))
    const miscount = (copy: string) => changeManifest(copy, () => ({ rows: { person: 1 } }))
    const outside = { path: '../secret', bytes: 1, sha256: '0'.repeat(64) }
    const goOutside = (copy: string) => changeManifest(copy, () => ({ parts: [outside] }))
    const missing = /files\/.* is missing or/
    for (const [what, damage, complaint] of [
      ['one bit of the database differs', flipBit, /database\.sqlite has changed/],
      ['an uploaded file is longer', append, /files\/.* has \d+ bytes instead of \d+/],
      ['a part is missing', (copy) => rmSync(join(copy, filePart())), missing],
      ['a part is a link', (copy) => moveAway(copy, filePart()), missing],
      ['a folder is a link', (copy) => moveAway(copy, 'files'), missing],
      ['the manifest counts other rows', miscount, /Rows in the table person: 8 instead of 1/],
      ['the database is junk', replace, /file is not a database\n.*(is damaged|was not restored)/],
      ['it has no manifest', noManifest, /is not a complete backup/],
      ['a part of the manifest is outside the folder', goOutside, /cannot be used \(parts/],
    ] satisfies [string, (copy: string) => void, RegExp][]) {
      // [threat 34]
      it(`by verify and by restore when ${what}`, async () => {
        const copy = copyOf(folder)
        damage(copy)
        expect(await run(['backup', 'verify', copy], {}, 1)).to.match(complaint)
        const to = target()
        expect(await run(['restore', copy], to, 1)).to.match(complaint)
        expect(existsSync(to.DATA_DIR), 'nothing was written').to.equal(false)
      })
    }

    it('when a newer version made it', async () => {
      const copy = copyOf(folder)
      const later = { name: '9999-later.sql', digest: '' }
      changeManifest(copy, ({ schema }) => ({ schema: [...(schema as object[]), later] }))
      const refused = await run(['restore', copy], target(), 1)
      expect(refused).to.match(/The backup was made by a newer version.*9999-later\.sql/)
    })

    it('when its target is in use, and lists everything that is in the way', async () => {
      const to = target()
      mkdirSync(join(to.DATA_DIR, 'files', '00'), { recursive: true })
      writeFileSync(join(to.DATA_DIR, 'files', '00', 'a'), '')
      writeFileSync(join(to.DATA_DIR, 'gatehouse.db'), '')
      expect(await run(['restore', folder], to, 1))
        .to.include('gatehouse.db already exists')
        .and.include('files is not empty')
      expect(statSync(join(to.DATA_DIR, 'gatehouse.db')).size).to.equal(0)
    })

    for (const rest of ['-wal', '-journal', '-shm', '.restoring', '.restoring-wal']) {
      it(`beside a leftover gatehouse.db${rest} [187]`, async () => {
        const to = target()
        mkdirSync(to.DATA_DIR, { recursive: true })
        writeFileSync(join(to.DATA_DIR, `gatehouse.db${rest}`), 'of another database')
        const verb = rest === '.restoring' ? 'exists' : 'belongs'
        expect(await run(['restore', folder], to, 1)).to.include(`gatehouse.db${rest} ${verb}`)
        expect(readdirSync(to.DATA_DIR)).to.deep.equal([`gatehouse.db${rest}`])
      })
    }

    it('when a service meanwhile creates a database at the target, which is kept', async () => {
      const dataDir = newData()
      const file = join(dataDir, 'gatehouse.db')
      const placed = await placeParts(folder, await readManifest(folder), {
        ...{ dataDir, location: { kind: 'sqlite', file }, environment: {} },
        filesOnDisk: true,
      })
      writeFileSync(file, 'of a service')
      const failure = await placed.finish().catch((error: Error) => error.message)
      expect(failure).to.match(/A service started during the restore and created \S+gatehouse\.db/)
      expect(readFileSync(file, 'utf8')).to.equal('of a service')
    })

    it('when the configuration names the other kind of database', async () => {
      const to = { ...target(), DATABASE_URL: 'postgres://127.0.0.1:1/none' }
      const refused = await run(['restore', folder], to, 1)
      expect(refused).to.include('Use export and import to move data between them')
    })

    it('when there is no database, an unreadable file or a target that is not empty', async () => {
      const variables = { DATA_DIR: temporaryFolder(), SECRET }
      const backUp = async (to = newCopy()) => await run(['backup', to], variables, 1)
      expect(await backUp()).to.include('there is nothing to back up')
      await startOnce(variables)
      const notEmpty = `${folder} is not empty. Choose an empty or new folder.\n`
      expect(await backUp(folder)).to.equal(notEmpty)
      rmSync(join(variables.DATA_DIR, 'files'), { recursive: true, force: true })
      // A link to itself, which not even root can follow.
      symlinkSync('files', join(variables.DATA_DIR, 'files'))
      expect(await backUp()).to.include('ELOOP')
    })
  })
})

describe('a backup of PostgreSQL', () => {
  const postgres = sharedProgram('postgres')
  const storage = async () => ({
    ...(await postgresWithDemo(postgres())),
    DATA_DIR: temporaryFolder(),
  })
  const emptyLike = async (from: Variables) => ({
    ...from,
    DATA_DIR: temporaryFolder(),
    DATABASE_URL: await (await sharedPostgres(postgres())).createDatabase('nothing'),
  })

  /** Writes a script with the name of a program. Returns a PATH on which commands find the script first. */
  const wrap = (program: string, folder: string, script: (real: string) => string) => {
    const real = String(execFileSync('sh', ['-c', `command -v ${program}`])).trim()
    writeFileSync(join(folder, program), `#!/bin/sh\n${script(real)}\n`, { mode: 0o755 })
    return { PATH: `${folder}:${dirname(real)}:/usr/bin:/bin` }
  }

  cycle(async () => {
    const from = await storage()
    return { from, to: async () => await emptyLike(from) }
  })

  it('is refused everywhere when its restore broke off before grants ended [188]', async () => {
    const [from, folder] = [await storage(), newCopy()]
    await startOnce(from)
    await run(['backup', folder], from)
    const kill = (real: string) =>
      `'${real}' "$@" || exit\ncase "$1" in --list) ;; *) kill -9 $PPID ;; esac`
    const to = await emptyLike(from)
    const killing = { ...to, ...wrap('pg_restore', temporaryFolder(), kill) }
    expect((await runGatehouse(['restore', folder], killing)).signal).to.equal('SIGKILL')

    const interrupted = 'is running or was interrupted'
    expect(await refusedStart(to)).to.include(interrupted)
    for (const command of [['doctor'], ['migrate'], ['keys', 'list'], ['backup', `${folder}-2`]])
      expect(await run(command, to, 1)).to.include(interrupted)
    expect(await run(['restore', folder], to, 1)).to.include('is not empty')
  })

  it('fails instead of deadlocking when a table changes between counts and dump', async () => {
    const [from, tools] = [await storage(), temporaryFolder()]
    const change = `psql '${from.DATABASE_URL}' -c 'alter table person add column more text'`
    const race = (real: string) => `${change} >'${tools}/said' 2>&1 &\nsleep 1\nexec '${real}' "$@"`
    const racing = { ...from, ...wrap('pg_dump', tools, race) }
    const failed = await run(['backup', newCopy()], racing, 1)
    expect(failed).to.match(/^pg_dump failed: .*timeout.*LOCK TABLE/s)
    await eventually(10_000, async () =>
      expect(readFileSync(join(tools, 'said'), 'utf8')).to.include('ALTER TABLE'),
    )
  })

  it('does not pass the password on a command line, wherever the URL contains it', async () => {
    const [from, tools] = [await storage(), temporaryFolder()]
    const seen = join(tools, 'seen')
    const note = (real: string) =>
      `printf '%s\\n' "$@" "$PGPASSWORD" > '${seen}'\nexec '${real}' "$@"`
    const path = wrap('pg_dump', tools, note)
    const inAuthority = new URL(from.DATABASE_URL)
    inAuthority.password = 'only for tests'
    const inQuery = `${from.DATABASE_URL}?password=only%20for%20tests&options=-c%20work_mem%3D4MB`
    for (const DATABASE_URL of [inAuthority.href, inQuery]) {
      const made = await runGatehouse(['backup', newCopy()], { ...from, DATABASE_URL, ...path })
      // No service ran, so the file of the demo was never stored.
      expect(made.stderr).to.match(/^The backup lacks 1 of the files /)
      const [target = '', ...words] = readFileSync(seen, 'utf8').trim().split('\n')
      expect(words.pop(), 'in its environment').to.equal('only for tests')
      expect([target, ...words].join(' ')).to.not.match(/password|only/)
      expect(target.includes('options=-c%20work_mem%3D4MB')).to.equal(DATABASE_URL === inQuery)
    }
  })
})

/** Tests a cycle: serve, sign in, back up under traffic, restore, run doctor, and serve again. */
function cycle(places: () => Promise<{ from: Variables; to: () => Promise<Variables> }>): void {
  const folder = newCopy()
  const backedUp = shared(async () => {
    const { from, to } = await places()
    const PORT = String(await freePort())
    const common = { PORT, BASE_URL: `http://127.0.0.1:${PORT}`, SECRET }
    await using service = await startProcess({ ...from, ...common }, patientService)
    const earlier = await obtainTokens(service.url)
    const traffic = startTraffic(service.url)
    await traffic.progress()
    const printed = await run(['backup', folder], { ...from, ...common })
    expect((await traffic.stop()).others).to.deep.equal([])
    expect(printed).to.match(/^Backed up to .*: (sqlite|postgres), \d+ rows in \d+ tables/)
    return { earlier, url: service.url, newPlace: async () => ({ ...(await to()), ...common }) }
  })

  it('is complete, and names its service', async () => {
    const printed = await run(['backup', 'verify', folder], {})
    expect(printed).to.include('is complete').and.include(`for ${backedUp().url}`)
  })

  // [threat 35]
  it('comes back without sessions: earlier tokens are refused, and people authorize anew', async () => {
    const { earlier, newPlace } = backedUp()
    const to = await newPlace()
    const restored = await run(['restore', folder], to)
    expect(restored).to.match(/Ended all sessions and grants \(grants: [1-9]/)
    await run(['doctor'], to)
    await using service = await startProcess(to, patientService)
    expect((await userinfo(service.url, earlier.accessToken)).status).to.equal(401)
    const refused = await refresh(service.url, earlier.refreshToken)
    expect(refusalOf(refused)).to.equal('400 invalid_grant')
    expect((await openAuthorization(earlier.person, service.url)).pathname).to.match(/\/login$/)
    const later = await obtainTokens(service.url)
    expect((await userinfo(service.url, later.accessToken)).status).to.equal(200)
    expect((await refresh(service.url, later.refreshToken)).status).to.equal(200)
  })

  it('keeps its tokens with --keep-grants, and is refused in a place that is in use', async () => {
    const { earlier, newPlace } = backedUp()
    const to = await newPlace()
    await run(['restore', folder, '--keep-grants'], to)
    expect(await run(['restore', folder], to, 1)).to.match(/already exists|is not empty/)
    await using service = await startProcess(to, patientService)
    expect((await userinfo(service.url, earlier.accessToken)).status).to.equal(200)
    expect((await refresh(service.url, earlier.refreshToken)).status).to.equal(200)
  })
}

function copyOf(folder: string): string {
  const copy = join(temporaryFolder(), 'damaged')
  cpSync(folder, copy, { recursive: true })
  return copy
}

function changeManifest(folder: string, change: (manifest: Record<string, unknown>) => object) {
  const file = join(folder, 'manifest.json')
  const manifest = JSON.parse(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify({ ...manifest, ...change(manifest) }))
}
