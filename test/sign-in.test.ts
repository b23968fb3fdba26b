import { readdirSync } from 'node:fs'
import { getPriority } from 'node:os'
import { monitorEventLoopDelay } from 'node:perf_hooks'

import fc from 'fast-check'
import { pino } from 'pino'

import { readConfig } from '../src/config/config.ts'
import { makeAttemptLimits } from '../src/directory/people/attempt-limits.ts'
import { makeSignIn } from '../src/directory/people/authenticate.ts'
import { makeKnownBrowsers } from '../src/directory/people/known-browsers.ts'
import { makePasswords, TooManyHashes } from '../src/directory/people/password.ts'
import { paths } from '../src/platform/http/paths.ts'
import { makeLimits } from '../src/platform/limits/limits.ts'
import { canonicalEmail } from '../src/platform/store/mail-address.ts'
import { openSignIn } from './support/client.ts'
import { change } from './support/database.ts'
import { configFolder, olivia, policyWith, sam, startWith } from './support/gatehouse.ts'
import { rejection } from './support/rejection.ts'
import { fresh } from './support/shared.ts'
import { type Answer, expectAnswer, send } from './support/wire.ts'

const strict = {
  failuresPerAccountAndAddressMax: 3,
  failuresPerAccountMax: 100,
  failuresPerAddressMax: 6,
  failureWindowSeconds: 900,
}
const behindProxy = { environment: { TRUST_PROXY: 'yes' } }
const wrong = { ...sam, password: 'a guess' }

const from = (address: string) => ['X-Forwarded-For', address]

/** Opens the sign-in page of a service in a new browser with these cookies, and sends its form. */
const enter = async (at: { url: string }, who: typeof sam, headers?: string[], kept?: string[]) =>
  await (await openSignIn(at.url, kept))(who, headers)

const browserCookie = ({ headers }: Answer) =>
  headers.getSetCookie().find((cookie) => cookie.startsWith('gatehouse_browser=')) ?? ''

const pairOf = (cookie: string) => cookie.split(';')[0] ?? ''

describe('sign-in: limits of failures (NIST SP 800-63B §5.2.2) [RFC 6749 §10.10]', () => {
  it('answers 429 after the configured failures, however the address is written', async () => {
    await using service = await startWith({ signIn: strict })
    for (let turn = 0; turn < 8; turn += 1)
      expect((await enter(service, sam)).status, `success ${turn} counts nothing`).to.equal(303)
    for (const login of ['SAM@northlight.example', ' sam@northlight.example', sam.login])
      expect((await enter(service, { login, password: 'wrong' })).status, login).to.equal(401)
    const answer = await openSignIn(service.url)
    expectAnswer(await answer(sam), 429, 'Too many attempts. Please wait 15 minutes')
    const other = { ...olivia, login: ' OLIVIA@northlight.example\t' }
    expect((await answer(other)).status, 'another account').to.equal(303)
  })

  it('limits successful sign-ins of one account before hashing', async () => {
    const signIn = { signInsPerAccountMax: 3 }
    await using service = await startWith({ signIn }, behindProxy)
    let kept: string[] = []
    for (const [turn, status] of [303, 303, 303, 429, 429].entries()) {
      const answer = await enter(service, sam, from(`192.0.2.${turn}`), kept)
      expect(answer.status).to.equal(status)
      if (status === 303) kept = [pairOf(browserCookie(answer))]
    }
    expect((await enter(service, olivia)).status, 'another account').to.equal(303)
  })
})

