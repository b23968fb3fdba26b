import { mock } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'

import { hashSync } from '@node-rs/argon2'
import { hashSync as hashBcrypt } from '@node-rs/bcrypt'
import { pino } from 'pino'

import { readConfig } from '../src/config/config.ts'
import { makeAttemptLimits } from '../src/directory/people/attempt-limits.ts'
import { makeSignIn } from '../src/directory/people/authenticate.ts'
import { makeCredentialStore } from '../src/directory/people/credential-store.ts'
import { makeKnownBrowsers } from '../src/directory/people/known-browsers.ts'
import { makePasswords, TooManyHashes } from '../src/directory/people/password.ts'
import { readPasswordHash } from '../src/directory/people/password-formats.ts'
import { kinds } from '../src/ops/import/record-kinds.ts'
import { makeLimits } from '../src/platform/limits/limits.ts'
import { change, rowOf, withDatabases } from './support/database.ts'
import { configFolder } from './support/gatehouse.ts'
import { importRecords } from './support/import.ts'
import { eventually } from './support/programs.ts'
import { passwordHashes } from './support/reference-data.ts'
import { fresh } from './support/shared.ts'
import { expectText } from './support/wire.ts'

/** PHP's default cost, several times that of our own hashes. */
const costly = { algorithm: 2, memoryCost: 65_536, timeCost: 4, parallelism: 1 } as const

const person = (id: string, passwordHash?: string) => ({
  ...{ type: 'person', id: `per_${id}`, email: `${id}@school.example`, name: id },
  ...{ createdAt: 'now', passwordHash },
})

const key = Buffer.from('a key of these tests')

withDatabases('the stand-in for accounts without a password hash', (open) => {
  it('is the hash of a random account, and the same each time [225]', async () => {
    await using database = await open()
    const { findCredentials } = makeCredentialStore(database, key)
    expect(await findCredentials('a@x.example')).to.include({ standIn: undefined })
    const [cheap, dear] = [hashSync('one'), hashSync('two', costly)]
    const people = Array.from({ length: 100 }, (_, n) =>
      person(`p${1000 + n}`, n < 50 ? cheap : dear),
    )
    await importRecords(database, [...people, person('none')])
    const isDear = async (email: string, find = findCredentials) => {
      const { account, standIn } = await find(email)
      expect(account?.passwordHash).to.equal(undefined)
      expect(standIn).to.be.oneOf([cheap, dear])
      return standIn === dear
    }
    const emails = Array.from({ length: 200 }, (_, n) => `u${n}@school.example`)
    const first = await Array.fromAsync(emails, (email) => isDear(email))
    expect(first.filter(Boolean)).to.have.length.within(50, 150)
    const changesOf = async (other: (email: string) => Promise<boolean>) =>
      (await Array.fromAsync(emails, other)).filter((each, n) => each !== first[n])
    // Similar addresses get unrelated stand-ins, so a stand-in is not just the hash of the alphabetically next account.
    expect(await changesOf((email) => isDear(`${email}a`))).to.have.length.within(50, 150)
    const inAnotherStore = (storeKey: Buffer) => async (email: string) =>
      await isDear(email, makeCredentialStore(database, storeKey).findCredentials)
    const otherKey = Buffer.from('another key')
    expect(await changesOf(inAnotherStore(otherKey))).to.have.length.within(50, 150)
    expect(await changesOf(inAnotherStore(key))).to.be.empty

    await isDear('none@school.example')
    const { account } = await findCredentials('p1099@school.example')
    expect(account).to.include({ personId: 'per_p1099', passwordHash: dear, disabled: false })
  })
})

