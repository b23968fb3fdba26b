import { eventActions } from '../src/platform/audit/audit-actions.ts'
import { mutationOf, operatorSite, startOperator } from './support/admin-api.ts'
import { insert, remove as removeRows, rowsOf } from './support/database.ts'
import { amir } from './support/gatehouse.ts'
import { memberReader } from './support/member-api.ts'
import { forEachDatabase } from './support/storages.ts'
import type { Json } from './support/wire.ts'

const item = { slug: 'winter', title: 'Winter', summary: 'Six walks in the snow.' }
const times = { startsAt: '2027-01-10T18:00:00.000Z', endsAt: '2027-01-10T21:00:00.000Z' }
const post = { title: 'The studio opens earlier', body: 'From Monday on.' }
const never = { expireDate: undefined }
const later = ', at: "2999-01-01T00:00:00Z"'
const expireDate = '2999-01-01T00:00:00Z'
const enrolment = { personId: 'per_noor', courseId: 'crs_portrait', expireDate }
const member = { email: 'new@example.com', name: 'New', roles: ['STUDENT'] }
const script = 'javascript:alert(1)'

const kinds = {
  Course: item,
  DigitalProduct: { ...item, fileName: 'snow.zip' },
  Event: { ...item, location: null, ...times },
}

const wrong: readonly (readonly [mutation: string, valid: object, ...wrong: object[]])[] = [
  ['createCourse', item, { slug: 'Not A Slug' }, { title: 'x'.repeat(201) }, { summary: 'a\0b' }],
  ['updateCourse', { id: 'crs_street' }, { url: script }, { imageUrl: script }],
  ['createDigitalProduct', kinds.DigitalProduct, { fileName: '' }],
  ['createEvent', kinds.Event, { endsAt: times.startsAt }, { title: ' ' }],
  ['updateEvent', { id: 'evt_dawn_walk', startsAt: times.endsAt }, { endsAt: times.startsAt }],
  ['updateEvent', { id: 'evt_dawn_walk' }, { endsAt: '2020-01-01T00:00:00Z' }, { joinUrl: '' }],
  ['updateEvent', { id: 'evt_dawn_walk' }, { joinUrl: script }, { joinUrl: 'fog-watch' }],
  ['updateSite', {}, { timeZone: 'Mars/Olympus' }, { language: 'klingon!' }, { address: script }],
  ['createPost', post, { link: script }, { link: 'ftp://northlight.example/a' }],
  ['createPost', post, { topic: 'No Topic' }, { title: '' }, { body: 'x'.repeat(2001) }],
  ['updateAppearance', {}, { displayName: '' }, { displayName: 'x'.repeat(121) }],
  ['updateAppearance', {}, { signInWords: 'x'.repeat(501) }, { logoFileId: 'fil_nothing' }],
  ['updateAppearance', {}, { accentColor: 'red' }, { accentColor: '#0c6' }],
  ['updateAppearance', {}, { backgroundColor: '#fff;} body{' }],
  ['inviteMember', member, { email: 'no address' }, { email: 'a\0b@example.com' }],
  ['inviteMember', member, { email: `${'x'.repeat(65)}@example.com` }, { email: 'x@example-.com' }],
  ['inviteMember', member, { email: `x@${'h'.repeat(64)}.com` }],
  ['inviteMember', member, { name: ' ' }, { name: 'a\0b' }, { roles: [] }],
  ['setMemberRoles', { id: 'per_sam' }, { roles: [] }],
  ['enrolStudent', enrolment, never, { ...never, hasLifetimeAccess: false }],
  ['enrolStudent', enrolment, { expireDate: '2020-01-01T00:00:00Z' }, { hasLifetimeAccess: true }],
]

const faint = (field: string, color: string, contrast: number) =>
  `${field} has too little contrast: text in #ffffff on ${color} has a ratio of ${contrast}:1; ` +
  'choose a color with at least 4.5:1'
const long = { courseId: 'crs_any', title: 'Too long', durationSeconds: 86_401 }

const sentences: readonly (readonly [mutation: string, input: object, message: string])[] = [
  ['createLecture', long, 'durationSeconds must be at most 86400'],
  ['updateCourse', { id: 'crs_any', title: null }, 'title must be of type string'],
  ['updateAppearance', { accentColor: '#ffcc00' }, faint('accentColor', '#ffcc00', 1.51)],
  ['updateAppearance', { backgroundColor: '#7c7c7c' }, faint('backgroundColor', '#7c7c7c', 4.17)],
]

