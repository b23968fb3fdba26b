import { expect } from 'chai'

import { type Operator, startOperator } from './support/admin-api.ts'
import { amir, type RunningService } from './support/gatehouse.ts'
import { forEachDatabase } from './support/storages.ts'

forEachDatabase('changes of one site that come at once', (start) => {
  beforeEach(function () {
    this.currentTest?.retries(0)
  })

  let running: RunningService
  let operator: Operator
  before(async () => {
    running = await start()
    operator = await startOperator(running)
  })
  after(async () => await running?.[Symbol.asyncDispose]())

  const make = async (mutation: string) =>
    Object.values(await operator.run(`mutation { ${mutation} }`))[0] as { id: string }
  /** The codes of what was refused; an answer that is no result at all is its status. */
  const atOnce = async (...mutations: string[]) => {
    const answers = await Promise.all(mutations.map((one) => operator.ask(`mutation { ${one} }`)))
    return answers.flatMap(({ status, body }) =>
      status === 200 ? (body.errors ?? []).map(({ extensions }) => extensions?.['code']) : [status],
    )
  }
  const audited = async (action: string) =>
    (
      await running.service.stores.database.kysely
        .selectFrom('audit_event')
        .select('id')
        .where('action', '=', action)
        .execute()
    ).length

  it('lose none of three fields of the appearance', async () => {
    for (let round = 0; round < 5; round += 1) {
      const words = `round ${round}`
      expect(
        await atOnce(
          `updateAppearance(input: { displayName: "${words}" }) { id }`,
          `updateAppearance(input: { signInWords: "${words}" }) { id }`,
          `updateAppearance(input: { consentWords: "${words}" }) { id }`,
        ),
      ).to.deep.equal([])
      const { appearance } = await operator.run(
        '{ appearance { displayName signInWords consentWords } }',
      )
      expect(Object.values(appearance)).to.deep.equal([words, words, words])
    }
  })

  it('let no event end before it begins', async () => {
    const { id } = await make(
      'createEvent(input: { slug: "race", title: "Race", summary: "Fast.", startsAt: "2030-01-01T10:00:00Z", endsAt: "2030-01-01T12:00:00Z" }) { id }',
    )
    expect(
      await atOnce(
        `updateEvent(input: { id: "${id}", startsAt: "2030-01-01T11:30:00Z" }) { id }`,
        `updateEvent(input: { id: "${id}", endsAt: "2030-01-01T11:00:00Z" }) { id }`,
      ),
    ).to.deep.equal(['BAD_INPUT'])
  })

  it('give one slug to one course, and say so to the others', async () => {
    const ids = await Promise.all(
      ['a', 'b', 'c'].map(async (slug) => {
        const input = `{ slug: "race-${slug}", title: "Race", summary: "Fast." }`
        return (await make(`createCourse(input: ${input}) { id }`)).id
      }),
    )
    const wanted = ids.map((id) => `updateCourse(input: { id: "${id}", slug: "race-won" }) { id }`)
    expect(await atOnce(...wanted)).to.deep.equal(['CONFLICT', 'CONFLICT'])
  })

  it('keep lectures in one order, and remove one once', async () => {
    const courseId = 'crs_reading_light'
    const moved = ['lec_light_window', 'lec_light_direction', 'lec_light_noon'].map(
      (id) => `moveLecture(input: { id: "${id}", position: 1 }) { id }`,
    )
    expect(await atOnce(...moved, ...moved)).to.deep.equal([])
    const { course } = await operator.run(`{ course(id: "${courseId}") { lectures { position } } }`)
    expect(course.lectures.map(({ position }: { position: number }) => position)).to.deep.equal(
      course.lectures.map((_: unknown, index: number) => index + 1),
    )
    const gone = 'deleteLecture(id: "lec_light_review") { deletedId }'
    expect(await atOnce(gone, gone, gone)).to.deep.equal(['NOT_FOUND', 'NOT_FOUND'])
    expect(await audited('lecture.delete')).to.equal(1)
  })

  it('publish once', async () => {
    const { id } = await make(
      'createCourse(input: { slug: "race-published", title: "Race", summary: "Fast." }) { id }',
    )
    const publish = `publishCourse(id: "${id}") { id }`
    expect(await atOnce(publish, publish, publish)).to.deep.equal([])
    expect(await audited('course.publish')).to.equal(1)
  })

  it('end with the role of their actor, also within one document', async () => {
    const person = { ...amir, site: 'sit_northlight' }
    const other = await startOperator(running, { person })
    const { body } = await other.ask(
      'mutation { a: removeMember(id: "per_amir") { deletedId } b: addMember(input: { email: "friend@northlight.example", name: "Friend", roles: [ADMIN] }) { id } c: updateSite(input: { name: "Mine" }) { id } }',
    )
    expect(body.data).to.deep.equal({ a: { deletedId: 'per_amir' }, b: null, c: null })
    expect(body.errors?.map(({ extensions }) => extensions?.['code'])).to.deep.equal([
      ...['FORBIDDEN', 'FORBIDDEN'],
    ])
    const { site } = await operator.run('{ site { name } }')
    expect(site.name).to.equal('Northlight Academy')
  })
})
