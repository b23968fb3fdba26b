import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'

import {
  createLocalJWKSet,
  createRemoteJWKSet,
  decodeProtectedHeader,
  type JSONWebKeySet,
  type JWTVerifyGetKey,
  jwtVerify,
} from 'jose'
import { sql } from 'kysely'

import { readScope } from '../../src/directory/scopes/catalogue.ts'
import { paths } from '../../src/platform/http/paths.ts'
import { obtain, obtainCode, redeem } from '../support/client.ts'
import { openEmbedded, rowsOf } from '../support/database.ts'
import { notes, policyWith } from '../support/gatehouse.ts'
import { operatorToken } from '../support/mcp.ts'
import {
  configWith,
  dataFolderWithDemo,
  patientService,
  refusedStart,
  gatehouse as run,
  startPair,
  startProcess,
} from '../support/process.ts'
import { eventually, freePort, temporaryFolder } from '../support/programs.ts'
import { shared } from '../support/shared.ts'
import { mapping, startPlatform } from '../support/upstream.ts'
import { bearer, get, type Json } from '../support/wire.ts'

const quickKeys = { publishLeadSeconds: 1, reloadSeconds: 1 }

describe('signing keys of two processes on one database', () => {
  const DATA_DIR = temporaryFolder()
  const CONFIG_DIR = configWith(policyWith({ keys: quickKeys }))
  const gatehouse = async (...words: string[]) => await run(words, { DATA_DIR, CONFIG_DIR })
  const pair = shared(async () => await startPair({ DATA_DIR, CONFIG_DIR }))

  const idTokenFrom = async (address: string): Promise<string> =>
    (await redeem(address, await obtainCode(pair().first.url))).body.id_token
  const keySetAt = async (address: string): Promise<JSONWebKeySet> =>
    (await get(address + paths.jwks)).body
  const addresses = () => [pair().first.url, pair().second.url]

  // [OpenID Connect Core §10.1; OpenID Connect Discovery §3; Authentication 7.3; 117]
  it('are published without a private member, including the next key', async () => {
    for (const url of addresses()) {
      const { keys } = await keySetAt(url)
      expect(keys).to.have.length(2)
      for (const key of keys)
        expect(key)
          .to.include({ kty: 'EC', crv: 'P-256', alg: 'ES256', use: 'sig' })
          .and.have.all.keys('alg', 'crv', 'kid', 'kty', 'use', 'x', 'y')
    }
  })

  // [OpenID Connect Core §10.1.1; Authentication 7.8; 117]
  it('verify every id_token before, during and after a rotation by the command', async () => {
    // A relying party that fetches the key set once, before the rotation, has the next key already.
    const early = createLocalJWKSet(await keySetAt(pair().first.url))
    const before = await idTokenFrom(pair().first.url)
    const old = await kidOf(before, early)
    const kidsAt = async (address: string) => (await keySetAt(address)).keys.map(({ kid }) => kid)

    const rotation = eventually(20_000, async () => await gatehouse('keys', 'rotate'))
    await eventually(40_000, async () => {
      const [kid = '', ...others] = await Array.fromAsync(addresses(), async (url) =>
        kidOf(await idTokenFrom(url), early),
      )
      for (const address of addresses()) expect(await kidsAt(address)).to.include(kid)
      expect(kid).not.to.equal(old)
      expect(others).to.deep.equal([kid])
    })
    await rotation
    for (const url of addresses()) {
      expect(await kidOf(before, createRemoteJWKSet(new URL(paths.jwks, url)))).to.equal(old)
      expect(await kidsAt(url)).to.have.length(3)
    }
  })

  it('are listed and rotated by a command, with an entry in the audit trail', async () => {
    const before = await gatehouse('keys', 'list')
    expect(before).to.match(/^\S+ {2}current .*\n\S+ {2}next .*\n\S+ {2}retired /)
    const [kid = ''] = (await gatehouse('keys', 'rotate', '--force')).split(' ')
    expect(before).to.include(`${kid}  next`)
    expect(await gatehouse('keys', 'list')).to.include(`${kid}  current`)
    await using database = await openEmbedded(DATA_DIR)
    const rows = await rowsOf(database.kysely, 'audit_event', { subject_kind: 'signing_key' })
    expect(rows.map(({ action }) => action)).to.deep.equal(Array(2).fill('signing_key.rotated'))
    expect(rows.map(({ subject_id }) => subject_id)).to.include(kid)
  })

  it('are not rotated when the audit trail cannot be written', async () => {
    await using database = await openEmbedded(DATA_DIR)
    await sql`create trigger no_trail before insert on audit_event
      begin select raise(abort, 'the trail is closed'); end`.execute(database.kysely)
    const before = await gatehouse('keys', 'list')
    const said = await run(['keys', 'rotate', '--force'], { DATA_DIR, CONFIG_DIR }, 1)
    await sql`drop trigger no_trail`.execute(database.kysely)
    expect([said, await gatehouse('keys', 'list')]).to.deep.equal(['the trail is closed\n', before])
  })

  it('do not sign before relying parties can know them, and the command says how long to wait', async () => {
    expect(await run(['keys', 'rotate'], { DATA_DIR }, 1)).to.match(
      /^the next key was published less than 600 s ago; wait \d+ s, or rotate with --force\n$/,
    )
  })

  it('are sealed in the database, which like the secret only its owner can read', async () => {
    const { keys } = await keySetAt(pair().first.url)
    const contents = readdirSync(DATA_DIR)
      .filter((name) => name.startsWith('gatehouse.db'))
      .map((name) => readFileSync(join(DATA_DIR, name), 'latin1'))
      .join('')
    // The contents include the ids of the keys, so a private member in clear text would be found, too.
    expect(keys).to.have.length.above(1)
    for (const { kid } of keys) expect(contents).to.include(kid)
    expect(contents).to.not.match(/"d" *:/)
    for (const name of ['secret', 'gatehouse.db'])
      expect(statSync(join(DATA_DIR, name)).mode & 0o777, name).to.equal(0o600)
  })

  it('cannot be decrypted with another secret, but can with one that lists the old secret second', async () => {
    const newSecret = 'another-secret-that-is-long-enough-for-anybody'
    expect(await refusedStart({ DATA_DIR, SECRET: newSecret })).to.match(
      /^signing key \S+ was encrypted with another root secret: set SECRET to that secret, or list that secret after the new one\n$/,
    )
    const oldSecret = readFileSync(join(DATA_DIR, 'secret'), 'utf8').trim()
    await using service = await startProcess({ DATA_DIR, SECRET: `${newSecret} ${oldSecret}` })
    expect((await keySetAt(service.url)).keys).to.have.length.greaterThan(2)
  })
})

