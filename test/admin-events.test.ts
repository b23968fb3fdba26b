import { expect } from 'chai'

import { type Operator, startOperator } from './support/admin-api.ts'
import { type RunningService, sam } from './support/gatehouse.ts'
import { memberToken, readMember } from './support/member-api.ts'
import { forEachDatabase } from './support/storages.ts'

const event = {
  slug: 'night-walk',
  title: 'Night Walk',
  summary: 'Long exposures along the river.',
  location: 'The old bridge',
  startsAt: '2027-01-10T18:00:00.000Z',
  endsAt: '2027-01-10T21:00:00.000Z',
}

forEachDatabase('the Admin API: events and registrations', (start) => {
  let running: RunningService
  let operator: Operator
  before(async () => {
    running = await start()
    operator = await startOperator(running)
  })
  after(async () => await running?.[Symbol.asyncDispose]())

  const createEvent =
    'mutation ($input: CreateEventInput!) { createEvent(input: $input) { id event { slug title summary location startsAt endsAt state } } }'
  const updateEvent =
    'mutation ($input: UpdateEventInput!) { updateEvent(input: $input) { id event { location startsAt endsAt } } }'
  const create = async (input: object) => (await operator.run(createEvent, { input })).createEvent
  const register = async (eventId: string, personId: string) => {
    const data = await operator.run(
      `mutation { registerForEvent(eventId: "${eventId}", personId: "${personId}") {
        id registration { eventId personId name email cancelledAt } } }`,
    )
    return data.registerForEvent
  }
  const cancel = async (id: string) => {
    const data = await operator.run(
      `mutation { cancelRegistration(id: "${id}") { registration { cancelledAt } } }`,
    )
    return data.cancelRegistration.registration.cancelledAt
  }
  const audited = async (subjectId: string) => {
    const found = await running.service.stores.database.kysely
      .selectFrom('audit_event')
      .select('action')
      .where('subject_id', '=', subjectId)
      .execute()
    return found.map(({ action }) => action)
  }

  it('makes a draft without a place, publishes it, and puts it away', async () => {
    const { location: _none, ...nowhere } = { ...event, slug: 'somewhere' }
    const { id, event: made } = await create(nowhere)
    expect(made).to.deep.equal({ ...nowhere, location: null, state: 'DRAFT' })
    const state = async (name: string) =>
      (await operator.run(`mutation { ${name}(id: "${id}") { event { state } } }`))[name].event
        .state
    expect(await state('publishEvent')).to.equal('PUBLISHED')
    expect(await state('archiveEvent')).to.equal('ARCHIVED')
    expect(
      await operator.refused(
        `mutation { registerForEvent(eventId: "${id}", personId: "per_sam") { id } }`,
      ),
    ).to.deep.include({ code: 'CONFLICT' })
    expect(await state('restoreEvent')).to.equal('PUBLISHED')
    expect(await state('unpublishEvent')).to.equal('DRAFT')
  })

  it('ends after it starts, also when only one of the two changes', async () => {
    const { id } = await create({ ...event, slug: 'timed' })
    const wrongEnd = { code: 'BAD_INPUT', argument: 'endsAt' }
    const backwards = { ...event, slug: 'backwards', endsAt: event.startsAt }
    expect(await operator.refused(createEvent, { input: backwards })).to.deep.equal(wrongEnd)
    const early = { id, endsAt: '2027-01-10T17:00:00Z' }
    expect(await operator.refused(updateEvent, { input: early })).to.deep.equal(wrongEnd)
    const late = { id, startsAt: '2027-01-11T17:00:00Z' }
    expect(await operator.refused(updateEvent, { input: late })).to.deep.equal(wrongEnd)
    const moved = { startsAt: '2027-02-01T17:00:00.000Z', endsAt: '2027-02-01T18:00:00.000Z' }
    const { updateEvent: after } = await operator.run(updateEvent, {
      input: { id, location: null, ...moved },
    })
    expect(after.event).to.deep.equal({ location: null, ...moved })
    const { location: _kept, ...placeless } = event
    const noTitle = { ...placeless, slug: 'untitled', title: ' ' }
    expect(await operator.refused(createEvent, { input: noTitle })).to.deep.equal({
      code: 'BAD_INPUT',
      argument: 'title',
    })
  })

  it('has a join address that registered people see', async () => {
    const joinUrl = 'https://live.northlight.example/fog-watch'
    const query =
      'mutation ($input: CreateEventInput!) { createEvent(input: $input) { id event { joinUrl } } }'
    const input = { ...event, slug: 'fog-watch', joinUrl }
    const { createEvent: made } = await operator.run(query, { input })
    expect(made.event.joinUrl).to.equal(joinUrl)
    await register(made.id, 'per_sam')
    const token = await memberToken(running.url, undefined, { person: sam })
    const seen = async () => {
      const { viewer } = await readMember<{
        viewer: { eventRegistrations: { nodes: { slug: string; joinUrl: string | null }[] } }
      }>(
        { url: running.url, token },
        '{ viewer { eventRegistrations(first: 100) { nodes { slug joinUrl } } } }',
      )
      return viewer.eventRegistrations.nodes.find(({ slug }) => slug === 'fog-watch')?.joinUrl
    }
    expect(await seen()).to.equal(joinUrl)
    for (const wrong of ['javascript:alert(1)', 'fog-watch', '']) {
      const change = { id: made.id, joinUrl: wrong }
      expect(await operator.refused(updateEvent, { input: change })).to.deep.equal({
        code: 'BAD_INPUT',
        argument: 'joinUrl',
      })
    }
    await operator.run(updateEvent, { input: { id: made.id, joinUrl: null } })
    expect(await seen()).to.equal(null)
  })

  it('registers a person once, cancels once, and registers anew, as the member sees at once', async () => {
    const { id: eventId } = await create(event)
    const token = await memberToken(running.url, undefined, { person: sam })
    const seen = async () => {
      const { viewer } = await readMember<{
        viewer: { eventRegistrations: { nodes: { slug: string; cancelledAt: string | null }[] } }
      }>(
        { url: running.url, token },
        '{ viewer { eventRegistrations(first: 100) { nodes { slug cancelledAt } } } }',
      )
      return viewer.eventRegistrations.nodes.find(({ slug }) => slug === event.slug)
    }
    expect(await seen()).to.equal(undefined)
    const made = await Promise.all([register(eventId, 'per_sam'), register(eventId, 'per_sam')])
    const [{ id, registration }] = made
    expect(made[1].id).to.equal(id)
    expect(registration).to.deep.equal({
      ...{ eventId, personId: 'per_sam', name: 'Sam Student', email: 'sam@northlight.example' },
      cancelledAt: null,
    })
    expect(await seen()).to.deep.equal({ slug: event.slug, cancelledAt: null })
    expect(await audited(id)).to.deep.equal(['event.register'])
    const cancelledAt = await cancel(id)
    expect(await cancel(id)).to.equal(cancelledAt)
    expect((await seen())?.cancelledAt).to.equal(cancelledAt)
    expect((await register(eventId, 'per_sam')).id).to.equal(id)
    expect((await seen())?.cancelledAt).to.equal(null)
    expect(await audited(id)).to.have.members([
      'event.register',
      'event.cancel_registration',
      'event.register',
    ])
  })

  it('lists who registered, the newest first, and counts who still comes', async () => {
    const { id: eventId } = await create({ ...event, slug: 'listed' })
    const people = ['per_sam', 'per_noor', 'per_theo']
    const ids: string[] = []
    for (const person of people) ids.push((await register(eventId, person)).id)
    await cancel(ids[0] ?? '')
    const page = async (args: string) => {
      const data = await operator.run(
        `{ event(slug: "listed") { registrationCount registrations(${args}) {
          totalCount nodes { personId name email cancelledAt } pageInfo { endCursor hasNextPage } } } }`,
      )
      return data.event
    }
    const { registrationCount, registrations } = await page('first: 2')
    expect(registrationCount).to.equal(2)
    expect(registrations.totalCount).to.equal(3)
    const rest = await page(`first: 2, after: "${registrations.pageInfo.endCursor}"`)
    const listed = [...registrations.nodes, ...rest.registrations.nodes]
    expect(listed.map(({ personId }: { personId: string }) => personId)).to.have.members(people)
    expect(rest.registrations.pageInfo.hasNextPage).to.equal(false)
  })

  it('lists events by their start, or as it is told', async () => {
    const list = async (args: string) => {
      const data = await operator.run(`{ events(${args}) { nodes { startsAt title } } }`)
      return data.events.nodes
    }
    const starts = (await list('first: 100')).map(({ startsAt }: { startsAt: string }) => startsAt)
    expect(starts).to.deep.equal(starts.toSorted())
    expect(await list('search: "NIGHT WALK", state: PUBLISHED')).to.deep.equal([])
    expect(await list('search: "NIGHT WALK"')).to.have.length.above(1)
  })

  it('knows neither event, person nor registration of another site', async () => {
    const { kysely } = running.service.stores.database
    await kysely
      .insertInto('event')
      .values({
        ...{ id: 'evt_kitchen', site_id: 'sit_open_kitchen', slug: 'dinner', title: 'Dinner' },
        ...{ summary: 'Six courses.', location: null, starts_at: 1, ends_at: 2 },
        ...{ published_at: null, created_at: 1 },
      })
      .execute()
    await kysely
      .insertInto('event_registration')
      .values({
        ...{ id: 'reg_kitchen', person_id: 'per_june', event_id: 'evt_kitchen', order_id: null },
        ...{ registered_at: 1, cancelled_at: null },
      })
      .execute()
    expect((await operator.run('{ event(id: "evt_kitchen") { id } }')).event).to.equal(null)
    const { event: own } = await operator.run('{ event(slug: "listed") { id } }')
    for (const mutation of [
      'publishEvent(id: "evt_kitchen") { id }',
      'registerForEvent(eventId: "evt_kitchen", personId: "per_sam") { id }',
      `registerForEvent(eventId: "${own.id}", personId: "per_june") { id }`,
      `registerForEvent(eventId: "${own.id}", personId: "per_nobody") { id }`,
      'cancelRegistration(id: "reg_kitchen") { id }',
    ]) {
      const { code } = await operator.refused(`mutation { ${mutation} }`)
      expect(code, mutation).to.equal('NOT_FOUND')
    }
    const reader = await startOperator(running, { scopes: ['events:read'] })
    const { status } = await reader.ask('mutation { cancelRegistration(id: "reg_kitchen") { id } }')
    expect(status).to.equal(403)
  })
})