describe('sign-in: known browsers (weakness 12)', () => {
  const low = {
    failuresPerAccountAndAddressMax: 10,
    failuresPerAccountMax: 3,
    failuresPerAddressMax: 1000,
    reservedAttemptsPerNetworkMax: 1,
    reservedAttemptsPerAccountMax: 2,
    failuresPerKnownBrowserMax: 2,
  }
  const service = fresh(async () => await startWith({ signIn: low }, behindProxy))
  const attack = async (attacked = service()) => {
    const answer = await openSignIn(attacked.url)
    for (let turn = 0; turn < 8; turn += 1) await answer(wrong, from(`192.0.2.${turn}`))
  }
  const becomeKnown = async (who = sam, kept?: string[], at = service()) => {
    const signedIn = await enter(at, who, from('198.51.100.1'), kept)
    expect(signedIn.status).to.equal(303)
    return browserCookie(signedIn)
  }
  const statusWith = async (cookie: string, who = sam, at = service()) =>
    (await enter(at, who, from('192.0.2.1'), [pairOf(cookie)])).status

  it('sign in even from an attacking address, with a cookie without names, until the person signs out everywhere', async () => {
    const cookie = await becomeKnown()
    await attack()
    expect(await statusWith(''), 'an unknown browser').to.equal(429)
    expect(await statusWith(cookie)).to.equal(303)
    const attributes = ['httponly', 'path=/interaction', 'samesite=lax']
    expect(cookie.toLowerCase().split('; ')).to.include.members(attributes)
    const content = Buffer.from(pairOf(cookie).split('=')[1] ?? '', 'base64url')
    expect(content.toString('latin1')).to.not.match(/sam|northlight|per_/)
    await change(service().kysely, 'person', { id: 'per_sam' }, { signed_out_at: Date.now() + 1 })
    await attack()
    expect(await statusWith(cookie), 'after a sign-out everywhere').to.equal(429)
  })

  it('keep a cookie that works unchanged, for its accounts only', async () => {
    const ofOlivia = await becomeKnown(olivia)
    const ofSam = await becomeKnown()
    const both = await becomeKnown(sam, [pairOf(ofOlivia)])
    await attack()
    expect(await statusWith(ofOlivia)).to.equal(429)
    const [name, value = ''] = pairOf(ofSam).split('=')
    const [cut, altered] = [value.slice(1), `${value[0] === 'A' ? 'B' : 'A'}${value.slice(1)}`]
    for (const other of [cut, altered, `${value.slice(0, -2)}AA`, '..', 'x'.repeat(9000)])
      expect(await statusWith(`${name}=${other}`), other.slice(0, 90)).to.equal(429)
    expect(await statusWith(ofSam)).to.equal(303)
    expect(await statusWith(both)).to.equal(303)
    expect(await statusWith(both, olivia)).to.equal(303)
  })

  it('are forgotten with the secret, but known by an older one that is still listed', async () => {
    const [older, newer] = ['a'.repeat(40), 'b'.repeat(40)]
    const startedWith = async (SECRET: string) =>
      await startWith({ signIn: low }, { environment: { TRUST_PROXY: 'yes', SECRET } })
    await using first = await startedWith(older)
    const cookie = await becomeKnown(sam, undefined, first)
    for (const [secret, status] of [
      [`${newer} ${older}`, 303],
      [newer, 429],
    ] as const) {
      await using next = await startedWith(secret)
      await attack(next)
      expect(await statusWith(cookie, sam, next), secret).to.equal(status)
    }
  })

  it('are forgotten after their time, and hold five accounts at most', () => {
    let nowMs = 1_000_000_000_000
    const browsers = makeKnownBrowsers(() => nowMs, 60)
    let known: ReturnType<typeof browsers.remember> = []
    for (const login of ['a', 'b', 'c', 'd', 'e', 'f']) known = browsers.remember(known, login)
    const found = ['a', 'b', 'f'].map((login) => browsers.find(known, login) !== undefined)
    expect(found).to.deep.equal([false, true, true])
    nowMs += 60_001
    expect(browsers.find(known, 'f')).to.equal(undefined)
  })
})

// [RFC 9700 §4.13]
it('sign-in: the address of the caller is the last entry of X-Forwarded-For behind a proxy, and in no other header', async () => {
  await using service = await startWith({ signIn: strict }, behindProxy)
  const answer = await openSignIn(service.url)
  const names = ['X-Real-IP', 'Forwarded', 'CF-Connecting-IP', 'True-Client-IP']
  const statuses = []
  for (const [turn, name] of names.entries()) {
    const forwarded = from(`192.0.2.${turn}, 203.0.113.5`)
    statuses.push((await answer(wrong, [...forwarded, name, `192.0.2.${turn}`])).status)
  }
  expect(statuses).to.deep.equal([401, 401, 401, 429])
  expect(service.log.join()).to.not.include('192.0.2.')
  expect((await answer(sam, from('203.0.113.6'))).status, 'another caller').to.equal(303)
  expect(service.log.at(-1)).to.include('"ip":"203.0.113.6"')
})