forEachDatabase('changes by the Admin API', (start) => {
  const { running, run, ask, value, refused, audited, kysely } = operatorSite(start)

  const actionsOf = async (subject_id: string) =>
    (await rowsOf(kysely(), 'audit_event', { subject_id })).map(({ action }) => action)
  for (const [kind, valid] of Object.entries(kinds)) {
    const area = kind.replace('lP', 'l_p').toLowerCase()
    const field = kind.charAt(0).toLowerCase() + kind.slice(1)
    const create = mutationOf(`create${kind}`, `id ${field} { ${Object.keys(valid)} state }`)
    /** Runs a mutation such as `publish`. Returns the new state. */
    const change = async (name: string, id: string, args = '') => {
      const mutation = `mutation { ${name}${kind}(id: "${id}"${args}) { ${field} { state } } }`
      return (await value(mutation))[field].state
    }

    // [threat 17]
    it(`${kind}: creates a draft, publishes, archives and restores it, audited`, async () => {
      const made = await value(create, { input: valid })
      expect(made[field]).to.deep.equal({ ...valid, state: 'DRAFT' })
      expect(await change('publish', made.id)).to.equal('PUBLISHED')
      expect(await change('archive', made.id)).to.equal('ARCHIVED')
      const again = `mutation { publish${kind}(id: "${made.id}") { id } }`
      expect(await refused(again)).to.equal('CONFLICT')
      expect(await change('restore', made.id)).to.equal('PUBLISHED')
      expect(await change('unpublish', made.id)).to.equal('DRAFT')
      expect(await change('publish', made.id, later)).to.equal('SCHEDULED')
      const verbs = ['create', 'publish', 'archive', 'restore', 'unpublish', 'publish']
      expect(await actionsOf(made.id)).to.have.members(verbs.map((verb) => `${area}.${verb}`))
      expect((await audited(`${area}.create`))[0]).to.include({
        ...{ actor_person_id: 'per_olivia', site_id: 'sit_northlight', subject_id: made.id },
        address: '127.0.0.0/24',
      })
      expect(await refused(create, { input: valid })).to.equal('CONFLICT slug')
    })

    it(`${kind}: is deleted only if it was never published and no person has it, which frees its slug`, async () => {
      const input = { ...valid, slug: `gone-${kind.toLowerCase()}` }
      const make = async () => (await value(mutationOf(`create${kind}`), { input })).id
      const remove = (id: string) => `mutation { delete${kind}(id: "${id}") { deletedId } }`
      const draft = await make()
      await change('publish', draft, later)
      await change('archive', draft)
      expect(await value(remove(draft))).to.deep.equal({ deletedId: draft })
      expect(await refused(remove(draft))).to.equal('NOT_FOUND')
      const held = await make()
      if (kind === 'Course') {
        const bought = { id: 'held', person_id: 'per_theo', course_id: held, purchased_at: 1 }
        await insert(kysely(), 'course_purchase', { ...bought, expires_at: 2 })
        expect(await refused(remove(held))).to.equal('CONFLICT')
        await removeRows(kysely(), 'course_purchase', { course_id: held })
      }
      await change('publish', held)
      await change('unpublish', held)
      expect(await refused(remove(held))).to.equal('CONFLICT')
      expect(await audited(`${area}.delete`)).to.have.length(1)
    })
  }

  for (const [mutation, valid] of [
    ...Object.entries(kinds).map(([kind, input]) => [`create${kind}`, input] as const),
    ['createPost', post] as const,
  ]) {
    it(`${mutation} creates one object for each idempotency key, also for concurrent requests`, async () => {
      const input = { ...valid, ...('slug' in valid && { slug: 'once' }), idempotencyKey: mutation }
      const made = await Promise.all([1, 2, 3].map(() => value(mutationOf(mutation), { input })))
      expect(new Set(made.map(({ id }) => id)).size).to.equal(1)
      const other = { input: { ...input, title: 'Another wish' } }
      expect(await refused(mutationOf(mutation), other)).to.equal('BAD_INPUT idempotencyKey')
      await kysely().updateTable('change_key').set({ expires_at: 1 }).execute()
      if ('slug' in valid)
        expect(await refused(mutationOf(mutation), { input })).to.equal('CONFLICT slug')
      else expect((await value(mutationOf(mutation), { input })).id).not.to.equal(made[0]?.id)
    })
  }

  it('names the field that is wrong, and changes nothing', async () => {
    const before = await changes()
    for (const [mutation, valid, ...wrongChanges] of wrong) {
      for (const change of wrongChanges) {
        const [field] = Object.keys(change)
        const said = await refused(mutationOf(mutation), { input: { ...valid, ...change } })
        expect(said, JSON.stringify(change)).to.equal(`BAD_INPUT ${field}`)
      }
    }
    const late = { id: 'evt_dawn_walk', startsAt: '2999-01-01T00:00:00Z' }
    expect(await refused(mutationOf('updateEvent'), { input: late })).to.equal('BAD_INPUT endsAt')
    for (const [mutation, input, message] of sentences) {
      const { body } = await ask(mutationOf(mutation), { input })
      expect(body.errors?.[0]?.message).to.equal(message)
    }
    expect(await changes()).to.deep.equal(before)
  })

  /** Returns the audit events of changes. Leaves out other events, such as sign-ins, because they are written asynchronously. */
  const changes = async () =>
    await kysely()
      .selectFrom('audit_event')
      .select('id')
      .where('action', 'not in', eventActions)
      .execute()

  it('changes only the given fields of a course, an event, a product and the site', async () => {
    const reads = await memberReader(running().url)
    const url = 'https://northlight.example/a'
    const names = { title: 'Another Title', fileName: 'another.pdf' }
    const more = { timeZone: 'Europe/Vienna', language: 'de', contactEmail: 'hello@north.example' }
    for (const [kind, id, given, then] of [
      ['Course', 'crs_street', { url, imageUrl: `${url}.jpg` }, { url: null }],
      ['Event', 'evt_print_evening', { location: 'The bridge', ...times }, { location: null }],
      ['DigitalProduct', 'dig_light_diary', names, { title: 'A Last Title' }],
      ['Site', undefined, { name: 'Northlight', ...more }, { contactEmail: null }],
    ] as const) {
      const field = kind.charAt(0).toLowerCase() + kind.slice(1)
      const update = mutationOf(`update${kind}`, `${field} { ${Object.keys(given).join(' ')} }`)
      expect((await value(update, { input: { id, ...given } }))[field]).to.deep.equal(given)
      const changed = await value(update, { input: { id, ...then } })
      expect(changed[field]).to.deep.equal({ ...given, ...then })
    }
    const query = '{ viewer { digitalProducts { nodes { slug title fileName } } } }'
    const bought = { slug: 'light-diary', title: 'A Last Title', fileName: names.fileName }
    expect((await reads(query)).viewer.digitalProducts.nodes).to.deep.include(bought)
    const { buyerCount } = await value('{ digitalProduct(slug: "light-diary") { buyerCount } }')
    expect(buyerCount).to.be.above(0)
    const [event] = await audited('site.update')
    expect(JSON.parse(event?.before ?? '')).to.include({ name: 'Northlight Academy' })
  })

  it('keeps sections and lectures in the given order', async () => {
    const course = { ...item, slug: 'with-curriculum' }
    const { id: courseId } = await value(mutationOf('createCourse'), { input: course })
    const add = async (kind: 'Section' | 'Lecture', title: string, place: object = {}) => {
      const duration = kind === 'Lecture' && { durationSeconds: 60 }
      const input = { courseId, title, ...duration, ...place }
      return (await value(mutationOf(`create${kind}`), { input })).id
    }
    const outline = async () =>
      await value(
        '{ course(slug: "with-curriculum") { lectureCount sections { title position lectures { title } } lectures { title position } } }',
      )
    const titles = (...all: string[]) => all.map((title, index) => ({ title, position: index + 1 }))
    const second = await add('Section', 'Second')
    const first = await add('Section', 'First', { position: 1 })
    await add('Lecture', 'b1', { sectionId: second })
    const a2 = await add('Lecture', 'a2', { sectionId: first })
    await add('Lecture', 'a1', { sectionId: first, position: 1 })
    await add('Lecture', 'welcome')
    expect((await outline()).lectures).to.deep.equal(titles('welcome', 'a1', 'a2', 'b1'))
    await run(mutationOf('moveLecture'), { input: { id: a2, sectionId: second, position: 1 } })
    expect((await outline()).sections).to.deep.equal([
      { title: 'First', position: 1, lectures: [{ title: 'a1' }] },
      { title: 'Second', position: 2, lectures: [{ title: 'a2' }, { title: 'b1' }] },
    ])
    const renamed = { id: second, position: 1, title: 'Now first' }
    await run(mutationOf('updateSection'), { input: renamed })
    await run(`mutation { deleteSection(id: "${first}") { deletedId } }`)
    const after = await outline()
    const lectures = [{ title: 'a2' }, { title: 'b1' }]
    expect(after.sections).to.deep.equal([{ title: 'Now first', position: 1, lectures }])
    expect(after.lectures).to.deep.equal(titles('welcome', 'a1', 'a2', 'b1'))
    await run(`mutation { deleteLecture(id: "${a2}") { deletedId } }`)
    expect((await outline()).lectureCount).to.equal(3)
  })

  const register = async (eventId: string, personId = 'per_sam') =>
    await value(
      `mutation { registerForEvent(eventId: "${eventId}", personId: "${personId}") { id registration { eventId personId name email cancelledAt } } }`,
    )
  const cancel = async (id: string) =>
    (await value(`mutation { cancelRegistration(id: "${id}") { registration { cancelledAt } } }`))
      .registration.cancelledAt
  const make = async (slug: string, more = {}) =>
    (await value(mutationOf('createEvent'), { input: { ...kinds.Event, slug, ...more } })).id

  it('shows a registration and its join address to the member until it is cancelled', async () => {
    const joinUrl = 'https://live.northlight.example/fog-watch'
    const eventId = await make('fog-watch', { joinUrl })
    const reads = await memberReader(running().url)
    const query =
      '{ viewer { eventRegistrations(first: 100) { nodes { slug joinUrl cancelledAt } } } }'
    const seen = async () =>
      (await reads(query)).viewer.eventRegistrations.nodes.find(
        ({ slug }: Json) => slug === 'fog-watch',
      )
    expect(await seen()).to.equal(undefined)
    const [one, same] = await Promise.all([register(eventId), register(eventId)])
    expect(one).to.deep.equal(same)
    expect(one.registration).to.deep.equal({
      ...{ eventId, personId: 'per_sam', name: 'Sam Student', email: 'sam@northlight.example' },
      cancelledAt: null,
    })
    expect(await seen()).to.deep.equal({ slug: 'fog-watch', joinUrl, cancelledAt: null })
    await run(mutationOf('updateEvent'), { input: { id: eventId, joinUrl: null } })
    expect((await seen()).joinUrl).to.equal(null)
    const cancelledAt = await cancel(one.id)
    expect(await cancel(one.id)).to.equal(cancelledAt)
    expect((await seen()).cancelledAt).to.equal(cancelledAt)
    expect((await register(eventId)).id).to.equal(one.id)
    expect((await seen()).cancelledAt).to.equal(null)
    const actions = ['event.register', 'event.cancel_registration', 'event.register']
    expect(await actionsOf(one.id)).to.have.members(actions)
    await run(`mutation { archiveEvent(id: "${eventId}") { id } }`)
    const late = `mutation { registerForEvent(eventId: "${eventId}", personId: "per_noor") { id } }`
    expect(await refused(late)).to.equal('CONFLICT')
  })

  it('lists registrations page by page, and counts those that are not cancelled', async () => {
    const eventId = await make('listed')
    const people = ['per_sam', 'per_noor', 'per_theo']
    const [made] = await Array.fromAsync(people, (person) => register(eventId, person))
    await cancel(made.id)
    const page = async (args: string) =>
      await value(
        `{ event(slug: "listed") { registrationCount registrations(${args}) { totalCount nodes { personId } pageInfo { endCursor hasNextPage } } } }`,
      )
    const { registrationCount, registrations: first } = await page('first: 2')
    expect([registrationCount, first.totalCount]).to.deep.equal([2, 3])
    const { registrations } = await page(`first: 2, after: "${first.pageInfo.endCursor}"`)
    const listed = [...first.nodes, ...registrations.nodes]
    expect(listed.map(({ personId }) => personId)).to.have.members(people)
    expect(registrations.pageInfo.hasNextPage).to.equal(false)
  })
})

