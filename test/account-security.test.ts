import { hashSync, verifySync } from '@node-rs/argon2'

import { openAuthorization, userinfo } from './support/client.ts'
import { change as changeRow, rowOf, rowsOf } from './support/database.ts'
import { flushing, noor, sam, startWith } from './support/gatehouse.ts'
import { makePagePerson, submitPage } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { getTokens } from './support/relying-party.ts'
import { fresh } from './support/shared.ts'
import { expectAnswer } from './support/wire.ts'

const page = '/account/security'
const newPassword = 'three horses and a tram'

describe(`${page}: the password`, () => {
  const service = fresh(async () => {
    const signIn = { failuresPerAccountAndAddressMax: 2 }
    return await startWith({ ...flushing, signIn }, { now: Date.now })
  })
  const change = async (typed: Record<string, string>) => {
    const person = makePagePerson(service().url, sam)
    return { person, seen: await person.submit(page, typed) }
  }
  const both = { password: newPassword, repeated: newPassword }
  const right = { ...both, current: sam.password }

  it('changes it, ends the other sessions and, if ticked, the connected apps', async () => {
    const { url, kysely } = service()
    const other = makePagePerson(url, sam)
    expect((await other.visit('/account')).path).to.equal('/account')
    const { tokens } = await getTokens(url)
    const { person, seen } = await change({ ...right, end_apps: 'yes' })
    expect(seen).to.include({ status: 200, path: `${page}?done=changed` })
    expect((await person.open('/account')).status, 'this browser').to.equal(200)
    const next = await openAuthorization(person, url)
    expect(next.pathname, 'without the password').not.to.match(/\/login$/)
    expect((await other.open('/account')).status, 'the other browser').to.equal(303)
    expect((await userinfo(url, tokens.access_token)).status).to.equal(401)
    const event = await rowOf(kysely, 'audit_event', { action: 'password.change' })
    expect(event.after).to.match(/"grantsEnded":[1-9]/)
    expect(event.person_id).to.equal(event.actor_person_id)
    const again = makePagePerson(url, { ...sam, password: newPassword })
    expect((await again.visit('/account')).path).to.equal('/account')
  })

  // [290]
  it('gives the browser new cookies, so that copies of the old ones are worthless', async () => {
    const url = new URL(service().url)
    const person = makePagePerson(service().url, sam)
    const form = await person.visit(page)
    const cookies = person.browser.cookiesFor(url).split('; ')
    const copied = cookies.map((pair) => `${pair}; path=/`)
    const ofEngine = copied.filter((line) => !line.includes('gatehouse_pages'))
    const [copy, thief] = [makePagePerson(service().url, noor), makePagePerson(service().url, noor)]
    copy.browser.keep(url, copied)
    thief.browser.keep(url, ofEngine)
    expect((await thief.visit('/account')).text, 'a session of its own').to.include('Sam Student')
    const { tokens } = await getTokens(service().url)
    await person.send(form, page, right)
    const { status } = await userinfo(service().url, tokens.access_token)
    expect(status, 'a connected app, without end_apps').to.equal(200)
    for (const each of [copy, thief]) {
      expect((await each.open('/account')).status).to.equal(303)
      expect((await openAuthorization(each, service().url)).pathname).to.match(/\/login$/)
    }
    expect((await person.visit('/account')).status).to.equal(200)
    expect(await (await person.open('/account/sessions')).text()).to.include('This browser')
  })

  /** Signs Sam in with this many browsers, then stores a password hash that is slow to check. */
  const openSlowly = async (browsers: number) => {
    const { url, kysely } = service()
    const people = Array.from({ length: browsers }, () => makePagePerson(url, sam))
    for (const each of people) await each.visit(page)
    const password_hash = hashSync(sam.password, { memoryCost: 65_536, timeCost: 6 })
    await changeRow(kysely, 'person', { id: 'per_sam' }, { password_hash })
    const submit = async () =>
      await Promise.all(people.map((each) => submitPage(each, new URL(page, url), right)))
    return { people, password_hash, submit }
  }

  it('also ends sessions that are opened with the old password while it is checked', async () => {
    const { password_hash, submit } = await openSlowly(1)
    // Measure the CPU time, because a busy machine makes the elapsed time longer.
    const before = process.cpuUsage()
    verifySync(password_hash, sam.password)
    const checkMs = process.cpuUsage(before).user / 1000
    const sentAt = Date.now()
    expect((await submit())[0]?.headers.get('location')).to.include('changed')
    const row = await rowOf(service().kysely, 'person', { id: 'per_sam' })
    expect(Number(row.signed_out_at) - sentAt).to.be.above(checkMs / 4)
  })

  it('stores one of two new passwords that are sent at once, and asks the other browser to sign in', async () => {
    const { people, submit } = await openSlowly(2)
    const places = (await submit()).map(({ headers }) => headers.get('location'))
    expect(places).to.have.members([page, `${page}?done=changed`])
    const statuses = people.map(async (each) => (await each.open('/account')).status)
    expect(await Promise.all(statuses)).to.have.members([200, 303])
  })

  it('explains next to the field what is wrong, and changes nothing', async () => {
    for (const [typed, problem] of [
      [{ current: 'wrong' }, 'This is not your current password.'],
      [{ password: 'too short', repeated: 'too short' }, 'Use at least 15 characters.'],
      [{ repeated: 'other' }, 'The two passwords are different.'],
    ] as const) {
      const { seen } = await change({ ...right, ...typed })
      expectAnswer(seen, 422, problem)
      expect(seen.text).not.to.include(newPassword)
    }
    expect((await makePagePerson(service().url, sam).visit('/account')).path).to.equal('/account')
  })

  it('limits wrong current passwords like failed sign-ins [249]', async () => {
    const wrong = { ...both, current: 'wrong' }
    const { person, seen } = await change(wrong)
    expect((await person.send(seen, page, wrong)).status).to.equal(422)
    expectAnswer(await person.send(seen, page, right), 429, 'Too many attempts')
    await eventually(5000, async () => {
      const failed = await rowsOf(service().kysely, 'audit_event', { action: 'password.failure' })
      const reasons = failed.map(({ actor_person_id, reason }) => `${actor_person_id} ${reason}`)
      expect(reasons).to.include.members(['per_sam wrong password', 'per_sam too many attempts'])
    })
  })
})
