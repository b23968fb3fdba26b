import { mutationOf, operatorSite } from './support/admin-api.ts'
import { forEachDatabase } from './support/storages.ts'
import type { Json } from './support/wire.ts'

const lists = [
  ...['students', 'students(courseId: "crs_reading_light")', 'students(search: "s")', 'members'],
  ...['orders', 'lecturers', 'courses', 'courses(sort: NEWEST)', 'digitalProducts(sort: TITLE)'],
  ...['events', 'posts', 'files'],
]

const inOrder = ['per_marco', 'per_noor', 'per_sam', 'per_theo']
const orders = ['NL-1422', 'NL-1380', 'NL-1377', 'NL-1301', 'NL-1290', 'NL-1107', 'NL-1042']

const filters: readonly (readonly [list: string, found: readonly string[]])[] = [
  ['students', inOrder],
  ['students(search: "NOOR v")', ['per_noor']],
  ['students(search: "SAM@north")', ['per_sam']],
  ['students(search: "noor@northlight.example")', ['per_noor']],
  ['students(search: "student SA")', ['per_sam']],
  ['students(search: "am")', []],
  ['students(search: "%")', []],
  ['students(search: "June")', []],
  ['students(courseId: "crs_reading_light")', ['per_noor', 'per_sam', 'per_theo']],
  ['students(courseId: "crs_reading_light", search: "s")', ['per_sam']],
  ['students(courseId: "crs_bread")', []],
  ['students(courseId: "crs_bread", search: "marco")', []],
  ['members', [...inOrder, 'per_amir', 'per_lena', 'per_olivia']],
  ['members(role: LECTURER)', ['per_lena']],
  ['members(search: "lena s")', ['per_lena']],
  ['members(search: "Olivia@")', ['per_olivia']],
  ['members(search: "ol", role: STUDENT)', []],
  ['members(search: "june")', []],
  ['lecturers(search: "LENA")', ['per_lena']],
  ['orders', [...orders, 'NL-1001']],
  ['orders(personId: "per_noor")', ['NL-1301', 'NL-1290']],
  ['orders(personId: "per_june")', []],
  ['courses(state: DRAFT)', ['crs_documentary']],
  ['courses(search: "IN THE KITCHEN")', ['crs_darkroom']],
  ['courses(search: "100%_")', []],
  ['digitalProducts(search: "LOOKS")', ['dig_film_presets']],
  ['digitalProducts(search: "light", state: PUBLISHED)', ['dig_light_diary']],
  ['digitalProducts(search: "light", state: DRAFT)', []],
  ['events', ['evt_print_evening', 'evt_dawn_walk', 'evt_short_film_night']],
  ['events(search: "DAWN", state: PUBLISHED)', ['evt_dawn_walk']],
  ['events(search: "DAWN", state: DRAFT)', []],
  ['posts', ['Third', 'Second', 'First']],
  ['posts(published: true)', ['Third']],
  ['posts(published: false, search: "FIR")', ['First']],
]

forEachDatabase('lists of the Admin API', (start) => {
  const { run, value, refused } = operatorSite(start)
  before(async () => {
    for (const title of ['First', 'Second', 'Third']) {
      const { id } = await value(mutationOf('createPost'), { input: { title, body: 'Soup.' } })
      if (title === 'Third') await run(`mutation { publishPost(id: "${id}") { id } }`)
    }
  })

  const read = async (list: string, args = 'first: 100') => {
    const [name = '', given = ''] = list.replace(')', '').split('(')
    const key = { orders: 'number', posts: 'title' }[name] ?? 'id'
    const page = `totalCount nodes { ${key} } pageInfo { endCursor hasNextPage }`
    const both = [given, args].filter(Boolean).join(', ')
    const found = await value(`{ ${name}(${both}) { ${page} } }`)
    return { ...found, keys: found.nodes.map((node: Record<string, string>) => node[key]) }
  }

  for (const list of lists) {
    it(`${list} continues where the page before ended`, async () => {
      const keys = []
      let after = ''
      for (;;) {
        const page = await read(list, `first: 1${after}`)
        expect(page.keys).to.have.length(1)
        keys.push(...page.keys)
        after = `, after: "${page.pageInfo.endCursor}"`
        if (!page.pageInfo.hasNextPage) break
      }
      expect(keys).to.deep.equal((await read(list)).keys)
    })
  }

  for (const list of ['students', 'members', 'orders', 'students(courseId: "crs_reading_light")']) {
    it(`${list} can be listed oldest first, page by page`, async () => {
      const one = await read(list, 'first: 1, sort: OLDEST')
      const rest = await read(list, `first: 100, sort: OLDEST, after: "${one.pageInfo.endCursor}"`)
      expect([...one.keys, ...rest.keys]).to.deep.equal((await read(list)).keys.toReversed())
    })
  }

  for (const [list, found] of filters) {
    it(`${list} finds and counts ${found.length}`, async () => {
      const { keys, totalCount } = await read(list)
      expect([keys, totalCount]).to.deep.equal([found, found.length])
    })
  }

  it('filters orders by time, the beginning included', async () => {
    const { placedAt } = await value('{ order(number: "NL-1290") { placedAt } }')
    const before = await read('orders', `until: "${placedAt}"`)
    expect((await read('orders', `from: "${placedAt}"`)).keys).to.deep.equal(orders.slice(0, 5))
    expect(before.keys).to.deep.equal([...orders.slice(5), 'NL-1001'])
  })

  it('refuses a cursor of another list, sequence or period', async () => {
    const days = 'from: "2015-03-01T00:00:00Z", until: "2015-03-04T00:00:00Z"'
    const page = (list: string, after: string) =>
      list.replace('$', `first: 1${after && `, after: "${after}"`}`)
    for (const [list, other] of [
      ['{ courses($, sort: NEWEST) { pageInfo { endCursor } } }', '{ courses($) { totalCount } }'],
      ['{ orders($) { pageInfo { endCursor } } }', '{ courses($) { totalCount } }'],
      ['{ students($) { pageInfo { endCursor } } }', '{ members($) { totalCount } }'],
      [
        `{ analytics(${days}) { courses($) { pageInfo { endCursor } } } }`,
        `{ analytics(${days.replace('04T', '05T')}) { courses($) { totalCount } } }`,
      ],
    ] as const) {
      const [, cursor = ''] =
        /"endCursor":"([^"]+)"/.exec(JSON.stringify(await run(page(list, '')))) ?? []
      await run(page(list, cursor))
      expect(await refused(page(other, cursor)), other).to.equal('BAD_ARGUMENT after')
    }
  })
})

