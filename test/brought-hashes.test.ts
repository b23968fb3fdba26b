import { hashSync } from '@node-rs/argon2'
import { expect } from 'chai'

import { makePasswords } from '../src/directory/people/password.ts'
import { makePersonStore } from '../src/directory/people/person-store.ts'
import { kinds } from '../src/ops/import/record-kinds.ts'
import { withDatabases } from './support/database.ts'
import { importRecords } from './support/import.ts'

/** The default cost of PHP: five times that of our hashes. */
const costly = { algorithm: 2, memoryCost: 65_536, timeCost: 4, parallelism: 1 } as const

const person = (id: string, passwordHash?: string) => ({
  ...{ type: 'person', id: `per_${id}`, email: `${id}@school.example`, name: id },
  ...{ createdAt: 'now', passwordHash },
})

withDatabases('imported password hashes', (open) => {
  it('have a substitute of the same cost for accounts without a hash', async () => {
    await using database = await open()
    const [bea, dan] = ['bea', 'dan'].map((id) => hashSync(`the password of ${id}`, costly))
    const unset = ['ann', 'cem', 'eve'].map((id) => person(id))
    await importRecords(database, [...unset, person('bea', bea), person('dan', dan)])
    const { findCredentials } = makePersonStore(database)
    for (const [id, account, standIn] of [
      ['aaa', undefined, bea],
      ['ann', undefined, bea],
      ['bea', bea, dan],
      ['cem', undefined, dan],
      ['dan', dan, bea],
      ['eve', undefined, bea],
      ['zzz', undefined, bea],
    ] as const) {
      const found = await findCredentials(`${id}@school.example`)
      expect(found.account?.passwordHash, id).to.equal(account)
      expect(found.standIn, id).to.equal(standIn)
    }
    expect((await findCredentials('zzz@school.example')).account).to.equal(undefined)
    expect((await findCredentials('eve@school.example')).account).to.include({
      personId: 'per_eve',
      disabled: false,
    })
  })
})

describe('imported password hashes', () => {
  const { verify } = makePasswords({ parallelHashesMax: 1, waitingHashesMax: 1 })
  const theirs = hashSync('the password of somebody else', costly)

  it('do not match by the password of the substitute', async () => {
    for (const own of [undefined, 'what nobody can read']) {
      expect(await verify(own, 'the password of somebody else', theirs)).to.equal(false)
    }
    expect(await verify(theirs, 'the password of somebody else', theirs)).to.equal(true)
  })

  it('take the time of the substitute when there is no hash', async function () {
    this.retries(4)
    // A busy machine makes runs slower, never faster, so compare the fastest.
    const fastestOf = async (check: () => Promise<boolean>) => {
      let fastestMs = Number.POSITIVE_INFINITY
      for (let run = 0; run < 7; run += 1) {
        const startedMs = performance.now()
        expect(await check()).to.equal(false)
        fastestMs = Math.min(fastestMs, performance.now() - startedMs)
      }
      return fastestMs
    }
    const known = await fastestOf(() => verify(theirs, 'wrong', theirs))
    const unknown = await fastestOf(() => verify(undefined, 'wrong', theirs))
    const unreadable = await fastestOf(() => verify('no hash at all', 'wrong', theirs))
    // One of our hashes takes a fifth of it, and two of theirs twice as much.
    for (const other of [unknown, unreadable]) expect(other).to.be.within(known / 2, known * 1.9)
  })

  const [, , , salt = '', hash = ''] = theirs.split('$').slice(1)
  const recordOf = (passwordHash: string) => {
    const { type, ...record } = person('ann', passwordHash)
    return { ...record, createdAt: '2026-03-01T00:00:00Z' }
  }
  const argon2id = (cost: string) => `$argon2id$v=19$${cost}$${salt}$${hash}`
  for (const [what, text] of [
    ['is no hash', `$argon2id$${'a'.repeat(40)}`],
    ['is of another algorithm', argon2id('m=19456,t=2,p=1').replace('argon2id', 'argon2i')],
    ['is of another version', argon2id('m=19456,t=2,p=1').replace('v=19', 'v=16')],
    ['has no version', argon2id('m=19456,t=2,p=1').replace('v=19$', '')],
    // Without one character it could be a complete hash that is a byte shorter.
    ['is cut', argon2id('m=19456,t=2,p=1').slice(0, -2)],
    ['takes 4 GiB of memory', argon2id('m=4194304,t=1,p=1')],
    ['takes a thousand passes', argon2id('m=65536,t=1000,p=1')],
    ['takes less memory than its lanes have', argon2id('m=8,t=1,p=16')],
  ] as const) {
    it(`are refused when one ${what}`, () => {
      const { error } = kinds.person.schema.safeParse(recordOf(text))
      expect(error?.issues.map(({ path, message }) => `${path}: ${message}`).join()).to.match(
        /^passwordHash: must be an Argon2id hash/,
      )
    })
  }

  const costs = ['m=19456,t=2,p=1', 'm=65536,t=4,p=1', 'm=47104,t=1,p=1', 'm=262144,t=3,p=4']
  for (const cost of costs) {
    it(`are accepted with the cost ${cost}`, () => {
      expect(kinds.person.schema.safeParse(recordOf(argon2id(cost))).error).to.equal(undefined)
    })
  }
})