const { service: configured } = readConfig({}, configFolder)
const right = { personId: 'per_sam', passwordHash: 'right', disabled: false }

const hash = async () => 'unused'

type Ports = Parameters<typeof makeSignIn>[0]

/** Creates a sign-in whose store has one account. By default, a password matches an identical hash. */
function signInTo(account: () => typeof right | undefined, ports: Partial<Ports> = {}) {
  const policy = policyWith({ signIn: { ...strict, failuresPerAddressMax: 1000 } })(configured)
  return makeSignIn({
    store: {
      findCredentials: async () => ({ account: account(), standIn: undefined }),
      replaceHash: async () => false,
    },
    logger: pino({ level: 'silent' }),
    passwords: { hash, verify: async (hash, password) => hash === password },
    limits: makeAttemptLimits(makeLimits({ policy, shared: undefined, now: Date.now })),
    browsers: makeKnownBrowsers(Date.now, 60),
    ...ports,
  })
}

describe('sign-in: the capacity for passwords', () => {
  it('runs some checks, queues some, and rejects the rest without counting a failure', async () => {
    const one = makePasswords({ parallelHashesMax: 1, waitingHashesMax: 1 })
    const passwordHash = await one.hash('right')
    const passwords = makePasswords({ parallelHashesMax: 2, waitingHashesMax: 4 })
    const signIn = signInTo(() => ({ ...right, passwordHash }), { passwords })
    const attempt = async (turn: number, password: string) =>
      (await signIn({ login: `${turn}@x.example`, password, address: '192.0.2.1' })).kind
    const kinds = await Promise.all(Array.from({ length: 30 }, (_, turn) => attempt(turn, 'right')))
    expect(kinds.filter((kind) => kind === 'signed-in').length).to.be.within(5, 6)
    const busy = kinds.indexOf('busy')
    expect(busy).to.be.at.least(0)
    // Three wrong passwords are allowed. If `busy` counted as one, the third would be limited.
    for (let more = 0; more < 3; more += 1) expect(await attempt(busy, 'wrong')).to.equal('refused')
    expect(await attempt(busy, 'right')).to.equal('limited')
  })

  it('is shared by processes, of which each runs at least one check', async () => {
    for (const processes of [2, 5]) {
      const passwords = makePasswords({ parallelHashesMax: 2, waitingHashesMax: 0 }, processes)
      const [first, second] = await Promise.allSettled([passwords.hash('a'), passwords.hash('b')])
      expect([first.status, second.status]).to.deep.equal(['fulfilled', 'rejected'])
    }
  })

  it('answers 503 on the page, and signs the person in a moment later', async () => {
    const few = { failuresPerAccountAndAddressMax: 100, parallelHashesMax: 1, waitingHashesMax: 8 }
    await using service = await startWith({ signIn: few }, { realHashes: true })
    const answer = await openSignIn(service.url)
    const answers = await Promise.all(Array.from({ length: 20 }, () => answer(wrong)))
    const busy = answers.filter(({ status }) => status === 503)
    expect(busy.length).to.be.greaterThan(0)
    for (const { text } of busy) expect(text).to.include('Many people are signing in')
    expect((await answer(sam)).status).to.equal(303)
  })

  it('is free again after an error', async () => {
    const passwords = makePasswords({ parallelHashesMax: 1, waitingHashesMax: 1 })
    for (let turn = 0; turn < 5; turn += 1)
      expect(await rejection(passwords.hash({} as string))).to.not.be.instanceOf(TooManyHashes)
    expect(await passwords.verify(await passwords.hash('x'), 'x')).to.equal(true)
  })

  it('is in threads of a lower priority than the main thread', async function () {
    if (process.platform !== 'linux') return this.skip()
    await makePasswords({ parallelHashesMax: 1, waitingHashesMax: 1 }).hash('x')
    const threads = readdirSync('/proc/self/task').map(Number)
    const nice = new Map(threads.map((id) => [id, getPriority(id)]))
    expect(nice.get(process.pid)).to.equal(getPriority())
    expect([...nice.values()]).to.include(Math.min(19, getPriority() + 10))
  })

  it('never blocks the event loop', async function () {
    // Retry, because a busy machine can also delay the event loop. Hashing in the loop would do so every time.
    this.retries(2)
    const signIn = { failuresPerAccountAndAddressMax: 1000 }
    await using service = await startWith({ signIn }, { realHashes: true })
    const answer = await openSignIn(service.url)
    const delay = monitorEventLoopDelay({ resolution: 5 })
    delay.enable()
    const guesses = Array.from({ length: 40 }, () => answer(wrong))
    const health = await send(service.url, { path: paths.health })
    await Promise.all(guesses)
    delay.disable()
    expect(health.status).to.equal(200)
    // A hash takes about 30 ms of processor time, so forty in the event loop would block it for a second.
    expect(delay.percentile(90) / 1e6).to.be.below(50)
  })
})