it('keys for forwarded requests rotate like those of id_tokens, and independently of them', async () => {
  const port = await freePort()
  const DATA_DIR = await dataFolderWithDemo()
  const CONFIG_DIR = configWith((policy) => ({
    ...policy,
    keys: { ...policy.keys, ...quickKeys },
    upstreams: mapping(port).filter(({ path }) => path === 'coupons'),
  }))
  const gatehouse = async (...words: string[]) => await run(words, { DATA_DIR, CONFIG_DIR })
  await using service = await startProcess({ DATA_DIR, CONFIG_DIR }, patientService)
  const { url } = service
  const platform = await startPlatform(port, url)
  const token = await operatorToken(url, readScope('coupons'))
  const kid = async () => {
    const { headers } = (await get(`${url}/admin/api/coupons`, bearer(token))).body
    const at = headers.findIndex((name: string) => name.toLowerCase() === 'authorization')
    return decodeProtectedHeader(headers[at + 1].replace('Bearer ', '')).kid
  }
  const idKid = async () => decodeProtectedHeader((await obtain(url)).id_token ?? '').kid
  const [old, oldId] = [await kid(), await idKid()]
  await eventually(20_000, async () => await gatehouse('keys', 'rotate', '--upstream'))
  await eventually(20_000, async () => expect(await kid()).not.to.equal(old))
  expect(await idKid()).to.equal(oldId)
  const { keys } = (await get(url + paths.jwks)).body
  expect(keys.map((key: Json) => key.kid)).to.include(old)
  expect(keys).to.have.length(5)
  const said = /For the platform API:\n\S+ {2}current .*\n\S+ {2}next /
  expect(await gatehouse('keys', 'list')).to.match(said)
  const found = 'The root secret can decrypt the keys for the platform API'
  expect(await gatehouse('doctor')).to.include(found)
  await platform.kill()
})

async function kidOf(idToken: string, keySet: JWTVerifyGetKey): Promise<string> {
  const expected = { audience: notes.clientId, algorithms: ['ES256'] }
  const { protectedHeader, payload } = await jwtVerify(idToken, keySet, expected)
  expect(payload.sub).to.equal('per_sam')
  return protectedHeader.kid ?? ''
}
