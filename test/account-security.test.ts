import { hashSync, verifySync } from '@node-rs/argon2'

import { openAuthorization, userinfo } from './support/client.ts'
import { change as changeRow, rowOf, rowsOf } from './support/database.ts'
import { flushing, flushingSoon, noor, sam, startService, startWith } from './support/gatehouse.ts'
import { makePagePerson, submitPage } from './support/page-person.ts'
import { eventually } from './support/programs.ts'
import { getTokens } from './support/relying-party.ts'
import { expectAnswer } from './support/wire.ts'

const page = '/account/security'
const fresh = 'three horses and a tram'

describe(`${page}: the password`, () => {
  const change = async ({ url }: { readonly url: string }, typed: Record<string, string>) => {
    const person = makePagePerson(url, sam)
    return { person, seen: await person.submit(page, typed) }
  }
  const both = { password: fresh, repeated: fresh }
  const right = { ...both, current: sam.password }

  it('changes it, ends the other sessions and, if ticked, the connected apps', async () => {
    await using service = await startService({ policy: flushingSoon })
    const { url, kysely } = service
    const other = makePagePerson(url, sam)
    expect((await other.visit('/account')).path).to.equal('/account')
    const { tokens } = await getTokens(url)
    const { person, seen } = await change(service, { ...right, end_apps: 'yes' })
    expect(seen).to.include({ status: 200, path: `${page}?done=changed` })
    expect((await person.open('/account')).status, 'this browser').to.equal(200)
    const next = await openAuthorization(person, url)
    expect(next.pathname, 'without the password').not.to.match(/\/login$/)
    expect((await other.open('/account')).status, 'the other browser').to.equal(303)
    expect((await userinfo(url, tokens.access_token)).status).to.equal(401)
    const event = await rowOf(kysely, 'audit_event', { action: 'password.change' })
    expect(event.after).to.match(/"grantsEnded":[1-9]/)
    expect(event.person_id).to.equal(event.actor_person_id)
    const again = makePagePerson(url, { ...sam, password: fresh })
    expect((await again.visit('/account')).path).to.equal('/account')
  })

  // [290]
  it('gives the browser new cookies, so that copies of the old ones are worthless', async () => {
    await using service = await startService({ policy: flushingSoon })
    const url = new URL(service.url)
    const [person, copy, thief] = [sam, noor, noor].map((who) => makePagePerson(service.url, who))
    if (!person || !copy || !thief) throw new Error('no person')
    const form = await person.visit(page)
    const cookies = person.browser.cookiesFor(url).split('; ')
    const copied = cookies.map((pair) => `${pair}; path=/`)
    copy.browser.keep(url, copied)
    const ofEngine = copied.filter((line) => !line.includes('gatehouse_pages'))
    thief.browser.keep(url, ofEngine)
    expect((await thief.visit('/account')).text, 'a session of its own').to.include('Sam Student')
    await person.send(form, page, right)
    for (const each of [copy, thief]) {
      expect((await each.open('/account')).status).to.equal(303)
      expect((await openAuthorization(each, service.url)).pathname).to.match(/\/login$/)
    }
    expect((await person.visit('/account')).status).to.equal(200)
    expect(await (await person.open('/account/sessions')).text()).to.include('This browser')
  })

  describe('beside other requests', () => {
    /** Starts a service and signs Sam in with several browsers. Then stores a password hash that is slow to check. */
    const open = async (browsers: number) => {
      const service = await startService({ policy: flushingSoon, now: Date.now })
      const people = Array.from({ length: browsers }, () => makePagePerson(service.url, sam))
      for (const each of people) await each.visit(page)
      const password_hash = hashSync(sam.password, { memoryCost: 65_536, timeCost: 6 })
      await changeRow(service.kysely, 'person', { id: 'per_sam' }, { password_hash })
      return { service, people, password_hash, at: new URL(page, service.url) }
    }

    it('ends also the sessions that the old password opened while it was checked', async () => {
      const { service, people, password_hash, at } = await open(1)
      await using _ = service
      const [person] = people
      if (!person) throw new Error('no person')
      const began = performance.now()
      verifySync(password_hash, sam.password)
      const checkMs = performance.now() - began
      const sentAt = Date.now()
      expect((await submitPage(person, at, right)).headers.get('location')).to.include('changed')
      const row = await rowOf(service.kysely, 'person', { id: 'per_sam' })
      expect(Number(row.signed_out_at) - sentAt).to.be.above(checkMs / 4)
    })

    it('stores one of two passwords, and asks the other browser to sign in', async () => {
      const { service, people, at } = await open(2)
      await using _ = service
      const sent = await Promise.all(people.map((each) => submitPage(each, at, right)))
      const places = sent.map(({ headers }) => headers.get('location'))
      expect(places).to.have.members([page, `${page}?done=changed`])
      const statuses = people.map(async (each) => (await each.open('/account')).status)
      expect(await Promise.all(statuses)).to.have.members([200, 303])
    })
  })

  it('keeps the connected apps if the person unticks it', async () => {
    await using service = await startService({ policy: flushingSoon })
    const { tokens } = await getTokens(service.url)
    await change(service, right)
    expect((await userinfo(service.url, tokens.access_token)).status).to.equal(200)
  })

  it('explains at the field what is wrong, and changes nothing', async () => {
    await using service = await startService({ policy: flushingSoon })
    for (const [typed, problem] of [
      [{ current: 'wrong' }, 'This is not your current password.'],
      [{ password: 'too short', repeated: 'too short' }, 'Use at least 15 characters.'],
      [{ repeated: 'other' }, 'The two passwords are different.'],
    ] as const) {
      const { seen } = await change(service, { ...right, ...typed })
      expectAnswer(seen, 422, problem)
      expect(seen.text).not.to.include(fresh)
    }
    expect((await makePagePerson(service.url, sam).visit('/account')).path).to.equal('/account')
  })

  it('limits wrong current passwords like failed sign-ins [249]', async () => {
    const signIn = { failuresPerAccountAndAddressMax: 2 }
    await using service = await startWith({ ...flushing, signIn })
    const wrong = { ...both, current: 'wrong' }
    const { person, seen } = await change(service, wrong)
    expect((await person.send(seen, page, wrong)).status).to.equal(422)
    expectAnswer(await person.send(seen, page, right), 429, 'Too many attempts')
    await eventually(5000, async () => {
      const failed = await rowsOf(service.kysely, 'audit_event', { action: 'password.failure' })
      const reasons = failed.map(({ actor_person_id, reason }) => `${actor_person_id} ${reason}`)
      expect(reasons).to.include.members(['per_sam wrong password', 'per_sam too many attempts'])
    })
  })
})
