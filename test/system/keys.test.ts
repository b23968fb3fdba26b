import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import { expect } from 'chai'
import {
  createLocalJWKSet,
  createRemoteJWKSet,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { sql } from 'kysely'

import { paths } from '../../src/platform/http/paths.ts'
import { openDatabase } from '../../src/platform/store/open-stores.ts'
import { obtainCode, redeem } from '../support/client.ts'
import { notes } from '../support/gatehouse.ts'
import {
  configWith,
  type Pair,
  patientService,
  runGatehouse,
  runService,
  startPair,
  startProcess,
} from '../support/process.ts'
import { eventually, temporaryFolder } from '../support/programs.ts'
import { get } from '../support/wire.ts'

describe('signing keys of two processes on one database', () => {
  const DATA_DIR = temporaryFolder()
  const CONFIG_DIR = configWith((policy) => ({
    ...policy,
    keys: { ...policy.keys, publishLeadSeconds: 1, reloadSeconds: 1 },
  }))
  const databaseFile = join(DATA_DIR, 'gatehouse.db')
  const gatehouse = (...words: string[]) => runGatehouse(words, { DATA_DIR, CONFIG_DIR })
  let pair: Pair
  before(async function () {
    this.timeout(90_000)
    pair = await startPair({ DATA_DIR, CONFIG_DIR }, patientService)
  })
  after(() => pair?.[Symbol.asyncDispose]())

  /** An id_token that the given process signed. */
  async function idTokenFrom(address: string): Promise<string> {
    return (await redeem(address, await obtainCode(pair.first.url))).body.id_token
  }

  async function keySetAt(address: string): Promise<JSONWebKeySet> {
    return (await get(address + paths.jwks)).body
  }

  async function kidsAt(address: string): Promise<string[]> {
    return (await keySetAt(address)).keys.map(({ kid = '' }) => kid)
  }

  // [OpenID Connect Discovery §3; 117]
  it('publishes keys without a private member, the next one included', async () => {
    for (const { url } of [pair.first, pair.second]) {
      const { keys } = await keySetAt(url)
      expect(keys).to.have.length(2)
      for (const key of keys) {
        expect(Object.keys(key).sort()).to.deep.equal(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y'])
      }
    }
  })

  // [OpenID Connect Core §10.1.1; Authentication 7.8; 117]
  it('verifies every id_token before, during and after a rotation by the command', async function () {
    this.timeout(90_000)
    // A relying party that fetched the key set once, before the rotation, and never again: the key
    // that signs next is in it already.
    const early = createLocalJWKSet(await keySetAt(pair.first.url))
    const before = await idTokenFrom(pair.first.url)
    const old = await kidOf(before, early)

    const rotation = eventually(20_000, async () => {
      const { code, stderr } = await gatehouse('keys', 'rotate')
      expect(code, stderr).to.equal(0)
    })
    // A stream of sign-ins at both processes until both have taken the new key up.
    const signing = new Map<string, string>()
    await eventually(40_000, async () => {
      for (const { url } of [pair.first, pair.second]) {
        const kid = await kidOf(await idTokenFrom(url), early)
        signing.set(url, kid)
        for (const address of [pair.first.url, pair.second.url]) {
          expect(await kidsAt(address)).to.include(kid)
        }
      }
      expect([...signing.values()]).not.to.include(old)
    })
    await rotation
    expect(new Set(signing.values())).to.have.length(1)

    // A relying party that comes only now still verifies what the retired key signed.
    for (const { url } of [pair.first, pair.second]) {
      const late = createRemoteJWKSet(new URL(paths.jwks, url))
      expect(await kidOf(before, late)).to.equal(old)
      expect(await kidsAt(url)).to.have.length(3)
    }
  })

  it('lists and rotates with a command that leaves a trace in the audit trail', async () => {
    const { stdout, code } = await gatehouse('keys', 'list')
    expect(code).to.equal(0)
    expect(stdout).to.match(/^\S+ {2}current .*\n\S+ {2}next .*\n\S+ {2}retired /)
    const forced = await gatehouse('keys', 'rotate', '--force')
    expect(forced.code, forced.stderr).to.equal(0)
    const [kid = ''] = forced.stdout.split(' ')
    expect(stdout).to.include(`${kid}  next`)
    expect((await gatehouse('keys', 'list')).stdout).to.include(`${kid}  current`)
    await using database = await openDatabase({ kind: 'sqlite', file: databaseFile })
    const rows = await database.kysely
      .selectFrom('audit_event')
      .selectAll()
      .where('subject_kind', '=', 'signing_key')
      .execute()
    expect(rows.map(({ action }) => action)).to.deep.equal(Array(2).fill('signing_key.rotated'))
    expect(rows.map(({ subject_id }) => subject_id)).to.include(kid)
  })

  it('rotates nothing that the audit trail cannot have', async () => {
    await using database = await openDatabase({ kind: 'sqlite', file: databaseFile })
    await sql`create trigger no_trail before insert on audit_event
      begin select raise(abort, 'the trail is closed'); end`.execute(database.kysely)
    const before = (await gatehouse('keys', 'list')).stdout
    const forced = await gatehouse('keys', 'rotate', '--force')
    const after = (await gatehouse('keys', 'list')).stdout
    await sql`drop trigger no_trail`.execute(database.kysely)
    expect([forced.code, forced.stderr]).to.deep.equal([1, 'the trail is closed\n'])
    expect(after).to.equal(before)
  })

  it('refuses to let a key sign that relying parties cannot know yet, and says how long to wait', async () => {
    const patient = { DATA_DIR }
    const { code, stderr } = await runGatehouse(['keys', 'rotate'], patient)
    expect(code).to.equal(1)
    expect(stderr).to.match(
      /^the next key was published less than 600 s ago; wait \d+ s, or rotate with --force\n$/,
    )
  })

  it('keeps private keys sealed: no file of the database has one', async () => {
    const contents = readdirSync(DATA_DIR)
      .filter((name) => name.startsWith('gatehouse.db'))
      .map((name) => readFileSync(join(DATA_DIR, name), 'latin1'))
      .join('')
    expect(contents).to.include('"kty":"EC"')
    expect(contents).to.include('"crv":"P-256"')
    expect(contents).not.to.match(/"d" *:/)
  })

  it('keeps the secret and the database for their owner alone', () => {
    for (const name of ['secret', 'gatehouse.db']) {
      expect((statSync(join(DATA_DIR, name)).mode & 0o777).toString(8), name).to.equal('600')
    }
  })

  it('refuses another secret in a sentence, and takes one that lists the old one second', async () => {
    const newSecret = 'another-secret-that-is-long-enough-for-anybody'
    const refused = await runService({ DATA_DIR, SECRET: newSecret })
    expect(refused.code).to.equal(1)
    expect(refused.stderr).to.match(
      /^signing key \S+ was sealed with another secret: start with the SECRET that it was made with, or list that one after the new one\n$/,
    )
    const oldSecret = readFileSync(join(DATA_DIR, 'secret'), 'utf8').trim()
    await using service = await startProcess({ DATA_DIR, SECRET: `${newSecret} ${oldSecret}` })
    expect(await kidsAt(service.url)).to.have.length.greaterThan(2)
  })
})

async function kidOf(idToken: string, keySet: JWTVerifyGetKey): Promise<string> {
  const { protectedHeader, payload } = await jwtVerify(idToken, keySet, {
    audience: notes.clientId,
    algorithms: ['ES256'],
  })
  expect(payload.sub).to.equal('per_sam')
  return protectedHeader.kid ?? ''
}