withDatabases('a sign-in with an imported hash', (open) => {
  const database = fresh(open)

  const attempt = { login: 'ann@school.example', address: '192.0.2.1', password: 'the password' }
  const limits = { parallelHashesMax: 1, waitingHashesMax: 4 }
  const { service: policy } = readConfig({}, configFolder)

  function signInTo(changes: Partial<ReturnType<typeof makePasswords>> = {}, log: string[] = []) {
    const logger = pino({ base: null }, { write: (line: string) => void log.push(line) })
    const passwords = { ...makePasswords(limits), ...changes }
    const store = makeCredentialStore(database(), key)
    return makeSignIn({
      ...{ store, passwords, logger },
      limits: makeAttemptLimits(makeLimits({ policy, shared: undefined, now: Date.now })),
      browsers: makeKnownBrowsers(Date.now, 60),
    })
  }
  const kindOf = async (signIn: ReturnType<typeof signInTo>, password = attempt.password) =>
    (await signIn({ ...attempt, password })).kind
  const readHash = async () => (await rowOf(database().kysely, 'person')).password_hash ?? ''
  const renewed = async (from: string) => {
    for (let turn = 0; turn < 200 && (await readHash()) === from; turn += 1) await pause(10)
    return await readHash()
  }
  const bcrypt = hashBcrypt(attempt.password, 4)

  it('does not replace the hash of an account that was disabled during the check', async () => {
    await importRecords(database(), [person('ann', bcrypt)])
    const { replaceHash } = makeCredentialStore(database(), key)
    await change(database().kysely, 'person', {}, { disabled_at: 1 })
    expect(await replaceHash('per_ann', bcrypt, 'renewed')).to.equal(false)
    await change(database().kysely, 'person', {}, { disabled_at: null })
    expect(await replaceHash('per_ann', bcrypt, 'renewed')).to.equal(true)
  })

  it('replaces the hash with Argon2id at full cost, and keeps it until the import has another [222]', async () => {
    const signIn = signInTo()
    const cheaper = hashSync(attempt.password, { ...costly, memoryCost: 8192, timeCost: 1 })
    for (const imported of [bcrypt, cheaper]) {
      await importRecords(database(), [person('ann', imported)])
      expect(await kindOf(signIn, 'wrong')).to.equal('refused')
      expect(await readHash()).to.equal(imported)
      expect(await kindOf(signIn)).to.equal('signed-in')
      const hash = await renewed(imported)
      expect(hash).to.match(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
      expect(await kindOf(signIn)).to.equal('signed-in')
      const { signed_out_at } = await rowOf(database().kysely, 'person')
      await importRecords(database(), [person('ann', imported)])
      await pause(50)
      const unchanged = { password_hash: hash, signed_out_at }
      expect(await rowOf(database().kysely, 'person')).to.include(unchanged)
    }
    const dear = hashSync(attempt.password, costly)
    await importRecords(database(), [person('ann', dear)])
    expect(await kindOf(signIn)).to.equal('signed-in')
    await pause(50)
    expect(await readHash()).to.equal(dear)
  })

  it('keeps a password that changes meanwhile, and accepts parallel sign-ins [223]', async () => {
    await importRecords(database(), [person('ann', bcrypt)])
    const signIn = signInTo(makePasswords({ parallelHashesMax: 2, waitingHashesMax: 16 }))
    const outcomes = await Promise.all(Array.from({ length: 6 }, () => kindOf(signIn)))
    expect(outcomes).to.deep.equal(Array(6).fill('signed-in'))
    const setHash = async (password_hash: string) =>
      await change(database().kysely, 'person', {}, { password_hash })
    await renewed(bcrypt)
    await setHash(bcrypt)
    const { promise: hashed, resolve } = Promise.withResolvers<string>()
    expect(await kindOf(signInTo({ hash: () => hashed }))).to.equal('signed-in')
    await setHash(hashSync('a new password'))
    const changed = await readHash()
    resolve('of the old password')
    await pause(50)
    expect(await readHash()).to.equal(changed)
    expect(await kindOf(signInTo())).to.equal('refused')
  })

  it('succeeds if the hash cannot be renewed', async () => {
    await importRecords(database(), [person('ann', bcrypt)])
    const log: string[] = []
    const full = { hash: () => Promise.reject(new TooManyHashes('full')) }
    expect(await kindOf(signInTo(full, log))).to.equal('signed-in')
    await pause(10)
    expect(log).to.deep.equal([])
    const broken = { hash: () => Promise.reject(new Error('out of memory')) }
    expect(await kindOf(signInTo(broken, log))).to.equal('signed-in')
    const said = 'a password hash could not be renewed'
    await eventually(5000, async () => expect(log.join()).to.include(said))
    expect(log.join()).to.not.include(bcrypt).and.not.include(attempt.password)
    expect(await readHash()).to.equal(bcrypt)
  })
})

describe('imported password hashes', () => {
  const { verify } = makePasswords({ parallelHashesMax: 1, waitingHashesMax: 1 })
  const theirs = hashSync('the password of somebody else', costly)

  const unreadable = 'no hash at all'

  it('do not match the password of the stand-in', async () => {
    for (const password of ['', 'undefined', 'null', 'right'])
      expect(await verify(undefined, password), password).to.equal(false)
    for (const own of [undefined, unreadable])
      expect(await verify(own, 'the password of somebody else', theirs), own).to.equal(false)
    expect(await verify(theirs, 'the password of somebody else', theirs)).to.equal(true)
  })

  // Compare the hashes that the threads check, because only they determine the time.
  it('take as long as the stand-in if the hash is missing or unreadable', async () => {
    expect(readPasswordHash(unreadable), 'a thread checks nothing').to.be.a('string')
    for (const own of [theirs, undefined, unreadable]) {
      const posting = mock.method(Worker.prototype, 'postMessage')
      const isRight = await verify(own, 'wrong', theirs)
      posting.mock.restore()
      expect(isRight).to.equal(false)
      const tasks = posting.mock.calls.map(({ arguments: [task] }) => task)
      const checked = tasks.map(({ passwordHash, password }) => [passwordHash, password])
      const costly = checked.filter(([passwordHash]) => passwordHash !== unreadable)
      expect(costly).to.deep.equal([[theirs, 'wrong']])
    }
  })

  const salt = 'c2FsdHNhbHRzYWx0'
  const hash = 'aGFzaGhhc2hoYXNoaGFzaGhhc2hoYXNoaGFzaGhhc2g'
  const argon2id = (cost: string) => `$argon2id$v=19$${cost}$${salt}$${hash}`
  const bcrypt = `$2y$10$${'a'.repeat(21)}u${'b'.repeat(30)}a`
  const phpass = `$P$B${'abcdefgh'.repeat(4).slice(0, 30)}`
  const problemOf = (passwordHash: string) => {
    const { type, ...rest } = { ...person('ann', passwordHash), createdAt: '2026-03-01T00:00:00Z' }
    const { error } = kinds.person.schema.safeParse(rest)
    return error?.issues.map(({ path, message }) => `${path} ${message}`).join()
  }

  for (const [text, problem] of [
    [argon2id('m=4194304,t=1,p=1'), 'too expensive (limit for Argon2: m ≤ 262144'],
    [argon2id('m=65536,t=1000,p=1'), 'too expensive'],
    [argon2id('m=65536,t=1,p=64'), 'too expensive'],
    [bcrypt.replace('$10', '$15'), 'too expensive (limit for bcrypt: cost ≤ 14)'],
    [`bcrypt_sha256$${bcrypt.replace('$10', '$31')}`, 'too expensive'],
    [`$wp${bcrypt.replace('$10', '$20')}`, 'too expensive'],
    [`$scrypt$ln=22,r=8,p=1$${salt}$${hash}`, 'too expensive'],
    [`$scrypt$ln=10,r=8,p=9999$${salt}$${hash}`, 'too expensive'],
    [`$scrypt$ln=99,r=8,p=1$${salt}$${hash}`, 'too expensive'],
    [`$scrypt$ln=2,r=9999,p=99$${salt}$${hash}`, 'too expensive'],
    [`scrypt$8388608$salt$8$1$${hash}=`, 'too expensive'],
    [`$firescrypt$ln=30,r=8,p=1$${salt}$${hash}$Bw==`, 'too expensive'],
    [`pbkdf2_sha256$3000001$salt$${hash}=`, 'too expensive'],
    [`$pbkdf2-sha1$i=2000000$${salt}$${hash}`, 'too expensive'],
    [phpass.replace('B', 'J'), 'too expensive (limit for phpass: at most 2^20 rounds)'],
    [`$6$rounds=999999999$salt$${'a'.repeat(86)}`, 'too expensive'],
    [argon2id('m=8,t=1,p=16'), 'not a complete Argon2'],
    // With only one character removed, it would be a complete hash that is one byte shorter.
    [argon2id('m=19456,t=2,p=1').slice(0, -2), 'not a complete Argon2'],
    [`$scrypt$ln=14,r=8,p=1$${salt}$c2hvcnQ`, 'not a complete scrypt'],
    [`scrypt$16000$salt$8$1$${hash}=`, 'not a complete scrypt'],
    [`$pbkdf2-sha256$i=600000,l=64$${salt}$${hash}`, 'not a complete PBKDF2'],
    [`pbkdf2_sha256$0$salt$${hash}=`, 'not a complete PBKDF2'],
    [`pbkdf2_sha256$1000000$salt$${hash.slice(0, 20)}`, 'not a complete PBKDF2'],
    [`$6$salt$${'a'.repeat(43)}`, 'not a complete SHA-2 crypt'],
    [`${bcrypt.slice(0, -1)}b`, 'truncated or in an unknown format'],
    [bcrypt.replace('u', 'v'), 'truncated or in an unknown format'],
    [bcrypt.slice(0, -1), 'truncated or in an unknown format'],
    [`${bcrypt}\n`, 'truncated or in an unknown format'],
    [`${bcrypt.slice(0, -1)}\0`, 'truncated or in an unknown format'],
    [`$5$sa\0lt$${'a'.repeat(43)}`, 'truncated or in an unknown format'],
    [`$5$${'salt'.repeat(5)}$${'a'.repeat(43)}`, 'truncated or in an unknown format'],
    [`pbkdf2_sha256$1$${'s'.repeat(600)}$${hash}=`, 'truncated or in an unknown format'],
    [argon2id('m=19456,t=2,p=1').replace('v=19', 'v=17'), 'truncated or in an unknown format'],
    [argon2id('m=19456,t=2,p=1').replace('v=19$', ''), 'truncated or in an unknown format'],
    [bcrypt.replace('$2y', '$2x'), 'a bcrypt hash in the obsolete version $2$ or $2x$'],
    ['5f4dcc3b5aa765d61d8327deb882cf99', 'an unsalted MD5 or NTLM hash'],
    ['5BAA61E4C9B93F3F0682250B6CF8331B7EE68FD8', 'an unsalted SHA-1 hash'],
    ['a'.repeat(64), 'an unsalted SHA-2 hash'],
    ['{SSHA}bm8gc3VjaCBoYXNoLCBidXQgbG9uZyBlbm91Z2g=', 'an LDAP hash such as {SSHA}'],
    ['$1$salt$qJH7.N4xYta3aEG/dfqo/0', 'an MD5 crypt hash'],
    ['$S$DeadBeef', 'a Drupal 7 hash'],
    ['$y$j9T$salt$hash', 'a yescrypt hash'],
    ['md5$salt$5f4dcc3b5aa765d61d8327deb882cf99', 'a weak Django hash'],
    ['!cVYUBuyOPx8qhwWnjcHhBW', 'the value that Django stores for an account without a password'],
    ['', 'truncated or in an unknown format'],
  ] as const) {
    it(`are rejected as ${JSON.stringify(text).slice(0, 60)} [218, 219, 220]`, () => {
      expectText(problemOf(text) ?? '', /^passwordHash the hash (is|makes) /, problem)
    })
  }

  for (const cost of ['m=19456,t=2,p=1', 'm=47104,t=1,p=1', 'm=262144,t=3,p=4']) {
    it(`are accepted with the cost ${cost}`, () => {
      expect(problemOf(argon2id(cost))).to.equal(undefined)
    })
  }
})

const rows = passwordHashes.flatMap(({ title, rows: hashes }) =>
  hashes.map(([name, password = '', hash = '']) => [`${title} (${name})`, password, hash] as const),
)
const hashOf = (start: string) => rows.find(([, , hash]) => hash.startsWith(start)) ?? []

describe('password hashes of other programs', () => {
  const firebaseSignerKey =
    'jxspr8Ki0RYycVU8zykbdLGjFQ3McFUH0uiiTvC8pVMXAn210wjLNmdZJzxUECKbm0QsEmYUSDzZvpjeJ9WmXA=='
  const limits = { parallelHashesMax: 2, waitingHashesMax: 4 }
  const { verify } = makePasswords(limits, 1, firebaseSignerKey)

  for (const [program, password, hash] of rows) {
    it(`verify: ${program} ${hash.slice(0, 24)}`, async () => {
      expect(readPasswordHash(hash)).to.be.an('object')
      expect(await verify(hash, password), 'the password').to.equal(true)
      expect(await verify(hash, `x${password}`), 'another').to.equal(false)
    })
  }

  it('ignore what the program ignored: the end of a long password, and spaces around it', async () => {
    const long = rows.find(([, password]) => password.endsWith('this is cut off')) ?? []
    expect(await verify(long[2], long[1]?.replace('off', '') ?? '')).to.equal(true)
    const [, password, hash] = hashOf('$wp$')
    expect(await verify(hash, ` ${password}\n`)).to.equal(true)
    expect(await verify(hash, `${password}\u00a0`)).to.equal(false)
    const [, other, portable] = hashOf('$P$')
    expect(await verify(portable, `${other} `)).to.equal(true)
  })

  // [221]
  it('do not match in another format, with a hash as password or with a very long password', async () => {
    const [, password = '', wordPress = ''] = hashOf('$wp$')
    expect(await verify(wordPress.slice(3), password)).to.equal(false)
    const [, , django = ''] = hashOf('bcrypt_sha256$')
    const renamed = django.replace('bcrypt_sha256', 'bcrypt')
    expect(await verify(renamed, 'correct horse battery staple')).to.equal(false)
    for (const [, , hash] of rows.slice(-3)) expect(await verify(hash, hash)).to.equal(false)
    // Measure the CPU time of this process, because a busy machine makes the elapsed time longer.
    const before = process.cpuUsage()
    expect(await verify(hashOf('$6$rounds=20000')[2], 'x'.repeat(1_000_000))).to.equal(false)
    // [218]
    for (const start of ['$2y$31$', '$6$rounds=999999999$']) {
      for (const [, , hash] of rows.filter(([, , each]) => each.startsWith(start.slice(0, 3)))) {
        const bomb = start + hash.replace(/^\$\d.?\$(rounds=\d+\$|\d\d\$)?/, '')
        expect(await verify(bomb, password), bomb).to.equal(false)
      }
    }
    const { user, system } = process.cpuUsage(before)
    expect((user + system) / 1000, 'ms').to.be.below(2000)
  })

  it('of Firebase match only with the signer key', async () => {
    const [, password = '', hash] = hashOf('$firescrypt$')
    const other = Buffer.alloc(64, 1).toString('base64')
    for (const key of [undefined, other, firebaseSignerKey.slice(0, 40)])
      expect(await makePasswords(limits, 1, key).verify(hash, password), key).to.equal(false)
  })
})

withDatabases('an import of password hashes', (open) => {
  it('rejects those of Firebase without its signer key', async () => {
    await using database = await open()
    const lines = [person('ann', hashOf('$firescrypt$')[2]), person('bea', hashOf('$wp$')[2])]
    const { rejected } = await importRecords(database, lines)
    const said = rejected.map(({ line, problem }) => `${line} ${problem}`).join()
    expect(said).to.match(/^1 .*needs FIREBASE_SIGNER_KEY/)
    const again = await importRecords(database, lines, { firebaseSignerKey: 'AAAA' })
    expect(again.rejected).to.deep.equal([])
  })
})