forEachDatabase('changes of one site at once', (start) => {
  beforeEach(function () {
    this.currentTest?.retries(0)
  })
  const { running, run, ask, value, audited } = operatorSite(start)

  const atOnce = async (...mutations: string[]) => {
    const answers = await Promise.all(mutations.map((one) => ask(`mutation { ${one} }`)))
    return answers.flatMap(({ status, body }) => (status === 200 ? codesOf(body) : status))
  }
  const codesOf = ({ errors = [] }: Json) => errors.map(({ extensions }: Json) => extensions?.code)
  const make = async (mutation: string, input: object) =>
    (await value(mutationOf(mutation), { input })).id

  it('keep all three fields of the appearance', async () => {
    const fields = ['displayName', 'signInWords', 'consentWords']
    for (let round = 0; round < 5; round += 1) {
      const words = `round ${round}`
      const changes = fields.map((key) => `updateAppearance(input: { ${key}: "${words}" }) { id }`)
      expect(await atOnce(...changes)).to.deep.equal([])
      const appearance = await value(`{ appearance { ${fields.join(' ')} } }`)
      expect(Object.values(appearance)).to.deep.equal([words, words, words])
    }
  })

  it('do not let an event end before it starts', async () => {
    const id = await make('createEvent', kinds.Event)
    const changes = ['startsAt: "2027-01-10T20:30:00Z"', 'endsAt: "2027-01-10T20:00:00Z"'].map(
      (time) => `updateEvent(input: { id: "${id}", ${time} }) { id }`,
    )
    expect(await atOnce(...changes)).to.deep.equal(['BAD_INPUT'])
  })

  it('give a slug to one course, publish once, and refuse the others', async () => {
    const ids = await Promise.all([...'abc'].map((slug) => make('createCourse', { ...item, slug })))
    const wanted = ids.map((id) => `updateCourse(input: { id: "${id}", slug: "race-won" }) { id }`)
    expect(await atOnce(...wanted)).to.deep.equal(['CONFLICT', 'CONFLICT'])
    const publish = `publishCourse(id: "${ids[0]}") { id }`
    expect(await atOnce(publish, publish, publish)).to.deep.equal([])
    expect(await audited('course.publish')).to.have.length(1)
  })

  it('keep lectures in one order, and delete one once', async () => {
    const moved = ['lec_light_window', 'lec_light_direction', 'lec_light_noon'].map(
      (id) => `moveLecture(input: { id: "${id}", position: 1 }) { id }`,
    )
    expect(await atOnce(...moved, ...moved)).to.deep.equal([])
    const { lectures } = await value(
      '{ course(id: "crs_reading_light") { lectures { position } } }',
    )
    const positions = lectures.map(({ position }: Json) => position - 1)
    expect(positions).to.deep.equal([...positions.keys()])
    const gone = 'deleteLecture(id: "lec_light_review") { deletedId }'
    expect(await atOnce(gone, gone, gone)).to.deep.equal(['NOT_FOUND', 'NOT_FOUND'])
    expect(await audited('lecture.delete')).to.have.length(1)
  })

  it('from 32 connections to one row run in sequence, and each sees the result of the previous one', async () => {
    const names = Array.from({ length: 32 }, (_, index) => `name ${index}`)
    const changes = names.map((name) => `updateSite(input: { description: "${name}" }) { id }`)
    expect(await atOnce(...changes)).to.deep.equal([])
    const events = await audited('site.update')
    const seen = (when: 'before' | 'after') =>
      events.map((event) => JSON.parse(event[when] ?? '{}').description)
    expect(seen('after').toSorted()).to.deep.equal(names.toSorted())
    const { site } = await run('{ site { description } }')
    const last = seen('after').filter((name) => !seen('before').includes(name))
    expect(last).to.deep.equal([site.description])
  })

  it('are refused once the actor loses the role, even later in the same document', async () => {
    const other = await startOperator(running(), { person: { ...amir, site: 'sit_northlight' } })
    const { body } = await other.ask(
      'mutation { a: removeMember(id: "per_amir") { deletedId } b: inviteMember(input: { email: "friend@northlight.example", name: "Friend", roles: [ADMIN] }) { id } c: updateSite(input: { name: "Mine" }) { id } }',
    )
    expect(body.data).to.deep.equal({ a: { deletedId: 'per_amir' }, b: null, c: null })
    expect(codesOf(body)).to.deep.equal(['FORBIDDEN', 'FORBIDDEN'])
    expect(await run('{ site { name } }')).to.deep.equal({ site: { name: 'Northlight Academy' } })
  })
})