describe('sign-in: outcomes', () => {
  const attempt = { address: '192.0.2.1', login: sam.login, password: 'right' }

  it('refuses a disabled account with its right password', async () => {
    const signedIn = { kind: 'signed-in', personId: 'per_sam' }
    expect(await signInTo(() => right)(attempt)).to.include(signedIn)
    const refused = { kind: 'refused', why: 'disabled account', personId: 'per_sam' }
    expect(await signInTo(() => ({ ...right, disabled: true }))(attempt)).to.deep.equal(refused)
  })

  for (const [what, meanwhile, why] of [
    ['got another password', { passwordHash: 'another' }, 'wrong password'],
    ['was disabled', { disabled: true }, 'disabled account'],
  ] as const) {
    it(`refuses a person who ${what} during the password check [189]`, async () => {
      let account = right
      const verify = async (hash: string | undefined, password: string) => {
        account = { ...account, ...meanwhile }
        return hash === password
      }
      const outcome = await signInTo(() => account, { passwords: { hash, verify } })(attempt)
      expect(outcome).to.deep.equal({ kind: 'refused', why, personId: 'per_sam' })
    })
  }

  it('refuses input beyond its length without a check or a count', async () => {
    const verify = () => Promise.reject(new Error('the password was checked'))
    const signIn = signInTo(() => right, { passwords: { hash, verify } })
    for (const odd of [{ login: `${'x'.repeat(321)}@x.example` }, { password: 'x'.repeat(1025) }]) {
      const outcome = await signIn({ ...attempt, ...odd })
      expect(outcome).to.deep.equal({ kind: 'refused', why: 'login or password too long' })
    }
  })
})

describe('sign-in: the canonical form of an e-mail address (GHSA-7rqj-j65f-68wh) [49]', () => {
  for (const [typed, canonical = typed] of [
    ['sam@northlight.example'],
    ['SAM@NORTHLIGHT.EXAMPLE', 'sam@northlight.example'],
    ['\t sam@northlight.example \n', 'sam@northlight.example'],
    ['JOSE\u0301@x.example', 'jos\u00e9@x.example'],
    ['JOS\u00c9@x.example', 'jos\u00e9@x.example'],
    ['J\u030c@x.example', '\u01f0@x.example'],
    ['\u01f0@x.example'],
    ['s.am@x.example'],
    ['sam+tag@x.example'],
    ['sam\uff20x.example'],
    ['\u017fam@x.example'],
    ['stra\u00dfe@x.example'],
    ['\u0455am@x.example'],
    ['sam@x.example.'],
    ['sam@x.example\0'],
    ['sam@M\u00dcLLER.example', 'sam@xn--mller-kva.example'],
    ['sam@mu\u0308ller.example', 'sam@xn--mller-kva.example'],
    ['sam@XN--MLLER-KVA.example', 'sam@xn--mller-kva.example'],
    ['m\u00fcller@m\u00fcller.example', 'm\u00fcller@xn--mller-kva.example'],
    ['sam@\uff4d.example'],
    ['sam@m\u00fcller.example/x'],
    ['m\u00fcller.example'],
    ['sam@1.2'],
    ['sam@\u200bx.example'],
    ['sam@x.example,olivia@x.example'],
  ] as const) {
    it(`of ${JSON.stringify(typed)} is ${JSON.stringify(canonical)}`, () => {
      expect(canonicalEmail(typed)).to.equal(canonical)
    })
  }

  it('is its own canonical form, and the same for every normal form of the input', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (typed) => {
        const canonical = canonicalEmail(typed)
        expect(canonicalEmail(canonical)).to.equal(canonical)
        expect(canonicalEmail(typed.normalize('NFD'))).to.equal(canonical)
      }),
      { numRuns: 5000 },
    )
  })
})