forEachDatabase('people and orders of the Admin API', (start) => {
  const { run, value, refused, audited } = operatorSite(start)

  it('returns each student with their enrolments, and each member with the earliest role', async () => {
    const { nodes } = await value('{ students { nodes { enrolmentCount enrolments { id } } } }')
    for (const { enrolmentCount, enrolments } of nodes)
      expect(enrolments).to.have.length(enrolmentCount)
    const input = { id: 'per_lena', roles: ['LECTURER', 'STUDENT'] }
    await run(mutationOf('setMemberRoles'), { input })
    const lena = await value('{ member(id: "per_lena") { memberSince roles { role since } } }')
    expect(lena.memberSince).to.equal(lena.roles[0].since)
    expect(lena.roles.map(({ role }: Json) => role)).to.deep.equal(input.roles)
    const students = await value('{ members(role: STUDENT) { nodes { id } } }')
    expect(students.nodes[0]).to.deep.equal({ id: 'per_lena' })
  })

  it('returns each lecturer with their courses, and each course with its lecturers by name', async () => {
    const { nodes } = await value('{ lecturers { nodes { id courses { id } } } }')
    expect(nodes.map(({ id }: Json) => id)).to.deep.equal(['per_lena'])
    expect(nodes[0].courses.map(({ id }: Json) => id)).to.have.members([
      ...['crs_reading_light', 'crs_portrait', 'crs_street', 'crs_short_film', 'crs_color'],
    ])
    const { lecturers } = await value('{ course(id: "crs_street") { lecturers { id name } } }')
    expect(lecturers).to.deep.equal([
      { id: 'per_lena', name: 'Lena Sørensen' },
      { id: 'per_olivia', name: 'Olivia Hartmann' },
    ])
  })

  it('assigns and unassigns a lecturer once, and refuses a person without the role', async () => {
    const teaching = (name: string) =>
      `mutation ($input: TeachingInput!) { ${name}(input: $input) { lecturers { id } } }`
    const input = { courseId: 'crs_documentary', personId: 'per_lena' }
    const olivia = { id: 'per_olivia' }
    for (const [name, action, lecturers] of [
      ['assignLecturer', 'lecturer.assign', [{ id: 'per_lena' }, olivia]],
      ['unassignLecturer', 'lecturer.unassign', [olivia]],
    ] as const) {
      for (const _ of [1, 2])
        expect(await value(teaching(name), { input })).to.deep.equal({ lecturers })
      expect(await audited(action)).to.have.length(1)
    }
    const student = { input: { ...input, personId: 'per_noor' } }
    expect(await refused(teaching('assignLecturer'), student)).to.equal('CONFLICT personId')
  })

  it('returns an order with buyer, items and total, also after the buyer was removed', async () => {
    const film = await value(
      '{ order(number: "NL-1380") { totalCents currency refundedAt buyer { id name email } items { kind id } } }',
    )
    const buyer = { id: 'per_sam', name: 'Sam Student', email: 'sam@northlight.example' }
    expect(film).to.deep.include({ totalCents: 15800, currency: 'EUR', refundedAt: null, buyer })
    expect(film.items).to.deep.include.members([
      ...['crs_short_film', 'crs_color'].map((id) => ({ kind: 'COURSE', id })),
      { kind: 'DIGITAL_PRODUCT', id: 'dig_shot_list' },
    ])
    const { number, refundedAt } = await value('{ order(id: "ord_noor_2") { number refundedAt } }')
    expect([number, typeof refundedAt]).to.deep.equal(['NL-1301', 'string'])
    await run('mutation { removeMember(id: "per_theo") { deletedId } }')
    const orphaned = await value('{ order(number: "NL-1001") { buyer { name } } }')
    expect(orphaned).to.deep.equal({ buyer: { name: 'Theo Brandt' } })
  })
})
